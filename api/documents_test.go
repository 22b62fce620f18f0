package api_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/models"
)

// Each question that integrators often ask has a section. The section is in the table of contents,
// states the codes and numbers that answer the question, and fits on a screen.
func TestDocsAnswerQuestions(t *testing.T) {
	d := config.Defaults(config.Serve)
	number := func(n int) string { // formatted as on the page
		return regexp.MustCompile(`(\d)(\d{3})$`).ReplaceAllString(strconv.Itoa(n), "$1,$2")
	}
	reasons := []string{number(d.Payouts.ReturnDays) + " days", "leadId"}
	for _, reason := range payouts.Reasons {
		reasons = append(reasons, string(reason.Reason))
	}
	answers := map[string][]string{
		"declined-pings": {string(models.OutcomeExcluded), string(models.OutcomePaused), string(models.OutcomeExcluded),
			string(models.OutcomeCapped), "accepted: false"},
		"warnings": {"country_alias", "no action is needed"},
		"timeouts-and-retries": {"5 seconds", "Idempotent-Replayed: true", "408", "429", "Retry-After",
			"500", "502", "503", "504", "deliveredAt", "transaction_delivered", "transaction_delivered_by_other",
			"transaction_delivered_unsigned", "transaction_expired", "transaction_expired_delivered",
			"transaction_expired_unsigned", "transaction_expired_unknown", "account_inactive"},
		"rate-limits": {"429", "Retry-After", "/64", number(d.Limits.PingsPerAddress),
			number(d.Limits.SharedPingsPerAddress), number(d.Limits.PostsPerPartner),
			number(d.Limits.UnsignedPostsPerAddress), number(d.Limits.SignatureFailuresPerMinute),
			number(d.Limits.MatchFailuresPerMinute)},
		"duplicates": {"duplicate"},
		"returns":    reasons,
		"payouts":    {"payout run", "minimum payout", "currency", "statement"},
		"suspended-accounts": {"paused", "Account is not active", "deliveredAt", "409",
			"Missing required X-Signature-SHA256 header", "Invalid lead post payload"},
		"sandbox-accounts": {"partnerId", "deleted automatically", number(d.Retention.SandboxDays) + " days"},
		"invalid-http-requests": {"400", "Host", "417", "Expect", "431", "20 KiB", "501",
			"505", "requestId"},
		"browsers-and-cors":        {"CORS", "OPTIONS", "405"},
		"versions-and-deprecation": {"info.version", "reason", "code"},
		"limits": {"15 minutes", "300 seconds",
			number(int(d.HTTP.ReadHeaderTimeout/time.Second)) + " seconds",
			number(int(d.HTTP.ReadTimeout/time.Second)) + " seconds",
			number(int(d.HTTP.IdleTimeout/time.Second)) + " seconds", "65,536"},
		"countries": {"GB", "UK", "EUR", "CH"},
		"support":   {"X-Request-Id"},
	}
	server := httptest.NewServer(newService(t, newPlatform(t), nil, nil).handler)
	t.Cleanup(server.Close)
	p := browser.Start(t).Page(t, browser.Emulation{})
	p.Open(server.URL + "/")
	lookAt(p, "root", true)
	p.Emulate(browser.Emulation{})
	p.Submit(`a[href="docs"]`)
	lookAt(p, "docs", true)
	p.Emulate(browser.Emulation{})
	for id, wants := range answers {
		section := browser.Eval[struct {
			Text, Title, Link string
			Height            float64
		}](p, `(() => {
			const at = document.querySelector("section#`+id+`"), link = document.querySelector("nav a[href='#`+id+`']");
			return {text: at?.textContent ?? "", title: at?.querySelector("h2").textContent ?? "", link: link?.textContent ?? "", height: at?.getBoundingClientRect().height ?? 0};
		})()`)
		if section.Title == "" || section.Title != section.Link || section.Height > 800 {
			t.Errorf("%s: got title %q, link %q and a height of %.0f pixels", id, section.Title, section.Link, section.Height)
		}
		for _, want := range slices.Compact(wants) {
			if !strings.Contains(section.Text, want) {
				t.Errorf("%s does not contain %q", id, want)
			}
		}
	}
}

// openDocs opens the page for all partners.
func openDocs(t *testing.T, look browser.Emulation) *browser.Page {
	t.Helper()
	server := httptest.NewServer(newService(t, newPlatform(t), nil, nil).handler)
	t.Cleanup(server.Close)
	p := browser.Start(t).Page(t, look)
	p.Open(server.URL + "/docs")
	return p
}

func TestCopyButtonsCopyTheExactText(t *testing.T) {
	p := openDocs(t, browser.Emulation{})
	browser.Eval[bool](p, `(() => {
		window.copied = [];
		navigator.clipboard.writeText = async (text) => { copied.push(text); };
		return true;
	})()`)
	p.Click("#ping .examples button")
	p.Wait(`document.querySelector("[role=status]").textContent === "Copied"`)
	ping := browser.Eval[map[string]string](p, `JSON.parse(copied[0])`)
	if ping["industry"] != "plumber" || ping["postcode"] != "SW1A 1AA" {
		t.Errorf("copied %v", ping)
	}
	if state := browser.Eval[string](p, `document.querySelector("#ping .examples button").textContent`); state != "Copied" {
		t.Errorf("after a click, the button is labelled %q", state)
	}

	buttons := browser.Eval[[]struct {
		Label, Type, Text string
		Code              bool
	}](p, `[...document.querySelectorAll("button")].map((b) => ({label: b.textContent, type: b.type,
		text: (b.closest("figure")?.querySelector("pre") ?? b.closest("dd")).querySelector("code").textContent, code: b.closest("figure") !== null}))`)
	browser.Eval[bool](p,
		`(() => { copied.length = 0; document.querySelectorAll("button").forEach((b) => b.click()); return true; })()`)
	p.Wait(`copied.length === document.querySelectorAll("button").length`)
	copied := browser.Eval[[]string](p, `copied`)
	samples := 0
	for i, button := range buttons {
		if i > 0 && (button.Type != "button" || copied[i] != button.Text || button.Text == "") {
			t.Errorf("button %d of type %s copied %q, want %q", i, button.Type, copied[i], button.Text)
		}
		if button.Code {
			samples++
		}
	}
	if want := browser.Eval[int](p, `document.querySelectorAll("pre").length`); samples != want {
		t.Errorf("%d of %d code samples have a button", samples, want)
	}
	if !slices.ContainsFunc(copied, func(text string) bool { return strings.Contains(text, "\n  --data-binary \"$body\"") }) {
		t.Error("the quick start is not copied with its line breaks")
	}
}

// If the page is not allowed to copy the text, it selects the text, and the button says so.
func TestCopyButtonSelectsTheTextWithoutPermission(t *testing.T) {
	p := openDocs(t, browser.Emulation{})
	browser.Eval[bool](p,
		`(() => { navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed")); return true; })()`)
	p.Click("#ping .examples button")
	p.Wait(`document.querySelector("#ping .examples button").textContent === "Selected"`)
	if !browser.Eval[bool](p, `getSelection().toString().trim() === document.querySelector("#ping .examples code").textContent`) {
		t.Error("a different text is selected")
	}
}

func TestExamplesAreBesideTheText(t *testing.T) {
	p := openDocs(t, browser.Emulation{Width: 1200, Height: 800})
	for _, section := range []string{"quick-start", "signing", "ping", "post", "industries", "errors"} {
		for _, request := range []struct {
			width  int
			beside bool
		}{{1440, true}, {1200, true}, {1024, false}, {360, false}} {
			p.Emulate(browser.Emulation{Width: request.width, Height: 800})
			got := browser.Eval[bool](p, `[...document.querySelectorAll("#`+section+` .split")].every((split) => {
				const [text, examples] = [...split.children].map((e) => e.getBoundingClientRect());
				return text.right < examples.left && text.top === examples.top;
			})`)
			if got != request.beside {
				t.Errorf("%s at %d pixels: examples beside the text: %t", section, request.width, got)
			}
		}
	}
}

func TestDocsContents(t *testing.T) {
	p := openDocs(t, browser.Emulation{})
	shown := func(selector string) bool {
		return browser.Eval[bool](p, `document.querySelector("`+selector+`").checkVisibility()`)
	}
	if !shown("nav a[href='#errors']") || shown("nav summary") {
		t.Error("in a wide window, the contents are not open")
	}
	p.Click("nav a[href='#signing']")
	p.Wait(`document.querySelector("nav [aria-current]").hash === "#signing"`)
	covered := `document.querySelector("#signing-title").getBoundingClientRect().top < document.querySelector("`
	if browser.Eval[bool](p, covered+`.bar").getBoundingClientRect().bottom`) {
		t.Error("the bar covers the heading")
	}
	p.Click("nav a[href='#support']")
	p.Wait(`document.querySelector("nav [aria-current]").hash === "#support"`)

	p.Emulate(browser.Emulation{Width: 360, Height: 700})
	if shown("nav a[href='#errors']") {
		t.Error("in a narrow window, the contents are open")
	}
	p.CheckNoOverflow()
	p.Click("nav summary")
	p.CheckNoOverflow()
	p.Emulate(browser.Emulation{Width: 360, Height: 2400}) // axe reports links that are partly scrolled out of view
	p.Wait(`[...document.querySelectorAll("nav a")].every((link) => {
		const {left, top, bottom} = link.getBoundingClientRect();
		return [top + 1, bottom - 1].every((y) => link.contains(document.elementFromPoint(left + 1, y)));
	})`)
	p.AxeExceptColours()
	p.Emulate(browser.Emulation{Width: 360, Height: 700})
	p.Click("nav a[href='#errors']")
	p.Wait(`location.hash === "#errors" && !document.querySelector("nav a[href='#errors']").checkVisibility()`)
	if browser.Eval[bool](p, strings.Replace(covered, "#signing", "#errors", 1)+`nav").getBoundingClientRect().bottom`) {
		t.Error("the menu covers the heading")
	}
}

func TestDocsWithoutScripts(t *testing.T) {
	p := openDocs(t, browser.Emulation{Width: 360, Height: 700, NoScript: true})
	if n := browser.Eval[int](p, `document.querySelectorAll("button").length`); n != 0 {
		t.Errorf("the page has %d buttons, which cannot work", n)
	}
	p.Click("nav summary")
	p.Click("nav a[href='#errors']")
	if !browser.Eval[bool](p, `location.hash === "#errors"`) {
		t.Error("the menu does not lead to the errors")
	}
}

// The pages can run only the service's own script.
func TestDocsScriptPolicy(t *testing.T) {
	s := newService(t, newPlatform(t), nil, nil)
	link, err := s.Partners.NewLink(t.Context(), scope.System, s.Required.Partner)
	if err != nil {
		t.Fatal(err)
	}
	for path, src := range map[string]string{"/docs": "docs.js", "/partner/" + link.Token: "../docs.js"} {
		answer := s.serve(httptest.NewRequest(http.MethodGet, path, nil))
		policy := answer.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'; script-src 'self'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if !strings.Contains(answer.Body.String(), `<script src="`+src+`" defer></script>`) {
			t.Errorf("%s does not load %s", path, src)
		}
	}
	script := s.serve(httptest.NewRequest(http.MethodGet, "/docs.js", nil))
	style := s.serve(httptest.NewRequest(http.MethodGet, "/docs.css", nil))
	if script.Code != http.StatusOK || script.Header().Get("Content-Type") != "text/javascript; charset=utf-8" ||
		script.Header().Get("ETag") == "" || script.Header().Get("Cache-Control") != style.Header().Get("Cache-Control") {
		t.Errorf("got %d %v", script.Code, script.Header())
	}
	for _, not := range []string{"eval(", "Function(", "innerHTML", "http:", "https:"} {
		if strings.Contains(script.Body.String(), not) {
			t.Errorf("the script contains %s", not)
		}
	}
}
