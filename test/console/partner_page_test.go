package console

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
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// partnerLink makes the link to a partner's page and returns its path.
func partnerLink(t testing.TB, n *node.Node, p node.Partner) string {
	t.Helper()
	link, err := n.Partners.NewLink(t.Context(), scope.System, p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	return "/partner/" + link.Token
}

// fetch gets a page that the OpenAPI document does not speak of.
func fetch(t testing.TB, n *node.Node, method, path string) node.Answer {
	t.Helper()
	_, a := n.Send(t, node.Request{Method: method, Path: path})
	return a
}

// sandboxPartner is a partner with an ordinary account and a sandbox.
func sandboxPartner(t *testing.T, n *node.Node, slug string) node.Partner {
	t.Helper()
	return n.NewPartner(t, slug, models.SigningRequired, partners.NewAccount{Identifier: slug + "-web"},
		partners.NewAccount{Identifier: slug + ".trial", Sandbox: true})
}

// code returns the text that users copy from an element of a page.
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
// not run here; that they are sound is tested, as far as it can be, in api.
func TestSamplesOfPartnersPage(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock)
	p := sandboxPartner(t, n, "northgate")
	page := fetch(t, n, http.MethodGet, partnerLink(t, n, p)).Body
	for id, run := range map[string][]string{
		"curl":   {"bash", "post.sh"},
		"go":     {"go", "run", "post.go"},
		"python": {"python3", "post.py"},
		"node":   {"node", "post.mjs"},
		"java":   {"java", "Post.java"},
	} {
		t.Run(id, func(t *testing.T) {
			if !strings.Contains(page, "<code>"+strings.Join(run, " ")+"</code>") {
				t.Errorf("the page does not say to run %s", strings.Join(run, " "))
			}
			said := runSample(t, run, code(t, page, "code-"+id), p.Secret)
			n.CountPing()
			delivered := regexp.MustCompile(`"leadId":"(ld_[0-9A-Z]{26})".*"hmacVerified":true`).FindStringSubmatch(said)
			if delivered == nil || !strings.Contains(said, `"accepted":true`) || !strings.Contains(said, "200") {
				t.Fatalf("it says:\n%s", said)
			}
			l := n.Lead(t, delivered[1])
			if !l.HMACVerified || !l.Signed || l.PartnerID != p.ID || l.Account != "northgate.trial" ||
				l.Accrued != 0 || l.Contact["name"] != "Zoë Example" {
				t.Errorf("stored for %s, signed %t, verified %t, accrued %d, name %q", l.Account, l.Signed,
					l.HMACVerified, l.Accrued, l.Contact["name"])
			}
		})
	}
	workedExample(t, page)
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

// workedExample computes the worked example once more, by the command that the page shows.
func workedExample(t *testing.T, page string) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "bash", "-c", code(t, page, "example-command")).CombinedOutput()
	signature := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(said))
	if err != nil || signature == "" || !strings.Contains(page, "<code>"+signature+"</code>") {
		t.Errorf("openssl has %s (%v), the page has not", said, err)
	}
}

// TestPartnersPage reads partners' pages as they are meant to be, and as strangers
// who try for them.
func TestPartnersPage(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	p, other := sandboxPartner(t, n, "northgate"), sandboxPartner(t, n, "southgate")
	if _, err := n.Root.Exec(t.Context(), `UPDATE partners SET name = $1 WHERE id = $2`, `Čapek & "Sons" <script>alert('1')</script>`, p.ID); err != nil {
		t.Fatal(err)
	}
	replaced := partnerLink(t, n, p)
	mine, theirs := partnerLink(t, n, p), partnerLink(t, n, other)

	page := fetch(t, n, http.MethodGet, mine)
	for name, want := range map[string]string{
		"Cache-Control":           "no-store",
		"Referrer-Policy":         "no-referrer",
		"X-Robots-Tag":            "noindex, nofollow, noarchive",
		"X-Content-Type-Options":  "nosniff",
		"Content-Type":            "text/html; charset=utf-8",
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if page.Status != http.StatusOK || strings.Contains(page.Body, "<script") ||
		!strings.Contains(html.UnescapeString(page.Body), `Čapek & "Sons" <script>`) {
		t.Errorf("answered %d; the name is not as it should be", page.Status)
	}
	for _, want := range []string{n.Config.HTTP.PublicURL + "/p/northgate", "northgate-web", "northgate.trial"} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, not := range []string{"southgate", p.Secret, strings.TrimPrefix(mine, "/partner/"),
		strings.TrimPrefix(theirs, "/partner/")} {
		if strings.Contains(page.Body, not) {
			t.Errorf("the page has %s", not)
		}
	}
	if head := fetch(t, n, http.MethodHead, mine); head.Status != http.StatusOK || head.Body != "" ||
		head.Header.Get("Content-Length") != page.Header.Get("Content-Length") {
		t.Errorf("HEAD: answered %d %v", head.Status, head.Header)
	}
	if a := fetch(t, n, http.MethodPost, mine); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: answered %d %v", a.Status, a.Header)
	}

	if err := n.Partners.SetStatus(t.Context(), scope.System, other.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	allUnknown(t, n, replaced, theirs)
	keepsTokens(t, n, replaced, mine, theirs)
}

// allUnknown checks that strangers cannot tell the links that lead nowhere.
func allUnknown(t *testing.T, n *node.Node, replaced, suspended string) {
	t.Helper()
	var first node.Answer
	for i, path := range []string{
		"/partner/" + strings.Repeat("A", 43), replaced, suspended, replaced + "A", replaced[:len(replaced)-1],
		"/partner/x", "/partner/%00", "/partner/%2e%2e", "/partner/" + strings.Repeat("%20", 43), "/partner/" + strings.Repeat("A", 5000), "/partner/northgate",
	} {
		a := fetch(t, n, http.MethodGet, path)
		a.Header.Del("X-Request-Id")
		a.Header.Del("Date")
		if i == 0 {
			first = a
		}
		if a.Status != http.StatusNotFound || a.Body != spec.Rejected(spec.NotFound) ||
			!slices.Equal(flat(a.Header), flat(first.Header)) {
			t.Errorf("%.60s: answered %d %s %v", path, a.Status, a.Body, a.Header)
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
func keepsTokens(t *testing.T, n *node.Node, links ...string) {
	t.Helper()
	texts := map[string]string{"the metrics": n.Get(t, n.Ops+"/metrics")}
	n.Shutdown(t)
	texts["the log"] = n.Log.String()
	for where, text := range texts {
		if !strings.Contains(text, "/partner/:token") {
			t.Errorf("%s tells nothing of the page: the search in it was blind", where)
		}
	}
	maps.Copy(texts, n.Columns(t))
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
	for name, disturb := range map[string]func(*node.FaultyProxy){
		"cut":     (*node.FaultyProxy).Cut,
		"held up": (*node.FaultyProxy).Hold,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var proxy *node.FaultyProxy
			n := node.Start(t, node.ThroughFaultyProxy(t, &proxy))
			mine := partnerLink(t, n, n.Required)
			if a := fetch(t, n, http.MethodGet, mine); a.Status != http.StatusOK {
				t.Fatalf("answered %d %s", a.Status, a.Body)
			}
			disturb(proxy)
			started := clock.System{}.Now()
			if a := fetch(t, n, http.MethodGet, mine); a.Status != http.StatusServiceUnavailable ||
				a.Header.Get("Retry-After") != "2" {
				t.Errorf("answered %d, Retry-After %q, %s", a.Status, a.Header.Get("Retry-After"), a.Body)
			}
			if took := (clock.System{}).Now().Sub(started); took > 9*time.Second {
				t.Errorf("answered after %s", took)
			}
			if a := fetch(t, n, http.MethodGet, "/partner/x"); a.Status != http.StatusNotFound {
				t.Errorf("a malformed token is answered with %d", a.Status)
			}
			proxy.Restore()
			testkit.Eventually(t, 10*time.Second, "the page is there again",
				func() bool { return fetch(t, n, http.MethodGet, mine).Status == http.StatusOK })
		})
	}
}
