package admin

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// restorable is a form of a route that can be restored: who fills it in, and where.
type restorable struct {
	role       models.Role
	page, path string
}

// formFields are the values that a page's form would send, by the kinds of its controls.
func formFields(t testing.TB, p page, action string) (values url.Values, fixed []string) {
	t.Helper()
	document, err := html.Parse(strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	values = url.Values{}
	found := false
	for form := range document.Descendants() {
		if form.DataAtom != atom.Form || web.Attribute(form, "method") != "post" || web.Attribute(form, "action") != action {
			continue
		}
		found = true
		for n := range form.Descendants() {
			name, value := web.Attribute(n, "name"), web.Attribute(n, "value")
			kind := web.Attribute(n, "type")
			switch {
			case name == "":
			case n.DataAtom == atom.Textarea:
				if n.FirstChild != nil {
					value = n.FirstChild.Data
				}
				values.Add(name, value)
			case n.DataAtom == atom.Select:
				for option := range n.Descendants() {
					if has(option, "selected") || !values.Has(name) && option.DataAtom == atom.Option {
						values[name] = []string{web.Attribute(option, "value")}
					}
				}
			case n.DataAtom != atom.Input:
			case kind == "checkbox" || kind == "radio":
				if has(n, "checked") {
					values.Add(name, value)
				}
			case kind == "hidden":
				fixed = append(fixed, name)
				values.Add(name, value)
			case kind != "password":
				values.Add(name, value)
			}
		}
	}
	if !found {
		t.Fatalf("no form to %s: %d %s", action, p.status, p.text())
	}
	return values, fixed
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// typedInto fills in the form of a page: other texts, another option of each select and group.
func typedInto(t testing.TB, p page, action string) url.Values {
	t.Helper()
	values, fixed := formFields(t, p, action)
	document, err := html.Parse(strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	fixed = append(fixed, "partner", "account", "currency", "lead", "from")
	for form := range document.Descendants() {
		if form.DataAtom != atom.Form || web.Attribute(form, "method") != "post" || web.Attribute(form, "action") != action {
			continue
		}
		at := map[string]int{}
		for n := range form.Descendants() {
			name := web.Attribute(n, "name")
			if name == "" || slices.Contains(fixed, name) {
				continue
			}
			switch kind := web.Attribute(n, "type"); {
			case n.DataAtom == atom.Select:
				for option := range n.Descendants() {
					if option.DataAtom == atom.Option {
						values[name] = []string{web.Attribute(option, "value")} // the last one
					}
				}
			case n.DataAtom == atom.Input && (kind == "radio" || kind == "checkbox"):
				values[name] = []string{web.Attribute(n, "value")} // the last one alone
			case n.DataAtom == atom.Textarea || n.DataAtom == atom.Input && kind != "password" && kind != "file":
				values[name][at[name]] = `kept & "<b>` + name
				at[name]++
			}
		}
	}
	return values
}

// restores sends a form after its session has expired, logs in, and looks at the form.
func (h *house) restores(t *testing.T, route string, f restorable) {
	t.Helper()
	email := string(f.role) + "@example.com"
	b := h.as(t, f.role)
	sent := typedInto(t, b.get(t, f.page), f.path)
	form := maps.Clone(sent)
	form.Set("proof", password)
	h.time.Advance(31 * time.Minute)
	done := func() int { return h.count(t, "audit_events", "action <> 'login'") }
	before := done()
	p := b.post(t, f.path, form)
	login, err := url.Parse(p.location())
	if err != nil || p.status != http.StatusSeeOther || login.Path != "/login" || login.Query().Get("next") == "" {
		t.Errorf("%s: leads to %d %q", route, p.status, p.location())
		return
	}
	next := login.Query().Get("next")
	if p := b.get(t, p.location()); !strings.Contains(p.body, "Your session has expired") {
		t.Errorf("%s: the login page: %s", route, p.text())
	}
	if p := b.post(t, "/login", url.Values{"email": {email}, "password": {password}, "next": {next}}); p.location() != next {
		t.Fatalf("%s: after logging in: %d to %q, want %q", route, p.status, p.location(), next)
	}
	p = b.get(t, next)
	back, fixed := formFields(t, p, f.path)
	for _, name := range fixed {
		if !slices.Contains(web.KeptHidden, name) {
			back.Del(name)
			sent.Del(name)
		}
	}
	for name, values := range sent {
		if !slices.Equal(values, back[name]) {
			t.Errorf("%s: %s is %q, was sent as %q", route, name, back[name], values)
		}
	}
	if strings.Contains(p.body, password) || !strings.Contains(p.body, "Your entries are back in the form") {
		t.Errorf("%s: %s", route, p.text())
	}
	if again := b.get(t, next); strings.Contains(again.body, "kept &amp;") || strings.Contains(again.body, "Your entries are back in the form") {
		t.Errorf("%s: restored twice", route)
	}
	if n := done(); n != before {
		t.Errorf("%s: %d events", route, n-before)
	}
}

// A form whose session had expired is shown again, filled in, after the same person has
// logged in; nothing of it was done.
func TestFormsAreRestored(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	partner := web.PartnerURL(c.harbour.ID)
	card, err := c.prices().Begin(t.Context(), "Spring", 0)
	if err != nil {
		t.Fatal(err)
	}
	draft := web.DraftURL(card.ID)
	if p := c.as(t, models.AccountManager).post(t, partner+"/secrets/new", url.Values{"label": {"first"}}); p.status != http.StatusOK {
		t.Fatalf("%d %s", p.status, p.text())
	}
	secret := partner + "/secrets/" + id.Format(id.Secret, testkit.Value[uuid.UUID](t, c.Database, `SELECT id FROM signing_secrets`)) + "/retire"
	account := partner + "/accounts/" + id.Format(id.Account, c.harbour.account.ID)
	lead := leadID(c.leads[0])
	ret := c.post(t, "/payouts/returns/new", url.Values{"lead": {leadID(c.leads[1])}, "reason": {"duplicate"}, "evidence": {"Sold before"}}).location()
	approved := c.prepared(t, "0")
	if p := c.other(t, "fay@example.com").post(t, approved+"/approve", url.Values{"version": {"2"}}); p.location() != approved {
		t.Fatalf("%d %s", p.status, p.text())
	}
	person := "/staff/" + c.staffID(models.Auditor)
	upload := "/reconciliation/new"
	forms := map[string]restorable{
		"/staff/invite":                            {models.Administrator, "/staff/invite", "/staff/invite"},
		"/staff/{id}/roles":                        {models.Administrator, person, person + "/roles"},
		"/partners/new":                            {models.AccountManager, "/partners/new", "/partners/new"},
		"/partners/{id}/details":                   {models.AccountManager, partner + "?tab=details", partner + "/details"},
		"/partners/{id}/suspend":                   {models.AccountManager, partner + "/suspend", partner + "/suspend"},
		"/partners/{id}/signing":                   {models.AccountManager, partner + "?tab=signing", partner + "/signing"},
		"/partners/{id}/accounts/new":              {models.AccountManager, partner + "/accounts/new", partner + "/accounts/new"},
		"/partners/{id}/accounts/{account}":        {models.AccountManager, account, account},
		"/partners/{id}/prices":                    {models.PricingManager, partner + "?tab=prices", partner + "/prices"},
		"/partners/{id}/secrets/new":               {models.AccountManager, partner + "/secrets/new", partner + "/secrets/new"},
		"/partners/{id}/secrets/rotate":            {models.AccountManager, partner + "/secrets/rotate", partner + "/secrets/rotate"},
		"/partners/{id}/secrets/{secret}/retire":   {models.AccountManager, secret, secret},
		"/pricing/drafts/new":                      {models.PricingManager, "/pricing/drafts/new", "/pricing/drafts/new"},
		"/pricing/drafts/{id}/title":               {models.PricingManager, draft + "/title", draft + "/title"},
		"/pricing/drafts/{id}/rules/new":           {models.PricingManager, draft + "/rules/new", draft + "/rules/new"},
		"/pricing/drafts/{id}/rules/{position}":    {models.PricingManager, draft + "/rules/1", draft + "/rules/1"},
		"/pricing/drafts/{id}/publish":             {models.PricingManager, draft + "?tab=publish", draft + "/publish"},
		"/payouts/adjust":                          {models.Finance, "/payouts/adjust?partner=harbour-leads", "/payouts/adjust"},
		"/payouts/returns/new":                     {models.Finance, "/payouts/returns/new?lead=" + lead, "/payouts/returns/new"},
		"/payouts/returns/{id}/accept":             {models.Finance, ret, ret + "/accept"},
		"/payouts/returns/{id}/refuse":             {models.Finance, ret, ret + "/accept"},
		"/payouts/runs/new":                        {models.Finance, "/payouts/runs/new", "/payouts/runs/new"},
		"/payouts/runs/{id}/pay":                   {models.Finance, approved + "/pay", approved + "/pay"},
		"/payouts/runs/{id}/cancel":                {models.Finance, approved + "/cancel", approved + "/cancel"},
		"/reconciliation/new":                      {}, // has a file: [TestFormWithAFileIsNotKept]
		"/reconciliation/{id}/compare":             {}, // [TestReconciliationFormsAreRestored]
		"/reconciliation/{id}/lines/{line}/settle": {},
	}
	for _, r := range routes(c.options) {
		f, known := forms[r.Path]
		switch {
		case r.Method != http.MethodPost:
		case known != (r.Form != ""):
			t.Errorf("%s: shown again at %q, is tested: %t", r.Path, r.Form, known)
		case f.path != "":
			c.restores(t, r.Path, f)
		}
	}
	if p := c.as(t, models.Finance).get(t, upload); strings.Contains(p.body, "signed out") {
		t.Errorf("%s", p.text())
	}
	c.intact(t)
}

// The mapping of a list, and the note on a line of it, are restored too.
func TestReconciliationFormsAreRestored(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	lead, earned := b.deliver(t, b.harbour())
	row := lead + "," + earned.Decimal()
	at := b.given(t, "harbour-leads", "leadId,amount,currency", row+",GBP", id.Format(id.Lead, uuid.New())+",1.00,GBP")
	b.restores(t, "/reconciliation/{id}/compare", restorable{models.Finance, at, at + "/compare"})
	b.visitor = b.as(t, models.Finance)
	b.compared(t, at, b.inColumns(t, at))
	if p := b.post(t, at+"/keep", url.Values{"version": {b.version(t, at)}}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	b.comes(t, at, models.ReconciliationKept)
	line := at + "/lines/" + testkit.Value[string](t, b.Database, `SELECT line::text FROM reconciliation_lines WHERE finding = 'unknown'`) + "/settle"
	b.restores(t, "/reconciliation/{id}/lines/{line}/settle", restorable{models.Finance, line, line})
}

// Of a form with a file nothing is kept; the page says so.
func TestFormWithAFileIsNotKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	h.partner(t, "harbour-leads")
	b := h.as(t, models.Finance)
	h.time.Advance(31 * time.Minute)
	p := b.give(t, "harbour-leads", "a.csv", "leadId,amount\nld_01JD3Z0000000000000000000A,12.50\n")
	if p.location() != "/login?next="+web.Escape("/reconciliation/new?restore=file") {
		t.Fatalf("%d to %q", p.status, p.location())
	}
	b.signIn(t, "finance@example.com")
	b.get(t, "/reconciliation/new?restore=file").says(t, http.StatusOK, "Choose the file again")
	if n := h.count(t, "kept_forms", "true") + h.count(t, "reconciliations", "true"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// A form is kept for half an hour, for the user whose session expired and no one else. No
// other forms are kept, and none for sessions that ended in another way.
func TestWhoseFormIsKept(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	form := url.Values{"slug": {"kept-one"}, "name": {"Kept One"}, "signing": {"default"}, "proof": {password}, "password": {password}, "import": {password}}
	const page = "/partners/new?restore=form"
	kept := func() int { return h.count(t, "kept_forms", "true") }
	expired := func() *visitor {
		t.Helper()
		b := h.as(t, models.AccountManager)
		h.time.Advance(31 * time.Minute)
		return b
	}
	b := expired()
	if p := b.post(t, "/partners/new", form); p.location() != "/login?next="+web.Escape(page) || kept() != 1 {
		t.Fatalf("%d to %q, %d kept", p.status, p.location(), kept())
	}
	for _, name := range []string{"proof", "password", "import"} {
		if f, err := h.staff.TakeForm(t.Context(), h.people[models.AccountManager].ID); f != nil && f.Values.Has(name) || err != nil {
			t.Errorf("%s is kept, %v", name, err)
		} else if f != nil && f.Values.Get("name") != "Kept One" {
			t.Errorf("kept is %v", f.Values)
		}
	}
	b.post(t, "/partners/new", form)
	b.post(t, "/partners/new", with(form, "name", "Kept Two"))
	if kept() != 1 {
		t.Errorf("%d kept of one person", kept())
	}
	h.person(t, "zoe@example.com", models.StaffRole{Role: models.AccountManager})
	h.reload(t)
	other := h.visitor(t)
	other.signIn(t, "zoe@example.com")
	if p := other.get(t, page); p.status != http.StatusOK || strings.Contains(p.body, "Kept") || kept() != 1 {
		t.Errorf("another person sees %d %s", p.status, p.text())
	}
	b.signIn(t, "account_manager@example.com")
	if p := b.get(t, page); !strings.Contains(p.body, `value="Kept Two"`) || kept() != 0 {
		t.Errorf("%s", p.text())
	}

	b = expired()
	b.post(t, "/partners/new", form)
	h.time.Advance(31 * time.Minute)
	b.signIn(t, "account_manager@example.com")
	if p := b.get(t, page); strings.Contains(p.body, "Kept One") || !strings.Contains(p.body, "no longer available") || kept() != 0 {
		t.Errorf("after half an hour: %s", p.text())
	}
	expired().post(t, "/partners/new", form)
	h.time.Advance(31 * time.Minute)
	if _, err := h.staff.DeleteExpired(t.Context()); err != nil || kept() != 0 {
		t.Errorf("%d kept after half an hour, %v", kept(), err)
	}

	out := h.as(t, models.AccountManager)
	cookie := out.Jar.Cookies(mustURL(t, h.url))
	out.post(t, "/logout", nil)
	out.Jar.SetCookies(mustURL(t, h.url), cookie)
	ended := expired()
	if err := h.staff.EndSessions(t.Context(), audit.Operator, h.people[models.AccountManager].ID, uuid.Nil); err != nil {
		t.Fatal(err)
	}
	long := expired()
	h.time.Advance(24 * time.Hour)
	gone := h.as(t, models.PricingManager)
	h.time.Advance(31 * time.Minute)
	if err := h.staff.Deactivate(t.Context(), audit.Operator, h.people[models.PricingManager].ID, 1); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*visitor{"nobody": h.visitor(t), "logged out": out, "ended": ended, "a day ago": long, "deactivated": gone} {
		if p := b.post(t, "/partners/new", form); p.location() != "/login" || kept() != 0 {
			t.Errorf("%s: %d to %q, %d kept", name, p.status, p.location(), kept())
		}
	}
	b = expired()
	for _, path := range []string{"/account/password", "/leads/find", "/account/confirm", web.PartnerURL(uuid.New()) + "/check", "/payouts/exports"} {
		if p := b.post(t, path, url.Values{"q": {"ann@example.com"}, ui.FormKeyField: {"x"}}); p.location() != "/login" || kept() != 0 {
			t.Errorf("%s: %d to %q, %d kept", path, p.status, p.location(), kept())
		}
	}
	if p := b.send(t, http.MethodPost, "/partners/new", strings.NewReader("name="+strings.Repeat("x", 1<<20)), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {h.url}}); p.location() != "/login" || kept() != 0 {
		t.Errorf("a large form: %d to %q, %d kept", p.status, p.location(), kept())
	}
}

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Whatever is kept, filling it in leaves a page whose markup is its own.
func FuzzFillIn(f *testing.F) {
	const page = `<!DOCTYPE html><html><head></head><body><form method="post" action="/a"><input name="n" value="old"/><textarea name="n">
old</textarea><select name="s"><option value="1">1</option><option value="2">2</option></select><input type="password" name="proof"/></form><p>end</p></body></html>`
	f.Add("n", "x", "2")
	f.Add("s", `"><script>alert(1)</script>`, "\n</textarea><b>")
	f.Fuzz(func(t *testing.T, name, first, second string) {
		out, err := web.FillIn([]byte(page), &staff.KeptForm{Action: "/a", Values: url.Values{name: {first, second}}})
		if err != nil {
			t.Fatal(err)
		}
		count := func(text []byte) (elements int) {
			document, err := html.Parse(strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for n := range document.Descendants() {
				if n.Type == html.ElementNode {
					elements++
				}
			}
			return elements
		}
		if had, has := count([]byte(page)), count(out); had != has || !strings.Contains(string(out), "<p>end</p>") {
			t.Errorf("%d elements, had %d: %s", has, had, out)
		}
	})
}

// A form that has created something and is sent again after the session expired leads to
// what it created. Restored without that, it would create again.
func TestSubmittedFormIsNotRestored(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	b := c.as(t, models.AccountManager)
	path := web.PartnerURL(c.harbour.ID) + "/secrets/new"
	form := withKey(url.Values{"label": {"first"}})
	if p := b.post(t, path, form); p.status != http.StatusOK {
		t.Fatalf("%d %s", p.status, p.text())
	}
	c.time.Advance(31 * time.Minute)
	p := b.post(t, path, form)
	want := web.PartnerURL(c.harbour.ID) + "?tab=secrets&submitted=shown-once"
	if p.location() != "/login?next="+web.Escape(want) {
		t.Errorf("leads to %q", p.location())
	}
	b.signIn(t, "account_manager@example.com")
	b.get(t, want).says(t, http.StatusOK, "You already submitted this form")

	own := id.Format(id.Adjustment, c.options.Payouts.NewAdjustmentID())
	adjustment := url.Values{"own": {own}, "partner": {"harbour-leads"}, "account": {id.Format(id.Account, c.harbour.account.ID)}, "amount": {"1.00"}, "currency": {"GBP"}, "why": {"Bonus"}}
	f := c.as(t, models.Finance)
	if p := f.post(t, "/payouts/adjust", adjustment); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	c.time.Advance(31 * time.Minute)
	login, err := url.Parse(f.post(t, "/payouts/adjust", adjustment).location())
	if err != nil {
		t.Fatal(err)
	}
	f.signIn(t, "finance@example.com")
	restored, _ := formFields(t, f.get(t, login.Query().Get("next")), "/payouts/adjust")
	if restored.Get("own") != own {
		t.Errorf("the restored form is %v", restored)
	}
	if p := f.post(t, "/payouts/adjust", restored); p.status != http.StatusSeeOther {
		t.Errorf("sent again: %d %s", p.status, p.text())
	}
	if secrets, entries := c.count(t, "signing_secrets", "true"), c.count(t, "ledger_entries", "kind = 'adjustment'"); secrets != 1 || entries != 1 {
		t.Errorf("%d secrets and %d adjustments", secrets, entries)
	}
}
