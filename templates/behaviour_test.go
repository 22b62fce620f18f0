package templates_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pingpost/pingpost/internal/dev/browser"
)

const focused = `document.activeElement.id`

func keys(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{})

	p.Open(url + "/staff")
	p.Press("/")
	p.Wait(focused + ` === "f-filter-q"`)
	// In a text field, shortcut keys enter their characters.
	p.Press("?")
	p.Wait(`document.getElementById("f-filter-q").value === "?" && !document.querySelector("dialog[open]")`)

	p.Press("k", chromedp.ModifierCtrl)
	p.Wait(`document.getElementById("jump-dialog").open && ` + focused + ` === "jump-to"`)
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]") && ` + focused + ` === "f-filter-q"`)

	p.Open(url + "/overview")
	p.Press("?")
	p.Wait(`document.getElementById("keys-dialog").open`)
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]")`)
	// On a page without a filter, the key moves the focus to the jump box.
	p.Press("/")
	p.Wait(focused + ` === "jump"`)
	p.Type("#jump", "ld_01M7"+kb.Enter)
	p.Wait(`location.pathname + location.search === "/jump"`)
}

func copies(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{})
	p.Open(url + "/audit")
	p.Click(`[data-copy="st_01M7Q4Z8KX3F2V9N6T0B5RCWHD"]`)
	p.Wait(`document.getElementById("announce").textContent === "Copied"`)
	p.Open(url + "/partner-request")
	p.Click(`.button[data-copy]`)
	p.Wait(`document.querySelector(".button[data-copied]").innerText.trim() === "Copied"`)
	browser.Eval[bool](p, `(navigator.clipboard.writeText = () => Promise.reject(new Error("blocked"))) !== null`)
	for range 2 {
		p.Click(`.button[data-copy]`)
	}
	p.Wait(`document.querySelectorAll("[data-blocked]").length === 1 && getSelection().toString() !== ""`)
	browser.Eval[bool](p, `delete navigator.clipboard.writeText`)
	p.Click(`.button[data-copy]`)
	p.Wait(`document.querySelectorAll("[data-blocked]").length === 0`)

	p.Open(url + "/audit")
	p.Click(`.more > summary`)
	p.Wait(`document.querySelector(".more").open`)
	p.Axe()
}

func dialogsAndMenus(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{Width: 1280, Height: 1000})
	p.Open(url + "/person")
	p.Click(`[data-dialog="deactivate"]`)
	p.Wait(`document.getElementById("deactivate").open && ` + focused + ` !== ""`)
	p.Axe()
	p.Click(`#deactivate [data-close]`)
	p.Wait(`!document.querySelector("dialog[open]") && document.activeElement.matches("[data-dialog=deactivate]")`)
	p.Click(`.menu > summary`)
	p.Wait(`document.querySelector(".menu").open`)
	p.Axe()
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector(".menu").open && document.activeElement.matches(".menu > summary")`)
	p.Press("k", chromedp.ModifierCtrl)
	p.Wait(`document.getElementById("jump-dialog").open`)
	p.Axe()
}

// If a form has errors, their summary gets the focus and links to the fields.
func errorSummaryHasFocus(t *testing.T, chromium *browser.Browser, url string) {
	for _, look := range []browser.Emulation{{}, {NoScript: true}} {
		p := chromium.Page(t, look)
		p.Open(url + "/staff-invite-errors")
		p.Wait(focused + ` === "error-summary"`)
		p.Click(`#error-summary a`)
		p.Wait(`location.hash === "#f-email"`)
	}
}

// A page uses the system's colour scheme, unless the user has chosen a theme.
func themes(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{})
	p.Open(url + "/overview")
	const dark = `getComputedStyle(document.querySelector("h1")).color === "rgb(232, 234, 238)"`
	p.Wait("!(" + dark + ")")
	p.Emulate(browser.Emulation{Dark: true})
	p.Wait(dark)
	p.Emulate(browser.Emulation{})
	p.Wait("!(" + dark + ")")
	p.Emulate(browser.Emulation{Dark: true})
	browser.Eval[bool](p, `document.documentElement.dataset.theme = "light"; true`)
	p.Wait("!(" + dark + ")")
	p.Emulate(browser.Emulation{})
	browser.Eval[bool](p, `document.documentElement.dataset.theme = "dark"; true`)
	p.Wait(dark)
}

// The list and the URL change with the filter. The field keeps the focus.
func filterWithScript(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{})
	p.Open(url + "/staff")
	browser.Eval[bool](p, `document.querySelector(".bar").dataset.kept = ""; true`)
	p.Type("#f-filter-q", "grace")
	p.Wait(`location.search.includes("q=grace") && document.querySelector(".bar").dataset.kept === "" && ` +
		focused + ` === "f-filter-q"`)

	const search = `document.getElementById("f-filter-q")`
	browser.Eval[bool](p, search+`.value = "broke"; true`)
	p.Type("#f-filter-q", "n")
	p.Wait(`!document.getElementById("load-error").hidden`)
	if said := p.ConsoleErrors(); len(said) == 0 {
		t.Error("the browser's console has no error after the list failed to load")
	}
	browser.Eval[bool](p, search+`.value = "signed ou"; true`)
	p.Type("#f-filter-q", "t")
	p.Wait(`location.pathname === "/login"`)
}

func withoutScript(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{NoScript: true})

	p.Open(url + "/staff")
	p.Type("#f-filter-q", "grace")
	p.Submit(".filters button[type=submit]")
	if got := p.Address(); !strings.Contains(got, "/staff?q=grace&role=&status=") {
		t.Errorf("the filter opened %s", got)
	}
	p.Submit(`.side a[href="/audit"]`)
	if got := p.Text("h1"); got != "Audit log" {
		t.Errorf("the navigation opened %q, want Audit log", got)
	}
	if browser.Eval[bool](p, `document.querySelector("[data-copy]").checkVisibility()`) {
		t.Error("the copy button is visible without scripts")
	}
	p.Open(url + "/person")
	p.Submit(`[data-dialog="deactivate"]`)
	if got := p.Address(); !strings.HasSuffix(got, "/staff/2/deactivate") {
		t.Errorf("the dialog's link opened %s", got)
	}
	p.Click(".menu > summary")
	p.Submit(`.menu form[action="/theme"] button[value=dark]`)
	if got := p.Address(); !strings.HasSuffix(got, "/theme") {
		t.Errorf("the theme form opened %s", got)
	}
	narrow := chromium.Page(t, browser.Emulation{Width: 320, NoScript: true})
	narrow.Open(url + "/overview")
	narrow.Click(".areas-narrow > summary")
	narrow.Submit(`.areas-narrow a[href="/staff"]`)
	if got := narrow.Text("h1"); got != "Staff" {
		t.Errorf("the narrow navigation opened %q, want Staff", got)
	}
}

// The live activity announces each new event once. It is not reloaded while an element in it has the
// focus.
func liveActivityReloads(t *testing.T, chromium *browser.Browser, url string) {
	p := chromium.Page(t, browser.Emulation{})
	p.Open(url + "/onboarding-waiting")
	if got := p.Text("#arrivals .status"); got != "Waiting for the first signed lead…" {
		t.Errorf("the status is %q", got)
	}
	const announced = `document.getElementById("announce").textContent`
	p.Wait(announced + ` === "Lead delivered, 2026-11-21 19:02:40 UTC" && document.querySelectorAll("#arrivals li").length === 3`)
	browser.Eval[bool](p,
		`document.getElementById("announce").textContent = ""; document.getElementById("arrivals").dataset.old = ""; true`)
	p.Wait(`document.getElementById("arrivals").dataset.old === undefined`)
	if again := browser.Eval[string](p, announced); again != "" {
		t.Errorf("announced %q again without a new event", again)
	}
	browser.Eval[bool](p, `document.querySelector("#arrivals [data-copy]").focus(); window.requests = 0;
		document.addEventListener("htmx:afterRequest", () => { window.requests++; }); true`)
	p.Wait(`window.requests > 0`)
	if !browser.Eval[bool](p, `document.activeElement.matches("#arrivals [data-copy]")`) {
		t.Error("the reload removed the focus")
	}

	p = chromium.Page(t, browser.Emulation{NoScript: true})
	p.Open(url + "/onboarding-waiting")
	p.Submit("#arrivals .without-js a")
	if got := p.Address(); got != url+"/onboarding-waiting" {
		t.Errorf("the refresh link opened %s", got)
	}
}

// The current step is open, and the others can be opened, with and without scripts.
func onboardingSteps(t *testing.T, chromium *browser.Browser, url string) {
	for _, look := range []browser.Emulation{{}, {NoScript: true}} {
		p := chromium.Page(t, look)
		p.Open(url + "/onboarding")
		const counts = `["", "[aria-current=step]"].map((step) => document.querySelectorAll(".path details[open]" + step).length).join()`
		if got := browser.Eval[string](p, counts); got != "1,1" {
			t.Errorf("got %s open steps (all, current), want 1,1", got)
		}
		p.Click(".path li:first-child summary")
		p.Wait(`document.querySelectorAll(".path details[open]").length === 2`)
		if !look.NoScript {
			p.Axe()
		}
		p.Submit(".path [aria-current=step] form button")
		if got := p.Address(); got != url+harbour+"/approve" {
			t.Errorf("the step's button opened %s", got)
		}
	}
}
