package admin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// looks are how each page is looked at; the components are in the others too, by
// the templates' own tests.
var looks = map[string]browser.Look{"wide and light": {}, "narrow and dark": {Width: 320, Height: 700, Dark: true}}

// TestInBrowser uses the console as people do.
func TestInBrowser(t *testing.T) {
	chromium := browser.Start(t)
	for name, use := range map[string]func(*testing.T, *browser.Browser){
		"every page": everyPage, "with the keyboard alone": keyboardOnly, "second factor": secondFactorInBrowser, "throttled": throttledInBrowser,
		"revoked": revokedInBrowser, "without script": withoutScript, "jump": jumpInBrowser, "filter": filterInBrowser,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			use(t, chromium)
		})
	}
}

// signIn logs a person in as they do.
func signIn(h *house, p *browser.Page, email string) {
	p.Open(h.url + "/login")
	p.Type(`input[name="email"]`, email)
	p.Type(`input[name="password"]`, password)
	p.Submit(`form[action="/login"] button[type="submit"]`)
}

// quiet forgets that the browser saw a page with a status of refusal, and fails for
// anything else that it said.
func quiet(t *testing.T, p *browser.Page) {
	t.Helper()
	for _, c := range p.Complaints() {
		if !strings.Contains(c, "Failed to load resource") {
			t.Error(c)
		}
	}
}

// everyPage looks at each page in each look: nothing keeps people from using it,
// nothing is wider than the window, and the browser has nothing to complain of.
func everyPage(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	h.partner(t, "harbour-leads")
	h.traffic(t)
	if _, err := h.staff.Invite(t.Context(), audit.Operator, staff.NewPerson{Email: "invited@example.com", Name: "Invited Person", Roles: []models.StaffRole{{Role: models.Finance}}}); err != nil {
		t.Fatal(err)
	}
	person := "/staff/" + h.staffID(models.Finance)
	paths := []string{
		"/", "/?range=30d", "/audit", "/audit?action=nothing", "/staff", "/staff?q=nobody", "/staff/invite", person, person + "?tab=sessions", person + "?tab=audit", person + "/access",
		person + "/deactivate", "/staff/" + h.staffID(models.Administrator), "/account", "/account/second-factor", "/keys", "/jump?q=nothing", "/no-such-page", "/design",
	}
	p := chromium.Page(t, browser.Look{})
	p.Open(h.url + "/login")
	see := func(path string) {
		for name, look := range looks {
			p.At(path + " " + name)
			p.See(look)
			p.Axe()
			p.Fits()
			if folder := os.Getenv("SCREENSHOTS"); folder != "" {
				p.Screenshot(filepath.Join(folder, strings.NewReplacer("/", "_", "?", "_", "=", "_").Replace("console"+path)+"-"+name+".png"))
			}
		}
	}
	see("/login")
	signIn(h, p, "administrator@example.com")
	for _, path := range paths {
		p.Open(h.url + path)
		see(path)
	}
	quiet(t, p)
}

// traffic is an hour's, so that the overview has something to show.
func (h *house) traffic(t *testing.T) {
	t.Helper()
	for i := range 60 {
		at := h.time.Now().Add(-time.Duration(i) * time.Minute).Truncate(time.Minute)
		for outcome, n := range map[string]int{"ping/priced": 900 + 7*i, "ping/capped": 30, "ping/payload": i, "post/delivered": 200 + i, "post/signature": i / 3} {
			endpoint, result, _ := strings.Cut(outcome, "/")
			h.Exec(t, `INSERT INTO traffic_minutes VALUES ($1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), $2, $3, $4, '{}')`, at, endpoint, result, n)
		}
	}
}

func keyboardOnly(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	p := chromium.Page(t, browser.Look{})
	p.Open(h.url + "/login")
	p.Wait(`document.activeElement.name === "email"`)
	p.Press("auditor@example.com")
	p.Press(kb.Tab)
	p.Press(password)
	p.Press(kb.Enter)
	p.Wait(`location.pathname === "/" && document.querySelector("h1")?.textContent === "Overview"`)
	p.Press(kb.Tab) // the skip link comes first
	p.Wait(`document.activeElement.textContent.includes("Skip to the content")`)
	p.Press(kb.Enter)
	p.Wait(`document.activeElement.id === "main" || location.hash === "#main"`)
	reached := map[string]bool{}
	p.Open(h.url + "/staff")
	for range 40 {
		p.Press(kb.Tab)
		at := browser.Eval[string](p, `(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.getAttribute("href") || e.name || e.textContent.trim(), s.outlineStyle !== "none" || s.boxShadow !== "none"].join("|") })()`)
		what, seen, _ := strings.Cut(at, "|")
		reached[what] = true
		if seen != "true" && what != "" && !strings.Contains(at, "Skip") {
			t.Errorf("the focus cannot be seen on %q", what)
		}
	}
	for _, want := range []string{"/", "/audit", "/staff", "q", "role", "/staff/" + h.staffID(models.Finance)} {
		if !reached[want] {
			t.Errorf("the keyboard does not reach %s", want)
		}
	}
	p.Open(h.url + "/staff")
	p.Press("?")
	p.Wait(`document.querySelector("#keys-dialog").open`)
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector("#keys-dialog").open`)
}

func secondFactorInBrowser(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{secondFactor: []models.Role{models.Finance}})
	p := chromium.Page(t, browser.Look{})
	signIn(h, p, "finance@example.com")
	p.Wait(`location.pathname === "/login/second-factor" && document.querySelector("img.qr").naturalWidth > 100`)
	p.Axe()
	secret := strings.ReplaceAll(p.Text(".once code"), " ", "")
	p.Type(`input[name="code"]`, h.code(t, secret))
	p.Submit(`form[action^="/login/second-factor"] button[type="submit"]`)
	p.Wait(`document.querySelectorAll(".codes code").length === 10`)
	p.Axe()
	p.Submit(`form[action="/account/recovery-codes/kept"] button`)
	p.Wait(`document.querySelector("h1")?.textContent === "Overview"`)

	h.time.Advance(time.Minute)
	again := chromium.Page(t, browser.Look{Dark: true})
	signIn(h, again, "finance@example.com")
	again.Wait(`location.pathname === "/login/code" && document.activeElement.name === "code"`)
	again.Axe()
	again.Type(`input[name="code"]`, "000000")
	again.Submit(`form[action="/login/code"] button[type="submit"]`)
	again.Wait(`document.activeElement.id === "error-summary"`)
	quiet(t, again)
	again.Type(`input[name="code"]`, h.code(t, secret))
	again.Submit(`form[action="/login/code"] button[type="submit"]`)
	again.Wait(`document.querySelector("h1")?.textContent === "Overview"`)
}

func throttledInBrowser(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	p := chromium.Page(t, browser.Look{})
	p.Open(h.url + "/login")
	p.Type(`input[name="email"]`, "auditor@example.com")
	for range 7 {
		p.Type(`input[name="password"]`, "wrong")
		p.Submit(`form[action="/login"] button[type="submit"]`)
	}
	if text := p.Text("main"); !strings.Contains(text, "Too many attempts") || !strings.Contains(text, "30 seconds") {
		t.Error(text)
	}
	p.Axe()
	h.time.Advance(30 * time.Second)
	p.Type(`input[name="password"]`, password)
	p.Submit(`form[action="/login"] button[type="submit"]`)
	p.Wait(`document.querySelector("h1")?.textContent === "Overview"`)
	quiet(t, p)
}

func revokedInBrowser(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	ada, bob := chromium.Page(t, browser.Look{}), chromium.Page(t, browser.Look{})
	signIn(h, bob, "auditor@example.com")
	bob.Wait(`document.querySelector("h1")?.textContent === "Overview"`)
	signIn(h, ada, "administrator@example.com")
	ada.Open(h.url + "/staff/" + h.staffID(models.Auditor) + "?tab=sessions")
	ada.Axe()
	ada.Submit(`form[action$="/end"] button`)
	ada.Wait(`document.querySelector("main").textContent.includes("Signed in nowhere")`)
	bob.Submit(`.side a[href="/audit"]`)
	bob.Wait(`location.pathname === "/login" && location.search === "?next=%2Faudit"`)
}

// withoutScript signs in, filters, invites and leaves where no script runs.
func withoutScript(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	p := chromium.Page(t, browser.Look{NoScript: true, Width: 320, Height: 700})
	signIn(h, p, "administrator@example.com")
	at := func(path string) {
		t.Helper()
		if got := p.Address(); got != h.url+path {
			t.Fatalf("at %s, want %s", got, path)
		}
	}
	at("/")
	p.Open(h.url + "/staff")
	p.Type(`.filters input[name="q"]`, "finance")
	p.Submit(`form.filters button[type="submit"]`)
	at("/staff?q=finance&role=&status=")
	if text := p.Text("#list"); !strings.Contains(text, "finance@example.com") || strings.Contains(text, "auditor@example.com") {
		t.Error(text)
	}
	p.Open(h.url + "/staff/invite")
	p.Type(`input[name="name"]`, "New Person")
	p.Type(`input[name="email"]`, "new@example.com")
	p.Click(`input[name="role"][value="auditor"]`)
	p.Submit(`form[action="/staff/invite"] button[type="submit"]`)
	if text := p.Text("main"); !strings.Contains(text, "/invite/") {
		t.Error(text)
	}
	p.Fits()
	p.Open(h.url + "/staff/" + h.staffID(models.Finance))
	p.Submit(`a[href$="/deactivate"]`)
	p.Type(`main form[action$="/deactivate"] input[name="name"]`, "finance@example.com")
	p.Submit(`main form[action$="/deactivate"] button[type="submit"]`)
	if text := p.Text("main"); !strings.Contains(text, "deactivated") {
		t.Error(text)
	}
	p.Click(`details.menu summary`)
	p.Submit(`form[action="/logout"] button`)
	at("/login")
}

// jumpInBrowser takes an id from the keyboard to its page.
func jumpInBrowser(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	p := chromium.Page(t, browser.Look{})
	signIn(h, p, "administrator@example.com")
	p.Wait(`document.querySelector("h1")?.textContent === "Overview"`)
	p.Press("k", chromedp.ModifierCtrl)
	p.Wait(`document.querySelector("#jump-dialog").open`)
	p.Press(h.staffID(models.Finance))
	p.Press(kb.Enter)
	p.Wait(fmt.Sprintf(`location.pathname === "/staff/%s"`, h.staffID(models.Finance)))
	p.Open(h.url + "/audit")
	p.Press("/")
	p.Wait(`document.activeElement.name === "person"`)
}

// filterInBrowser narrows a list while one types, and the address follows.
func filterInBrowser(t *testing.T, chromium *browser.Browser) {
	h := newHouse(t, kind{})
	p := chromium.Page(t, browser.Look{})
	signIn(h, p, "administrator@example.com")
	p.Open(h.url + "/staff")
	p.Type(`.filters input[name="q"]`, "finance")
	p.Wait(`location.search.includes("q=finance") && document.querySelectorAll("#list tbody tr").length === 1`)
	p.Open(p.Address())
	p.Wait(`document.querySelector(".filters input[name=q]").value === "finance" && document.querySelectorAll("#list tbody tr").length === 1`)
}
