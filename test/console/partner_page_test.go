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

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// partnerLink creates a link to a partner's documentation page and returns the link's path.
func partnerLink(t testing.TB, n *node.Node, p node.Partner) string {
	t.Helper()
	link, err := n.Partners.NewLink(t.Context(), scope.System, p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	return "/partner/" + link.Token
}

// fetch requests a page that is not in the OpenAPI document.
func fetch(t testing.TB, n *node.Node, method, path string) node.Answer {
	t.Helper()
	_, a := n.Send(t, node.Request{Method: method, Path: path})
	return a
}

// sandboxPartner creates a partner with a live account and a sandbox account.
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
		t.Fatalf("the page does not contain %s", id)
	}
	return html.UnescapeString(found[1])
}

// sampleRuns contains the command of each sample, and consumer as it is written in the sample's language.
var sampleRuns = map[string]struct {
	run      []string
	consumer string
}{
	"curl":   {[]string{"bash", "post.sh"}, consumer},
	"go":     {[]string{"go", "run", "post.go"}, consumer},
	"python": {[]string{"python3", "post.py"}, consumer},
	"node":   {[]string{"node", "post.mjs"}, consumer},
	"php":    {[]string{"php", "post.php"}, consumer},
	"ruby":   {[]string{"ruby", "post.rb"}, consumer},
	"java":   {[]string{"java", "Post.java"}, `Zo\u00eb \u20b9 \ud83d\ude0a`}, // JDK 17 may read the file as ASCII
}

// consumer is a name with characters of two, three and four bytes in UTF-8.
const consumer = "Zoë ₹ 😊"

// sampleName matches the consumer's name on the page, as a literal in any of the languages.
var sampleName = regexp.MustCompile(`Zo(ë|\\u00eb) Example`)

// TestPartnerPageSamples runs each sample on the page through a proxy. The proxy loses the first ping, half of the
// response to the second one, the response to the first post, and half of the response to the third one. It
// answers the second post with 503. The sample must deliver one signed lead and follow the rules for retries.
func TestPartnerPageSamples(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock)
	p := sandboxPartner(t, n, "northgate")
	page := fetch(t, n, http.MethodGet, partnerLink(t, n, p)).Body
	for id, s := range sampleRuns {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(page, "<code>"+strings.Join(s.run, " ")+"</code>") {
				t.Errorf("the page does not contain the command %s", strings.Join(s.run, " "))
			}
			proxy := newSampleProxy(t, n)
			proxy.faults["/api/lead/ping"] = []fault{lost, halved}
			proxy.faults["/api/lead/post"] = []fault{unanswered, unavailable, halved}
			output, err := runSample(t, s.run, proxy.program(n, code(t, page, "code-"+id), s.consumer), p.Secret)
			n.CountPing()
			n.CountPing() // the ping whose response was lost in part
			delivered := regexp.MustCompile(`"leadId":"(ld_[0-9A-Z]{26})".*"hmacVerified":true`).FindStringSubmatch(output)
			if err != nil || delivered == nil || !strings.Contains(output, `"accepted":true`) ||
				!strings.Contains(output, "200") {
				t.Fatalf("the sample did not deliver a signed lead: %v\n%s", err, output)
			}
			l := n.Lead(t, delivered[1])
			if !l.HMACVerified || !l.Signed || l.PartnerID != p.ID || l.Account != "northgate.trial" ||
				l.Accrued != 0 || l.Contact["name"] != consumer {
				t.Errorf("stored for %s, signed %t, verified %t, accrued %d, name %q", l.Account, l.Signed,
					l.HMACVerified, l.Accrued, l.Contact["name"])
			}
			proxy.checkRetries(t)
		})
	}
	workedExample(t, page)
}

// TestPartnerPageSamplesFail runs each sample until it fails. A wrong secret must end the sample, even if half of the
// first response is lost. An unknown outcome must end it after its time limit, which the test shortens.
func TestPartnerPageSamplesFail(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock)
	p := sandboxPartner(t, n, "northgate")
	page := fetch(t, n, http.MethodGet, partnerLink(t, n, p)).Body
	for id, s := range sampleRuns {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			program := code(t, page, "code-"+id)
			wrong := newSampleProxy(t, n)
			wrong.faults["/api/lead/post"] = []fault{halved}
			output, err := runSample(t, s.run, wrong.program(n, program, s.consumer), "not-"+p.Secret)
			n.CountPing()
			if err == nil || !strings.Contains(output, spec.BadSignature.Code) || len(wrong.posts) != 2 {
				t.Errorf("wrong secret: got %v after %d posts\n%s", err, len(wrong.posts), output)
			}
			limit := regexp.MustCompile(`16 ?\* ?60`)
			if got := len(limit.FindAllString(program, -1)); got != 1 {
				t.Fatalf("found the time limit %d times", got)
			}
			down := newSampleProxy(t, n)
			down.faults["/api/lead/post"] = []fault{unavailable, unavailable, unavailable}
			output, err = runSample(t, s.run, down.program(n, limit.ReplaceAllString(program, "6"), s.consumer), p.Secret)
			n.CountPing()
			if err == nil || !strings.Contains(output, "No final response") || len(down.posts) != 2 {
				t.Errorf("unknown outcome: got %v after %d posts\n%s", err, len(down.posts), output)
			}
		})
	}
}

// runSample saves a program to a file and runs the command. The last word of the command is the name of
// the file.
func runSample(t *testing.T, run []string, program, secret string) (output string, err error) {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, run[len(run)-1]), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, run[0], run[1:]...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "PINGPOST_SECRET="+secret, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	raw, err := cmd.CombinedOutput()
	return string(raw), err
}

// workedExample runs the command on the page and compares its output with the signature on the page.
func workedExample(t *testing.T, page string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "bash", "-c", code(t, page, "example-command")).CombinedOutput()
	signature := regexp.MustCompile(`[0-9a-f]{64}`).FindString(string(output))
	if err != nil || signature == "" || !strings.Contains(page, "<code>"+signature+"</code>") {
		t.Errorf("the page does not contain the signature from openssl: %s (%v)", output, err)
	}
}

// TestPartnerPage requests documentation pages with valid and with invalid links.
func TestPartnerPage(t *testing.T) {
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
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if page.Status != http.StatusOK || strings.Count(page.Body, "<script") != 1 ||
		!strings.Contains(html.UnescapeString(page.Body), `Čapek & "Sons" <script>`) {
		t.Errorf("got %d, or the page does not contain the partner's name as text", page.Status)
	}
	for _, want := range []string{n.Config.HTTP.PublicURL + "/p/northgate", "northgate-web", "northgate.trial"} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	for _, not := range []string{"southgate", p.Secret, strings.TrimPrefix(mine, "/partner/"),
		strings.TrimPrefix(theirs, "/partner/")} {
		if strings.Contains(page.Body, not) {
			t.Errorf("the page contains %s", not)
		}
	}
	if head := fetch(t, n, http.MethodHead, mine); head.Status != http.StatusOK || head.Body != "" ||
		head.Header.Get("Content-Length") != page.Header.Get("Content-Length") {
		t.Errorf("HEAD: got %d %v", head.Status, head.Header)
	}
	if a := fetch(t, n, http.MethodPost, mine); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: got %d %v", a.Status, a.Header)
	}

	checkAgreement(t, n, p, mine, theirs)
	if err := n.Partners.SetStatus(t.Context(), scope.System, other.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	if page := fetch(t, n, http.MethodGet, theirs); page.Status != http.StatusOK || !strings.Contains(page.Body, `data-notice="suspended"`) {
		t.Errorf("a suspended partner's page: got %d, or it does not show the suspension", page.Status)
	}
	checkInvalidLinks(t, n, replaced)
	checkTokensNotStored(t, n, replaced, mine, theirs)
}

// checkAgreement gives a partner a cap and an exclusion, and delivers a lead. Only the partner's own page must
// show them.
func checkAgreement(t *testing.T, n *node.Node, p node.Partner, mine, theirs string) {
	t.Helper()
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	form := partners.PriceForm{Adjustment: "-2.5", DailyLeadCap: "40", Exclusions: "industry roofer, country FR"}
	if err := n.Partners.SetPricing(t.Context(), scope.System, p.ID, 0, form, taxonomy); err != nil {
		t.Fatal(err)
	}
	n.Deliver(t, p, node.MinimalPost)
	page, others := fetch(t, n, http.MethodGet, mine), fetch(t, n, http.MethodGet, theirs)
	for _, want := range []string{"-2.5% on the platform's prices", "industry: roofer, country: FR", "40 leads per day",
		"Delivered since 00:00 UTC: 1. Left today: 39"} {
		if !strings.Contains(html.UnescapeString(page.Body), want) || strings.Contains(html.UnescapeString(others.Body), want) {
			t.Errorf("the partner's own page, or only this page, must show %q", want)
		}
	}
}

// checkInvalidLinks checks that all invalid links get the same response, whether or not they were valid
// in the past.
func checkInvalidLinks(t *testing.T, n *node.Node, replaced string) {
	t.Helper()
	var first node.Answer
	for i, path := range []string{
		"/partner/" + strings.Repeat("A", 43), replaced, replaced + "A", replaced[:len(replaced)-1],
		"/partner/x", "/partner/%00", "/partner/%2e%2e", "/partner/" + strings.Repeat("%20", 43), "/partner/" + strings.Repeat("A", 5000), "/partner/northgate",
	} {
		a := fetch(t, n, http.MethodGet, path)
		body := a.Rejection()
		a.Header.Del("X-Request-Id")
		a.Header.Del("Date")
		if i == 0 {
			first = a
		}
		if a.Status != http.StatusNotFound || body != spec.NotFound.Body() ||
			!slices.Equal(flat(a.Header), flat(first.Header)) {
			t.Errorf("%.60s: got %d %s %v", path, a.Status, a.Body, a.Header)
		}
	}
}

// flat returns the header's lines, sorted.
func flat(h http.Header) (all []string) {
	for name, values := range h {
		all = append(all, name+": "+strings.Join(values, ", "))
	}
	slices.Sort(all)
	return all
}

// checkTokensNotStored stops the node and checks that its log, its metrics and the database do not
// contain the tokens from links.
func checkTokensNotStored(t *testing.T, n *node.Node, links ...string) {
	t.Helper()
	texts := map[string]string{"metrics": n.Get(t, n.Ops+"/metrics")}
	n.Shutdown(t)
	texts["log lines"] = n.Log.String()
	for where, text := range texts {
		if !strings.Contains(text, "/partner/:token") {
			t.Errorf("%s do not mention the page, so the search proves nothing", where)
		}
	}
	maps.Copy(texts, n.DB.Columns(t))
	for where, text := range texts {
		for _, link := range links {
			if strings.Contains(text, strings.TrimPrefix(link, "/partner/")) {
				t.Errorf("found a token in %s", where)
			}
		}
	}
}

// TestPartnerPageWithoutDatabase checks that a request for the page gets 503 while the database is
// unavailable. When the database is available again, the page must work.
func TestPartnerPageWithoutDatabase(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(*node.FaultyProxy){
		"cut":   (*node.FaultyProxy).Cut,
		"stuck": (*node.FaultyProxy).Hold,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var proxy *node.FaultyProxy
			n := node.Start(t, node.ThroughFaultyProxy(t, &proxy))
			mine := partnerLink(t, n, n.Required)
			if a := fetch(t, n, http.MethodGet, mine); a.Status != http.StatusOK {
				t.Fatalf("got %d %s, want 200", a.Status, a.Body)
			}
			disturb(proxy)
			if a := fetch(t, n, http.MethodGet, mine); a.Status != http.StatusServiceUnavailable ||
				a.Header.Get("Retry-After") != "2" {
				t.Errorf("got %d, Retry-After %q, %s", a.Status, a.Header.Get("Retry-After"), a.Body)
			}
			if a := fetch(t, n, http.MethodGet, "/partner/x"); a.Status != http.StatusNotFound {
				t.Errorf("malformed token: got %d, want 404", a.Status)
			}
			proxy.Restore()
			testkit.Eventually(t, time.Minute, "the page works again",
				func() bool { return fetch(t, n, http.MethodGet, mine).Status == http.StatusOK })
		})
	}
}
