package app_test

import (
	"context"
	"html"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// link makes the link to a partner's page and returns its path.
func (n *node) link(t testing.TB, p partner) string {
	t.Helper()
	link, err := n.service.NewLink(t.Context(), scope.System, p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	return "/partner/" + link.Token
}

// read gets a page that the OpenAPI document does not speak of.
func (n *node) read(t testing.TB, method, path string) answer {
	t.Helper()
	_, a := n.send(t, request{method: method, path: path})
	return a
}

// trying is a partner with an ordinary account and a sandbox.
func (n *node) trying(t *testing.T, slug string) partner {
	t.Helper()
	return n.newPartner(t, slug, models.SigningRequired, partners.NewAccount{Identifier: slug + "-web"}, partners.NewAccount{Identifier: slug + ".trial", Sandbox: true})
}

// code is what somebody copies from an element of a page.
func code(t testing.TB, page, id string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<code id="` + id + `">(.*?)</code>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no %s", id)
	}
	return html.UnescapeString(found[1])
}

// TestSamplesOfPartnersPage runs what the page shows as it is served, with nothing
// filled in but the secret: each sample must deliver a signed lead. PHP and C# are
// run by nobody here; that they are sound is tested, as far as it can be, in api.
func TestSamplesOfPartnersPage(t *testing.T) {
	t.Parallel()
	n := startNode(t, onMachineClock)
	p := n.trying(t, "northgate")
	page := n.read(t, http.MethodGet, n.link(t, p)).body
	for id, run := range map[string][]string{
		"curl":   {"bash", "post.sh"},
		"go":     {"go", "run", "post.go"},
		"python": {"python3", "post.py"},
		"node":   {"node", "post.mjs"},
		"java":   {"java", "Post.java"},
	} {
		t.Run(id, func(t *testing.T) {
			if !strings.Contains(page, "run <code>"+strings.Join(run, " ")+"</code>") {
				t.Errorf("the page does not say to run %s", strings.Join(run, " "))
			}
			said := runSample(t, run, code(t, page, "code-"+id), p.secret)
			n.mu.Lock()
			n.priced++
			n.mu.Unlock()
			delivered := regexp.MustCompile(`"leadId":"(ld_[0-9A-Z]{26})".*"hmacVerified":true`).FindStringSubmatch(said)
			if delivered == nil || !strings.Contains(said, `"accepted":true`) || !strings.Contains(said, "200") {
				t.Fatalf("it says:\n%s", said)
			}
			l := n.lead(t, delivered[1])
			if !l.HMACVerified || !l.Signed || l.PartnerID != p.ID || l.Account != "northgate.trial" || l.Accrued != 0 || l.contact["name"] != "Zoë Example" {
				t.Errorf("stored for %s, signed %t, verified %t, accrued %d, name %q", l.Account, l.Signed, l.HMACVerified, l.Accrued, l.contact["name"])
			}
		})
	}
	worked(t, page)
}

// runSample runs a program that was saved as the last word of its command.
func runSample(t *testing.T, run []string, program, secret string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, run[len(run)-1]), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, run[0], run[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PINGPOST_SECRET="+secret, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(run, " "), err, said)
	}
	return string(said)
}

// worked computes the worked example once more, by the command that the page shows.
func worked(t *testing.T, page string) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "bash", "-c", code(t, page, "example-command")).CombinedOutput()
	signature := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(said))
	if err != nil || signature == "" || !strings.Contains(page, "<dt>Signature</dt><dd><code>"+signature+"</code>") {
		t.Errorf("openssl has %s (%v), the page has not", said, err)
	}
}

// TestPartnersPage reads partners' pages as they are meant to be, and as strangers
// who try for them.
func TestPartnersPage(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p, other := n.trying(t, "northgate"), n.trying(t, "southgate")
	if _, err := n.root.Exec(t.Context(), `UPDATE partners SET name = $1 WHERE id = $2`, `Čapek & "Sons" <script>alert('1')</script>`, p.ID); err != nil {
		t.Fatal(err)
	}
	replaced := n.link(t, p)
	mine, theirs := n.link(t, p), n.link(t, other)

	page := n.read(t, http.MethodGet, mine)
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow, noarchive", "X-Content-Type-Options": "nosniff",
		"Content-Type":            "text/html; charset=utf-8",
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	} {
		if got := page.header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if page.status != http.StatusOK || strings.Contains(page.body, "<script") || !strings.Contains(html.UnescapeString(page.body), `Čapek & "Sons" <script>`) {
		t.Errorf("answered %d; the name is not as it should be", page.status)
	}
	for _, want := range []string{n.cfg.HTTP.PublicURL + "/p/northgate", "northgate-web", "northgate.trial", "deleted after 7 days"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, not := range []string{"southgate", p.secret, strings.TrimPrefix(mine, "/partner/"), strings.TrimPrefix(theirs, "/partner/")} {
		if strings.Contains(page.body, not) {
			t.Errorf("the page has %s", not)
		}
	}
	if head := n.read(t, http.MethodHead, mine); head.status != http.StatusOK || head.body != "" || head.header.Get("Content-Length") != page.header.Get("Content-Length") {
		t.Errorf("HEAD: answered %d %v", head.status, head.header)
	}
	if a := n.read(t, http.MethodPost, mine); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: answered %d %v", a.status, a.header)
	}

	if err := n.service.SetStatus(t.Context(), scope.System, other.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	n.allUnknown(t, replaced, theirs)
	n.keepsTokens(t, replaced, mine, theirs)
}

// allUnknown checks that strangers cannot tell the links that lead nowhere.
func (n *node) allUnknown(t *testing.T, replaced, suspended string) {
	t.Helper()
	var first answer
	for i, path := range []string{
		"/partner/" + strings.Repeat("A", 43), replaced, suspended, replaced + "A", replaced[:len(replaced)-1],
		"/partner/x", "/partner/%00", "/partner/%2e%2e", "/partner/" + strings.Repeat("%20", 43), "/partner/" + strings.Repeat("A", 5000), "/partner/northgate",
	} {
		a := n.read(t, http.MethodGet, path)
		a.header.Del("X-Request-Id")
		a.header.Del("Date")
		if i == 0 {
			first = a
		}
		if a.status != http.StatusNotFound || a.body != `{"ok":false,"message":"Not Found"}` || !slices.Equal(flat(a.header), flat(first.header)) {
			t.Errorf("%.60s: answered %d %s %v", path, a.status, a.body, a.header)
		}
	}
}

func flat(h http.Header) (all []string) {
	for name, values := range h {
		all = append(all, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(all)
	return all
}

// keepsTokens stops the node and looks for tokens where they must not be.
func (n *node) keepsTokens(t *testing.T, links ...string) {
	t.Helper()
	texts := map[string]string{"the metrics": n.get(t, n.ops+"/metrics")}
	n.stop(t)
	texts["the log"] = n.log.String()
	for where, text := range texts {
		if !strings.Contains(text, "/partner/:token") {
			t.Errorf("%s tells nothing of the page: the search in it was blind", where)
		}
	}
	maps.Copy(texts, n.columns(t))
	for where, text := range texts {
		for _, link := range links {
			if strings.Contains(text, strings.TrimPrefix(link, "/partner/")) {
				t.Errorf("a token is in %s", where)
			}
		}
	}
}

// TestPartnersPageWithoutDatabase: the page says so, in bounded time, and is there
// again with the database.
func TestPartnersPageWithoutDatabase(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*cable){"cut": (*cable).sever, "held up": (*cable).hold} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var way *cable
			n := startNode(t, throughCable(t, &way))
			mine := n.link(t, n.required)
			if a := n.read(t, http.MethodGet, mine); a.status != http.StatusOK {
				t.Fatalf("answered %d %s", a.status, a.body)
			}
			disturb(way)
			started := clock.System{}.Now()
			n.unavailable(t, n.read(t, http.MethodGet, mine), "This page cannot be read just now: try again in a few seconds.")
			if took := (clock.System{}).Now().Sub(started); took > 9*time.Second {
				t.Errorf("answered after %s", took)
			}
			if a := n.read(t, http.MethodGet, "/partner/x"); a.status != http.StatusNotFound {
				t.Errorf("a malformed token is answered with %d", a.status)
			}
			way.mend()
			testkit.Eventually(t, 10*time.Second, "the page is there again", func() bool { return n.read(t, http.MethodGet, mine).status == http.StatusOK })
		})
	}
}
