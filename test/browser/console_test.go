package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// TestInBrowser uses the console in Chromium. Tests whose names start with "every page" also check the
// accessibility and layout of each page, and they can save screenshots.
func TestInBrowser(t *testing.T) {
	chromium := browser.Start(t)
	for name, use := range map[string]func(*testing.T, *browser.Browser){
		"every page":                      everyPage,
		"every page of a partner":         everyPartnerPage,
		"every page with a step-up":       everyStepUpPage,
		"every page of a draft":           everyDraftPage,
		"every page of publishing prices": everyPublishingPage,
		"every page of a lead":            everyLeadPage,
		"every page of privacy requests":  everyRequestPage,
		"every page of notes":             everyNotePage,
		"every page of retention":         everyRetentionPage,
		"every page of disclosure texts":  everyDisclosurePage,
		"lead lookup":                     findLeadsInBrowser,
		"reveal":                          revealInBrowser,
		"every page of reconciliation":    everyReconciliationPage,
		"reconciliation without script":   reconcileWithoutScript,
		"every page of payouts":           everyPayoutPage,
		"payouts without script":          payoutsWithoutScript,
		"jobs are announced":              jobsAreAnnounced,
		"leave a page that reloads":       leaveReloadingPage,
		"click during a reload":           clickDuringReload,
		"grid":                            gridInBrowser,
		"column in the grid":              columnInBrowser,
		"grid without script":             gridWithoutScript,
		"double click on submit":          doubleClickOnSubmit,
		"keyboard only":                   keyboardOnly,
		"second factor":                   secondFactorInBrowser,
		"throttled login":                 throttledInBrowser,
		"ended session":                   endedSessionInBrowser,
		"staff without script":            withoutScript,
		"jump":                            jumpInBrowser,
		"filter rejects contacts":         filterRejectsContacts,
		"filter":                          filterInBrowser,
		"shortcut keys":                   shortcutKeys,
		"copy buttons":                    copyButtons,
		"dialogs and menus":               dialogsAndMenus,
		"error summary":                   errorSummaryHasFocus,
		"themes":                          themes,
		"filter keeps focus":              filterKeepsFocus,
		"navigation without script":       navigateWithoutScript,
		"live activity":                   liveActivity,
		"onboarding steps":                onboardingSteps,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			use(t, chromium)
		})
	}
}

// signIn signs a user in with the sign-in form.
func signIn(h *admintest.Console, p *browser.Page, email string) {
	p.Open(h.URL + "/login")
	p.Type(`input[name="email"]`, email)
	p.Type(`input[name="password"]`, admintest.Password)
	p.Submit(`form[action="/login"] button[type="submit"]`)
}

// overview is a script that returns true when the browser shows the overview to a signed-in user.
const overview = `location.pathname === "/" && document.querySelector("nav a[href='/'][aria-current=page]") !== null`

// has reports whether the page contains an element.
func has(p *browser.Page, selector string) bool {
	return browser.Eval[bool](p, fmt.Sprintf("document.querySelector(%q) !== null", selector))
}

// expectOnlyStatusErrors fails the test if the browser has reported any errors, apart from pages with an
// error status.
func expectOnlyStatusErrors(t *testing.T, p *browser.Page) {
	t.Helper()
	for _, c := range p.ConsoleErrors() {
		if !strings.Contains(c, "Failed to load resource") {
			t.Error(c)
		}
	}
}

// everyPage checks the pages that no other test checks. Each page must be accessible, fit the width
// of the window, and cause no errors in the browser. If SCREENSHOTS names a folder, screenshots are
// saved there.
func everyPage(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	h.AddPartner(t, "harbour-leads")
	h.AddMonthOfTraffic(t)
	if _, err := h.StaffService.By(audit.Operator).Invite(t.Context(), staff.NewMember{
		Email: "fay@example.com", Name: "Fay Invited", Roles: []models.StaffRole{{Role: models.Finance}},
	}); err != nil {
		t.Fatal(err)
	}
	auditor := chromium.Page(t, browser.Emulation{})
	signIn(h, auditor, "auditor@example.com")
	user := "/staff/" + h.StaffID(models.Finance)
	p := chromium.Page(t, browser.Emulation{})
	p.Open(h.URL + "/login")
	check(p, "login")
	signIn(h, p, "administrator@example.com")
	pages := []address{
		{"overview", "/"},
		{"overview-month", "/?range=30d"},
		{"audit", "/audit"},
		{"audit-no-match", "/audit?object=pt_nothing"},
		{"staff", "/staff"},
		{"staff-no-match", "/staff?q=nobody"},
		{"staff-invite", "/staff/invite"},
		{"person", user},
		{"person-sessions", user + "?tab=sessions"},
		{"person-audit", user + "?tab=audit"},
		{"person-sessions-end", "/staff/" + h.StaffID(models.Auditor) + "/sessions/end"},
		{"person-access", user + "/access"},
		{"person-deactivate", user + "/deactivate"},
		{"person-self", "/staff/" + h.StaffID(models.Administrator)},
		{"account", "/account"},
		{"second-factor", "/account/second-factor"},
		{"keys", "/keys"},
		{"jump", "/jump"},
		{"jump-nothing", "/jump?q=ld_nothing"},
		{"not-found", "/no-such-page"},
		{"design", "/design"},
	}
	for _, page := range pages {
		p.Open(h.URL + page.path)
		check(p, page.name)
	}
	p.Open(h.URL + "/design")
	p.At("design, colours in a light window")
	p.AxeColours()
	p.Open(h.URL + "/audit")
	p.Click(".more > summary")
	check(p, "audit-details")
	p.Submit(`form[action="/audit/verify"] button`)
	check(p, "audit-verified")
	p.Open(h.URL + "/staff/invite")
	p.Type(`input[name="name"]`, "Gil Invited")
	p.Type(`input[name="email"]`, "gil@example.com")
	p.Click(`input[name="role"][value="auditor"]`)
	p.Submit(`form[action="/staff/invite"] button[type="submit"]`)
	check(p, "staff-invited")
	_, token, _ := strings.Cut(p.Text(".once code"), "/invite/")
	invited := chromium.Page(t, browser.Emulation{})
	invited.Open(h.URL + "/invite/" + token)
	check(invited, "invite-accept")
	expectOnlyStatusErrors(t, invited)
	auditor.Open(h.URL + "/staff/invite")
	check(auditor, "forbidden")
	expectOnlyStatusErrors(t, auditor)
	checkLongNames(t, h, p, pages)
	expectOnlyStatusErrors(t, p)
}

// everyPartnerPage checks the pages of a partner that sells leads. The user is the partner's account
// manager.
func everyPartnerPage(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := h.AddSellingPartner(t)
	h.Reload(t)
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "account_manager@example.com")
	secret := partner + "/secrets/" + id.Format(id.Secret,
		testkit.Value[uuid.UUID](t, h.Database, `SELECT id FROM signing_secrets WHERE label = 'live 2026'`))
	request := partner + "/requests/" + id.Format(id.Request,
		testkit.Value[uuid.UUID](t, h.Database, `SELECT request_id FROM api_requests WHERE outcome = 'signature' LIMIT 1`))
	account := partner + "/accounts/" + id.Format(id.Account,
		testkit.Value[uuid.UUID](t, h.Database, `SELECT id FROM accounts WHERE identifier = 'HARBOUR-100'`))
	pages := []address{
		{"partners", "/partners"},
		{"partners-no-match", "/partners?q=zebra"},
		{"partner-new", "/partners/new"},
		{"partner-accounts", partner},
		{"partner-details", partner + "?tab=details"},
		{"partner-signing", partner + "?tab=signing"},
		{"partner-secrets", partner + "?tab=secrets"},
		{"partner-traffic", partner + "?tab=traffic"},
		{"partner-traffic-days", partner + "?tab=traffic&from=2025-12-20"},
		{"partner-requests", partner + "?tab=requests"},
		{"partner-requests-each", partner + "?tab=requests&view=each"},
		{"partner-request", request},
		{"partner-documentation", partner + "?tab=documentation"},
		{"partner-audit", partner + "?tab=audit"},
		{"partner-onboarding", partner + "/onboarding"},
		{"account-new", partner + "/accounts/new"},
		{"account-change", account},
		{"secret-new", partner + "/secrets/new"},
		{"secret-rotate", partner + "/secrets/rotate"},
		{"secret-expire", secret + "/expire"},
		{"secret-revoke", secret + "/revoke"},
		{"partner-suspend", partner + "/suspend"},
		{"post-check", partner + "/check"},
		{"all-requests", "/partners/requests"},
	}
	for _, page := range pages {
		p.Open(h.URL + page.path)
		check(p, page.name)
	}
	slug := func() string { return browser.Eval[string](p, `document.querySelector("[name=slug]").value`) }
	p.Open(h.URL + "/partners/new")
	p.Type(`input[name="name"]`, "Cöpper Sons!")
	if got := slug(); got != "copper-sons" {
		t.Errorf("the proposed slug is %q", got)
	}
	p.Type(`input[name="slug"]`, "-2")
	p.Type(`input[name="name"]`, " Ltd")
	if got := slug(); got != "copper-sons-2" {
		t.Errorf("the changed slug is %q", got)
	}
	p.Open(h.URL + partner + "/check")
	p.Type(`textarea[name="request"]`, fmt.Sprintf("X-Timestamp: %d\nX-Signature: %s\n\n{\"transactionId\": \"tx_1\"}",
		h.Time.Now().UnixMilli(), strings.Repeat("ab", 32)))
	p.Submit(`form[action$="/check"] button[type="submit"]`)
	check(p, "post-checked")
	p.Open(h.URL + partner + "?tab=requests")
	p.Click(`#list details summary`)
	check(p, "partner-requests-reply")
	p.Open(h.URL + partner + "/secrets/new")
	p.Type(`input[name="label"]`, "from the form")
	p.Submit(`form[action$="/secrets/new"] button[type="submit"]`)
	check(p, "secret-created")
	expectOnlyStatusErrors(t, p)
	reader := chromium.Page(t, browser.Emulation{})
	signIn(h, reader, "auditor@example.com")
	reader.Open(h.URL + partner + "?tab=details")
	check(reader, "partner-details-read")
	expectOnlyStatusErrors(t, reader)
	pricing := chromium.Page(t, browser.Emulation{})
	signIn(h, pricing, "pricing_manager@example.com")
	pricing.Open(h.URL + partner + "?tab=prices")
	pricing.Type(`input[name="adjustment"]`, "+5.25")
	pricing.Type(`input[name="cap"]`, "400")
	pricing.Type("#exclusion-industry", "roofer")
	pricing.Type("#exclusion-country", "Germany")
	pricing.Click("[data-adds]")
	pricing.Click("[data-adds]") // nothing is chosen
	pricing.Wait(`document.querySelector("[data-nothing] [role=status]").textContent.startsWith("Choose ")`)
	pricing.Type("#exclusion-industry", "roofer")
	pricing.Type("#exclusion-country", "Germany")
	pricing.Click("[data-adds]") // the exclusion is already in the list
	pricing.Type(`textarea[name="exclusions"]`, "\ncategory: legal-services")
	pricing.Wait(`document.querySelector("textarea[name=exclusions]").value === "industry: roofer, country: DE\ncategory: legal-services"`)
	pricing.Type("#exclusion-country", "France") // saving adds it
	pricing.Submit(`form[action$="/prices"] button[type="submit"]`)
	pricing.Wait(`document.querySelector("textarea[name=exclusions]").value.endsWith("\ncategory: legal-services\ncountry: FR")`)
	check(pricing, "partner-prices")
	pricing.Type(`input[name="cap"]`, " leads")
	pricing.Type(`textarea[name="exclusions"]`, "\nroofers")
	pricing.Submit(`form[action$="/prices"] button[type="submit"]`)
	check(pricing, "partner-prices-refused")
	pricing.ConsoleErrors() // the browser reports the expected 422
	reader.Open(h.URL + partner + "?tab=prices")
	check(reader, "partner-prices-read")
	expectOnlyStatusErrors(t, reader)
	checkLongNames(t, h, p, pages)
	expectOnlyStatusErrors(t, p)
}

// everyStepUpPage checks pages that require a new step-up, the confirmation of a signing mode, and a form that is
// restored after the session has expired.
func everyStepUpPage(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := h.AddSellingPartner(t)
	deactivated := "/staff/" + h.StaffID(models.Finance)
	if err := h.StaffService.By(audit.Operator).Deactivate(t.Context(), h.People[models.Finance].ID, 1); err != nil {
		t.Fatal(err)
	}
	fay, err := h.StaffService.By(audit.Operator).Invite(t.Context(), staff.NewMember{
		Email: "fay@example.com",
		Name:  "Fay Invited",
		Roles: []models.StaffRole{{Role: models.Finance}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "administrator@example.com")
	manager := chromium.Page(t, browser.Emulation{})
	signIn(h, manager, "account_manager@example.com")
	h.Time.Advance(11 * time.Minute)
	for page, all := range map[*browser.Page][]address{
		p: {
			{"person-invite-again", "/staff/" + id.Format(id.Staff, fay.ID) + "/invite"},
			{"person-reactivate", deactivated + "/reactivate"},
		},
		manager: {{"partner-new-proof", "/partners/new"}, {"partner-details-proof", partner + "?tab=details"}},
	} {
		for _, view := range all {
			page.Open(h.URL + view.path)
			check(page, view.name)
		}
		checkLongNames(t, h, page, all)
		expectOnlyStatusErrors(t, page)
	}
	manager.Open(h.URL + partner + "?tab=signing")
	manager.Click(`input[name="signing"][value="required"]`)
	manager.Type(`input[name="proof"]`, admintest.Password)
	manager.Submit(`form[action$="/signing"] button[type="submit"]`)
	check(manager, "partner-signing-confirm")
	manager.Open(h.URL + "/partners/new")
	manager.Type(`input[name="slug"]`, "restored-partner")
	manager.Type(`input[name="name"]`, "Restored Partner")
	h.Time.Advance(31 * time.Minute)
	manager.Submit(`form[action="/partners/new"] button[type="submit"]`)
	manager.Type(`input[name="email"]`, "account_manager@example.com")
	manager.Type(`input[name="password"]`, admintest.Password)
	manager.Submit(`form[action^="/login"] button[type="submit"]`)
	check(manager, "partner-new-restored")
	expectOnlyStatusErrors(t, manager)
}

// doubleClickOnSubmit clicks a form's button twice before the response arrives. The form must be
// submitted only once.
func doubleClickOnSubmit(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := web.PartnerURL(h.AddPartner(t, "harbour-leads"))
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "account_manager@example.com")
	for created := range 2 { // the form must work again on a new page
		p.Open(h.URL + partner + "/secrets/new")
		browser.Eval[bool](p,
			`(() => { const button = document.querySelector("form[action$='/secrets/new'] button"); button.click(); button.click(); return true })()`)
		p.Wait(`document.querySelector(".once-secret")`)
		if n := h.Count(t, "signing_secrets", "true"); n != created+1 {
			t.Errorf("got %d secrets, want %d", n, created+1)
		}
	}
}

// check checks that a page has one heading, which its title contains. It checks the page against all accessibility
// rules in a narrow, dark window, and against all but the colour rules in a wide, light window. The colours of each
// component in a light window are checked on the page /design. check can take screenshots of light, dark and narrow
// windows.
func check(p *browser.Page, name string) {
	folder := os.Getenv("SCREENSHOTS")
	p.At(name)
	p.CheckTitle()
	for _, emulation := range []struct {
		name string
		look browser.Emulation
		axe  func(*browser.Page) // nil if only a screenshot is taken
	}{
		{"light", browser.Emulation{}, (*browser.Page).AxeExceptColours},
		{"dark", browser.Emulation{Dark: true}, nil},
		{"narrow-dark", browser.Emulation{Width: 320, Height: 700, Dark: true}, (*browser.Page).Axe},
		{"narrow", browser.Emulation{Width: 320, Height: 700}, nil},
	} {
		p.At(name + ", " + emulation.name)
		if emulation.axe != nil || folder != "" {
			p.Emulate(emulation.look)
		}
		if emulation.axe != nil {
			emulation.axe(p)
			p.CheckNoOverflow()
			p.CheckBaselines()
			p.CheckTableBaselines()
		}
		if folder != "" && emulation.name != "narrow-dark" {
			p.Screenshot(filepath.Join(folder, name+"-"+emulation.name+".png"))
		}
	}
	p.Emulate(browser.Emulation{})
}

// keyboardOnly signs in and opens pages using only the keyboard. The focus must always be visible.
func keyboardOnly(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	p := chromium.Page(t, browser.Emulation{})
	p.Open(h.URL + "/login")
	p.Wait(`document.activeElement.name === "email"`)
	p.Press("auditor@example.com")
	p.Press(kb.Tab)
	p.Press(admintest.Password)
	p.Press(kb.Enter)
	p.Wait(overview)
	p.Press(kb.Tab) // the skip link comes first
	p.Wait(`document.activeElement.getAttribute("href") === "#main"`)
	p.Press(kb.Enter)
	p.Wait(`document.activeElement.id === "main" || location.hash === "#main"`)
	reached := map[string]bool{}
	p.Open(h.URL + "/staff")
	for range 40 {
		p.Press(kb.Tab)
		at := browser.Eval[string](p,
			`(() => { const e = document.activeElement, s = getComputedStyle(e); return [e.getAttribute("href") || e.name || (e === document.body ? "" : e.textContent.trim()), s.outlineStyle !== "none" || s.boxShadow !== "none"].join("|") })()`)
		what, seen, _ := strings.Cut(at, "|")
		reached[what] = true
		if seen != "true" && what != "" && what != "#main" {
			t.Errorf("the focus is not visible on %q", what)
		}
	}
	for _, want := range []string{"/", "/audit", "/staff", "q", "role", "/staff/" + h.StaffID(models.Finance)} {
		if !reached[want] {
			t.Errorf("the keyboard does not reach %s", want)
		}
	}
	p.Open(h.URL + "/staff")
	p.Press("?")
	p.Wait(`document.querySelector("#keys-dialog").open`)
	p.Press(kb.Escape)
	p.Wait(`!document.querySelector("#keys-dialog").open`)
}

func secondFactorInBrowser(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{SecondFactor: []models.Role{models.Finance}})
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "finance@example.com")
	p.Wait(`location.pathname === "/login/second-factor" && document.querySelector("img.qr").naturalWidth > 100`)
	p.Axe()
	secret := strings.ReplaceAll(p.Text(".once code"), " ", "")
	p.Type(`input[name="code"]`, h.CodeOf(t, secret))
	p.Submit(`form[action^="/login/second-factor"] button[type="submit"]`)
	p.Wait(`document.querySelectorAll(".codes code").length === 10`)
	p.Axe()
	p.Submit(`form[action="/account/recovery-codes/kept"] button`)
	p.Wait(overview)

	h.Time.Advance(time.Minute)
	again := chromium.Page(t, browser.Emulation{Dark: true})
	signIn(h, again, "finance@example.com")
	again.Wait(`location.pathname === "/login/code" && document.activeElement.name === "code"`)
	again.Axe()
	again.Type(`input[name="code"]`, h.WrongCodeOf(t, secret))
	again.Submit(`form[action="/login/code"] button[type="submit"]`)
	again.Wait(`document.activeElement.id === "error-summary"`)
	expectOnlyStatusErrors(t, again)
	again.Type(`input[name="code"]`, h.CodeOf(t, secret))
	again.Submit(`form[action="/login/code"] button[type="submit"]`)
	again.Wait(overview)
}

func throttledInBrowser(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	p := chromium.Page(t, browser.Emulation{})
	p.Open(h.URL + "/login")
	p.Type(`input[name="email"]`, "auditor@example.com")
	for range 7 {
		p.Type(`input[name="password"]`, "wrong")
		p.Submit(`form[action="/login"] button[type="submit"]`)
	}
	if text := p.Text("main"); !strings.Contains(text, "30 ") {
		t.Error(text)
	}
	p.Axe()
	h.Time.Advance(30 * time.Second)
	p.Type(`input[name="password"]`, admintest.Password)
	p.Submit(`form[action="/login"] button[type="submit"]`)
	p.Wait(overview)
	expectOnlyStatusErrors(t, p)
}

// endedSessionInBrowser ends another user's session.
func endedSessionInBrowser(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	ada, bob := chromium.Page(t, browser.Emulation{}), chromium.Page(t, browser.Emulation{})
	signIn(h, bob, "auditor@example.com")
	bob.Wait(overview)
	signIn(h, ada, "administrator@example.com")
	ada.Open(h.URL + "/staff/" + h.StaffID(models.Auditor) + "?tab=sessions")
	ada.Axe()
	ada.Submit(`form[action$="/end"] button`)
	ada.Wait(`document.querySelector("main [data-empty=none]") && !document.querySelector("main form[action$='/end']")`)
	bob.Submit(`.side a[href="/audit"]`)
	bob.Wait(`location.pathname === "/login" && location.search === "?next=%2Faudit"`)
}

// withoutScript signs in, filters a list, invites and deactivates users, and signs out. Scripts are
// turned off.
func withoutScript(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	p := chromium.Page(t, browser.Emulation{NoScript: true, Width: 320, Height: 700})
	signIn(h, p, "administrator@example.com")
	at := func(path string) {
		t.Helper()
		if got := p.Address(); got != h.URL+path {
			t.Fatalf("at %s, want %s", got, path)
		}
	}
	at("/")
	p.Open(h.URL + "/staff")
	p.Type(`.filters input[name="q"]`, "finance")
	p.Submit(`form.filters button[type="submit"]`)
	at("/staff?q=finance&role=&status=")
	if text := p.Text("#list"); !strings.Contains(text, "finance@example.com") ||
		strings.Contains(text, "auditor@example.com") {
		t.Error(text)
	}
	p.Open(h.URL + "/staff/invite")
	p.Type(`input[name="name"]`, "New Person")
	p.Type(`input[name="email"]`, "new@example.com")
	p.Click(`input[name="role"][value="auditor"]`)
	p.Submit(`form[action="/staff/invite"] button[type="submit"]`)
	if text := p.Text("main"); !strings.Contains(text, "/invite/") {
		t.Error(text)
	}
	p.CheckNoOverflow()
	p.Open(h.URL + "/staff/" + h.StaffID(models.Finance))
	p.Submit(`a[href$="/deactivate"]`)
	p.Type(`main form[action$="/deactivate"] input[name="name"]`, "finance@example.com")
	p.Submit(`main form[action$="/deactivate"] button[type="submit"]`)
	if !has(p, "main [data-state=deactivated]") {
		t.Error(p.Text("main"))
	}
	p.Click(`details.menu summary`)
	p.Submit(`form[action="/logout"] button`)
	at("/login")
}

// jumpInBrowser uses the keyboard to open the page that an id belongs to, and the page of a partner whose name contains
// a text. The partner is suggested while the user types, and the text appears in no URL.
func jumpInBrowser(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "administrator@example.com")
	p.Wait(overview)
	p.Press("k", chromedp.ModifierCtrl)
	p.Wait(`document.querySelector("#jump-dialog").open`)
	p.Press(h.StaffID(models.Finance))
	p.Press(kb.Enter)
	p.Wait(fmt.Sprintf(`location.pathname === "/staff/%s"`, h.StaffID(models.Finance)))
	partner := h.AddPartner(t, "plomber-quay")
	p.Open(h.URL + "/keys")
	p.Press("k", chromedp.ModifierCtrl)
	p.Wait(`document.querySelector("#jump-dialog").open`)
	p.Press("quay")
	p.Wait(`document.querySelector("#jump-to-options option")?.value === "plomber-quay"`)
	p.Press(kb.Enter)
	p.Wait(fmt.Sprintf(`location.pathname + location.search === %q`, web.PartnerURL(partner)))
	p.Open(h.URL + "/audit")
	p.Press("/")
	p.Wait(`document.activeElement.name === "text"`)
}

// filterInBrowser types into a filter. The list and the page's address must change while the user is
// typing.
func filterInBrowser(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "administrator@example.com")
	p.Open(h.URL + "/staff")
	p.Type(`.filters input[name="q"]`, "finance")
	p.Wait(`location.search.includes("q=finance") && document.querySelectorAll("#list tbody tr").length === 1`)
	p.Open(p.Address())
	p.Wait(`document.querySelector(".filters input[name=q]").value === "finance" && document.querySelectorAll("#list tbody tr").length === 1`)
}

// filterRejectsContacts types an email address and a phone number into a filter. Neither may get into a URL.
func filterRejectsContacts(t *testing.T, chromium *browser.Browser) {
	h := admintest.NewConsole(t, admintest.Setup{})
	p := chromium.Page(t, browser.Emulation{})
	signIn(h, p, "finance@example.com")
	for _, contact := range []string{"jo@example.com", "+44 20 7946 0000", "020 7946 0000"} {
		p.Open(h.URL + "/payouts/balances")
		p.Type(`.filters input[name="partner"]`, contact)
		p.Press(kb.Enter)
		p.Wait(`document.querySelector(".filters input[name=partner]:invalid") !== null`)
		p.Click(`.filters button[type="submit"]`)
		p.Wait(`document.activeElement.name === "partner"`)
		if address := p.Address(); address != h.URL+"/payouts/balances" {
			t.Errorf("after %q: got the URL %s", contact, address)
		}
	}
	p.Open(h.URL + "/payouts/balances")
	h.AddPartner(t, "harbour-24-7")
	p.Type(`.filters input[name="partner"]`, "Harbour-24-7")
	p.Wait(`document.querySelector(".filters datalist option")?.value === "harbour-24-7"`)
	p.Press(kb.Enter)
	p.Wait(`new URLSearchParams(location.search).get("partner") === "Harbour-24-7"`)
	p.ConsoleErrors() // opening another page aborts a request for suggestions
}
