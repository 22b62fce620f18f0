package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

const focused = `document.activeElement.id`

// administrator returns a page on which an administrator is signed in.
func administrator(
	t *testing.T, chromium *browser.Browser, look browser.Emulation,
) (*admintest.Console, *browser.Page) {
	t.Helper()
	h, p := admintest.NewConsole(t, admintest.Setup{}), chromium.Page(t, look)
	signIn(h, p, "administrator@example.com")
	return h, p
}

func shortcutKeys(t *testing.T, chromium *browser.Browser) {
	h, p := administrator(t, chromium, browser.Emulation{})
	p.Open(h.URL + "/staff")
	p.Press("/")
	p.Wait(focused + ` === "f-filter-q"`)
	// In a text field, shortcut keys enter their characters.
	p.Press("?")
	p.Wait(`document.getElementById("f-filter-q").value === "?" && !document.querySelector("dialog[open]")`)
	p.Press("k", chromedp.ModifierCtrl)
	p.Wait(`document.getElementById("jump-dialog").open && ` + focused + ` === "jump-to"`)
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]") && ` + focused + ` === "f-filter-q"`)

	p.Open(h.URL + "/keys")
	p.Press("?")
	p.Wait(`document.getElementById("keys-dialog").open`)
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector("dialog[open]")`)
	// On a page without a filter, the key moves the focus to the jump box.
	p.Press("/")
	p.Wait(focused + ` === "jump"`)
	p.Type("#jump", h.StaffID(models.Finance)+kb.Enter)
	p.Wait(fmt.Sprintf(`location.pathname + location.search === "/staff/%s"`, h.StaffID(models.Finance)))
}

func copyButtons(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := h.AddSellingPartner(t)
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "account_manager@example.com")
	p.Open(h.URL + partner)
	p.Click(fmt.Sprintf(`[data-copy=%q]`, partner[len("/partners/"):]))
	p.Wait(`document.getElementById("announce").textContent === "Copied"`)

	p.Open(h.URL + partner + "/requests/" + id.Format(id.Request, testkit.Value[uuid.UUID](t, h.Database,
		`SELECT request_id FROM api_requests WHERE outcome = 'payload'`)))
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
}

func dialogsAndMenus(t *testing.T, chromium *browser.Browser) {
	h, p := administrator(t, chromium, browser.Emulation{Width: 1280, Height: 1000})
	p.Open(h.URL + "/staff/" + h.StaffID(models.Finance))
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
func errorSummaryHasFocus(t *testing.T, chromium *browser.Browser) {
	for _, look := range []browser.Emulation{{}, {NoScript: true}} {
		h, p := administrator(t, chromium, look)
		p.Open(h.URL + "/staff/invite")
		browser.Eval[bool](p, `document.querySelector("form[action='/staff/invite']").noValidate = true`)
		p.Submit(`form[action="/staff/invite"] button[type="submit"]`)
		p.Wait(focused + ` === "error-summary"`)
		p.Click(`#error-summary a`)
		p.Wait(`location.hash.startsWith("#f-")`)
		expectOnlyStatusErrors(t, p)
	}
}

// A page uses the system's colour scheme, unless the user has chosen a theme.
func themes(t *testing.T, chromium *browser.Browser) {
	h, p := administrator(t, chromium, browser.Emulation{})
	p.Open(h.URL + "/keys")
	const dark = `getComputedStyle(document.querySelector("h1")).color === "rgb(232, 234, 238)"`
	p.Wait("!(" + dark + ")")
	p.Emulate(browser.Emulation{Dark: true})
	p.Wait(dark)
	choose := func(theme string) {
		p.Click(".menu > summary")
		p.Submit(`.menu form[action="/theme"] button[value=` + theme + `]`)
		p.Wait(`document.documentElement.dataset.theme === "` + theme + `"`)
	}
	choose("light")
	p.Wait("!(" + dark + ")")
	p.Emulate(browser.Emulation{})
	choose("dark")
	p.Wait(dark)
}

// While the user types into a filter, the page is not reloaded and the field keeps the focus. A list that cannot be
// loaded is reported, and if the session has ended, the browser opens the sign-in page.
func filterKeepsFocus(t *testing.T, chromium *browser.Browser) {
	h, p := administrator(t, chromium, browser.Emulation{})
	p.Open(h.URL + "/staff")
	browser.Eval[bool](p, `document.querySelector(".bar").dataset.kept = ""; true`)
	p.Type("#f-filter-q", "finance")
	p.Wait(`location.search.includes("q=finance") && document.querySelector(".bar").dataset.kept === "" && ` +
		focused + ` === "f-filter-q"`)
	browser.Eval[bool](p, `window.opens = XMLHttpRequest.prototype.open;
		XMLHttpRequest.prototype.open = function (method) {
			window.opens.call(this, method, "http://127.0.0.1:1/", true);
		}; true`)
	p.Type("#f-filter-q", "x")
	p.Wait(`!document.getElementById("load-error").hidden`)
	if len(p.ConsoleErrors()) == 0 {
		t.Error("the browser's console has no error after the list failed to load")
	}
	browser.Eval[bool](p, `XMLHttpRequest.prototype.open = window.opens; true`)
	if err := h.StaffService.EndSessions(t.Context(), h.People[models.Administrator].ID, uuid.Nil); err != nil {
		t.Fatal(err)
	}
	p.Type("#f-filter-q", "y")
	p.Wait(`location.pathname === "/login"`)
}

// navigateWithoutScript uses the menus of a narrow page. Scripts are turned off.
func navigateWithoutScript(t *testing.T, chromium *browser.Browser) {
	h, p := administrator(t, chromium, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	p.Click(".areas-narrow > summary")
	p.Submit(`.areas-narrow a[href="/staff"]`)
	if got := p.Address(); got != h.URL+"/staff" {
		t.Errorf("the narrow navigation opened %s", got)
	}
	p.Open(h.URL + "/staff/" + h.StaffID(models.Finance))
	if browser.Eval[bool](p, `document.querySelector("[data-copy]").checkVisibility()`) {
		t.Error("the copy button is visible without scripts")
	}
	p.Click(".menu > summary")
	p.Submit(`.menu form[action="/theme"] button[value=dark]`)
	if got := browser.Eval[string](p, `document.documentElement.dataset.theme`); got != "dark" {
		t.Errorf("got theme %q", got)
	}
}

// The live activity of a partner announces each new event once. It is not reloaded while an element in it has the
// focus.
func liveActivity(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := h.AddPartner(t, "harbour-leads")
	arrive := func() {
		h.Exec(t, `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, outcome, fields, status, code, message, detail, duration_us)
			VALUES ($1, $2, $3, 'other_post', 'post', 'payload', '{}', 400, 'payload_invalid', 'Invalid lead post payload', '', 310)`,
			partner, h.Time.Now(), id.New(h.Time.Now()))
	}
	page := h.URL + web.PartnerURL(partner) + "/onboarding"
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "account_manager@example.com")
	p.Open(page)
	p.Wait(`document.querySelectorAll("#arrivals li").length === 0`)
	h.Time.Advance(time.Second)
	arrive()
	const announced = `document.getElementById("announce").textContent`
	p.Wait(announced + `.endsWith("2026-01-02 03:04:06 UTC") && document.querySelectorAll("#arrivals li").length === 1`)
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
	signIn(h, p, "account_manager@example.com")
	p.Open(page)
	arrive()
	p.Submit("#arrivals .without-js a")
	p.Wait(`document.querySelectorAll("#arrivals li").length === 1 && ` +
		`document.querySelector("#arrivals [data-requests]").dataset.requests === "2"`)
}

// The current step of the onboarding is open, the others can be opened, and the step's button opens its form, with and
// without scripts.
func onboardingSteps(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	for i, look := range []browser.Emulation{{}, {NoScript: true}} {
		partner := web.PartnerURL(h.AddPartner(t, fmt.Sprintf("harbour-%d", i)))
		p := chromium.Page(t, look)
		signIn(h, p, "account_manager@example.com")
		p.Open(h.URL + partner + "/onboarding")
		const counts = `["", "[aria-current=step]"].
			map((step) => document.querySelectorAll(".path details[open]" + step).length).join()`
		if got := browser.Eval[string](p, counts); got != "1,1" {
			t.Errorf("got %s open steps (all, current), want 1,1", got)
		}
		p.Click(".path details:not([open]) summary")
		p.Wait(`document.querySelectorAll(".path details[open]").length === 2`)
		if !look.NoScript {
			p.Axe()
		}
		p.Submit(".path [aria-current=step] .button")
		if got, want := p.Address(), h.URL+partner+"/accounts/new"; !strings.HasPrefix(got, want) {
			t.Errorf("the step's button opened %s, want %s", got, want)
		}
	}
}
