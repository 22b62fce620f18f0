package admin_test

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

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// restorable describes a form that is restored after a session expired, and the role of the user
// who submits it.
type restorable struct {
	role       models.Role
	page, path string
}

// formFields returns the values that a page's form would submit, and the names of its hidden fields.
func formFields(t testing.TB, p admintest.Response, action string) (values url.Values, fixed []string) {
	t.Helper()
	document, err := html.Parse(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	values = url.Values{}
	found := false
	for form := range document.Descendants() {
		if form.DataAtom != atom.Form || attribute(form, "method") != "post" || attribute(form, "action") != action {
			continue
		}
		found = true
		for n := range form.Descendants() {
			name, value := attribute(n, "name"), attribute(n, "value")
			kind := attribute(n, "type")
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
						values[name] = []string{attribute(option, "value")}
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
		t.Fatalf("the page does not contain a form for %s: %d %s", action, p.Status, p.Text())
	}
	return values, fixed
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// typedInto returns the values of a page's form after a user has changed all texts and selected other
// options.
func typedInto(t testing.TB, p admintest.Response, action string) url.Values {
	t.Helper()
	values, fixed := formFields(t, p, action)
	document, err := html.Parse(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	fixed = append(fixed, "partner", "account", "currency", "lead", "from")
	for form := range document.Descendants() {
		if form.DataAtom != atom.Form || attribute(form, "method") != "post" || attribute(form, "action") != action {
			continue
		}
		at := map[string]int{}
		for n := range form.Descendants() {
			name := attribute(n, "name")
			if name == "" || slices.Contains(fixed, name) {
				continue
			}
			switch kind := attribute(n, "type"); {
			case n.DataAtom == atom.Select:
				for option := range n.Descendants() {
					if option.DataAtom == atom.Option {
						values[name] = []string{attribute(option, "value")} // the last one
					}
				}
			case n.DataAtom == atom.Input && (kind == "radio" || kind == "checkbox"):
				values[name] = []string{attribute(n, "value")} // only the last one
			case n.DataAtom == atom.Textarea || n.DataAtom == atom.Input && kind != "password" && kind != "file":
				values[name][at[name]] = `kept & "<b>` + name
				at[name]++
			}
		}
	}
	return values
}

// alwaysSaved are the hidden fields that are saved with every form.
var alwaysSaved = []string{"version", "own", ui.FormKeyField}

// savedFields returns the fields that the form's route saves. None of them may be a field for a secret or
// for personal data, such as a free text.
func savedFields(h *admintest.Console, t *testing.T, path string, p admintest.Response, action string) []string {
	t.Helper()
	var saves []string
	for _, r := range admin.Routes(h.Options) {
		if r.Path == path && r.Method == http.MethodPost {
			saves = r.Saves
		}
	}
	document, err := html.Parse(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	for form := range document.Descendants() {
		if form.DataAtom != atom.Form || attribute(form, "action") != action {
			continue
		}
		for n := range form.Descendants() {
			name, kind := attribute(n, "name"), attribute(n, "type")
			private := slices.Contains([]string{"password", "email", "tel", "file"}, kind) ||
				n.DataAtom == atom.Textarea && !slices.Contains([]string{"exclusions", "leads", "more"}, name) || name == "note"
			if private && slices.Contains(slices.Concat(saves, alwaysSaved), name) {
				t.Errorf("%s: the field %s (%s %s) is saved", path, name, n.Data, kind)
			}
		}
	}
	return slices.Concat(saves, alwaysSaved)
}

// checkRestores submits a form after its session expired, signs in, and checks that the fields that may be saved are
// restored, and no others.
func checkRestores(h *admintest.Console, t *testing.T, route string, f restorable) {
	t.Helper()
	email := string(f.role) + "@example.com"
	b := h.SignedInAs(t, f.role)
	page := b.Get(t, f.page)
	saves := savedFields(h, t, route, page, f.path)
	original, _ := formFields(t, page, f.path)
	sent := typedInto(t, page, f.path)
	form := maps.Clone(sent)
	form.Set("proof", admintest.Password)
	h.Time.Advance(31 * time.Minute)
	done := func() int { return h.Count(t, "audit_events", "action <> 'login'") }
	before := done()
	p := b.Post(t, f.path, form)
	login, err := url.Parse(p.Location())
	if err != nil || p.Status != http.StatusSeeOther || login.Path != "/login" || login.Query().Get("next") == "" {
		t.Errorf("%s: got %d to %q, want a redirect to /login with next", route, p.Status, p.Location())
		return
	}
	next := login.Query().Get("next")
	if p := b.Get(t, p.Location()); !slices.Equal(p.Codes(), []string{"session_expired"}) {
		t.Errorf("%s: the login page does not show session_expired: %s", route, p.Text())
	}
	if p := b.Post(t, "/login", url.Values{"email": {email}, "password": {admintest.Password}, "next": {next}}); p.Location() != next {
		t.Fatalf("%s: login: got %d to %q, want %q", route, p.Status, p.Location(), next)
	}
	saved, err := h.StaffService.SavedForm(t.Context(), h.People[f.role].ID)
	if err != nil || saved == nil {
		t.Fatalf("%s: got saved form %v and error %v", route, saved, err)
	}
	if got := slices.Sorted(maps.Keys(saved.Values)); !slices.Equal(got, slices.Sorted(slices.Values(saves))) {
		t.Errorf("%s: saved the fields %q, want %q", route, got, saves)
	}
	p = b.Get(t, next)
	back, fixed := formFields(t, p, f.path)
	for name, values := range sent {
		if !slices.Contains(saves, name) {
			values = original[name]
		}
		if isFixed := slices.Contains(fixed, name) && !slices.Contains(alwaysSaved, name); !isFixed &&
			!slices.Equal(values, back[name]) {
			t.Errorf("%s: got %s %q, want %q", route, name, back[name], values)
		}
	}
	if strings.Contains(p.Body, admintest.Password) || !slices.Contains(p.Codes(), "form_restored") {
		t.Errorf("%s: %s", route, p.Text())
	}
	if again := b.Get(t, next); strings.Contains(again.Body, "kept &amp;") ||
		slices.Contains(again.Codes(), "form_restored") {
		t.Errorf("%s: the form was restored twice", route)
	}
	if n := done(); n != before {
		t.Errorf("%s: got %d new audit events, want 0", route, n-before)
	}
}

// TestFormsAreRestored checks that a form that was submitted after the session expired has no effect, and that it is
// shown again with its values when the same user signs in.
func TestFormsAreRestored(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	partner := web.PartnerURL(c.Harbour.ID)
	c.Publish(t, "Dearer", admintest.PlumbersIn("IE", money.EUR, 5000))
	card, err := c.PricingManagerPrices().CreateDraft(t.Context(), "Spring", 0)
	if err != nil {
		t.Fatal(err)
	}
	draft := web.DraftURL(card.ID)
	const rollback = "/pricing/versions/1/rollback"
	if p := c.SignedInAs(t, models.AccountManager).Post(t, partner+"/secrets/new",
		url.Values{"label": {"first"}}); p.Status != http.StatusOK {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	secret := partner + "/secrets/" + id.Format(id.Secret,
		testkit.Value[uuid.UUID](t, c.Database, `SELECT id FROM signing_secrets`)) + "/expire"
	account := partner + "/accounts/" + id.Format(id.Account, c.Harbour.Account.ID)
	lead := admintest.LeadID(c.Leads[0])
	ret := c.Post(t, "/payouts/returns/new", url.Values{
		"lead":     {admintest.LeadID(c.Leads[1])},
		"reason":   {"duplicate"},
		"evidence": {"Sold before"},
	}).Location()
	adjustment := c.Post(t, "/payouts/adjust", url.Values{
		"own":      {id.Format(id.Adjustment, uuid.New())},
		"account":  {id.Format(id.Account, c.Harbour.Account.ID)},
		"amount":   {"500.01"},
		"currency": {"GBP"},
		"why":      {"Bonus"},
	}).Location()
	approved := c.PreparedRun(t, "0")
	c.SignInAnotherUser(t, "fay@example.com").Post(t, approved+"/approve", url.Values{"version": {"2"}}).
		ExpectRedirect(t, approved)
	person := "/staff/" + c.StaffID(models.Auditor)
	upload := "/reconciliation/new"
	erased := admintest.PrivacyRequest(t, c.Console, c.Leads[0])
	c.Exec(t, `UPDATE privacy_requests SET kind = 'erasure', outcome = 'erased', closed_by = 'ann', closed_at = created_at, notices_due = true
		WHERE id IN (SELECT request_id FROM privacy_request_leads)`)
	c.Exec(t, `UPDATE privacy_request_leads SET erased = true`)
	request := "/privacy/requests/" + admintest.PrivacyRequest(t, c.Console, c.Leads[0])
	notice := "/privacy/requests/" + erased + "/notices/" + id.Format(id.Partner, c.Harbour.ID)
	disclosure := admintest.AddDisclosure(t, c.Console, c.Harbour.ID)
	forms := map[string]restorable{
		"/staff/invite":          {models.Administrator, "/staff/invite", "/staff/invite"},
		"/staff/{id}/roles":      {models.Administrator, person, person + "/roles"},
		"/partners/new":          {models.AccountManager, "/partners/new", "/partners/new"},
		"/partners/{id}/details": {models.AccountManager, partner + "?tab=details", partner + "/details"},
		"/partners/{id}/suspend": {models.AccountManager, partner + "/suspend", partner + "/suspend"},
		"/partners/{id}/signing": {models.AccountManager, partner + "?tab=signing", partner + "/signing"},
		"/partners/{id}/accounts/new": {
			models.AccountManager, partner + "/accounts/new", partner + "/accounts/new",
		},
		"/partners/{id}/accounts/{account}": {models.AccountManager, account, account},
		"/partners/{id}/prices":             {models.PricingManager, partner + "?tab=prices", partner + "/prices"},
		"/partners/{id}/secrets/new": {
			models.AccountManager, partner + "/secrets/new", partner + "/secrets/new",
		},
		"/partners/{id}/secrets/rotate": {
			models.AccountManager, partner + "/secrets/rotate", partner + "/secrets/rotate",
		},
		"/partners/{id}/secrets/{secret}/expire": {models.AccountManager, secret, secret},
		"/pricing/versions/{n}/rollback":         {models.PricingManager, rollback, rollback},
		"/pricing/drafts/new":                    {models.PricingManager, "/pricing/drafts/new", "/pricing/drafts/new"},
		"/pricing/drafts/{id}/title":             {models.PricingManager, draft + "/title", draft + "/title"},
		"/pricing/drafts/{id}/rules/new":         {models.PricingManager, draft + "/rules/new", draft + "/rules/new"},
		"/pricing/drafts/{id}/rules/{position}":  {models.PricingManager, draft + "/rules/1", draft + "/rules/1"},
		"/pricing/drafts/{id}/publish":           {models.PricingManager, draft + "?tab=publish", draft + "/publish"},
		"/payouts/adjust": {
			models.Finance, "/payouts/adjust?partner=harbour-leads", "/payouts/adjust",
		},
		"/payouts/adjustments/{id}/approve": {models.Finance, adjustment, adjustment + "/approve"},
		"/payouts/adjustments/{id}/reject":  {models.Finance, adjustment, adjustment + "/approve"},
		"/payouts/returns/new": {
			models.Finance, "/payouts/returns/new?lead=" + lead, "/payouts/returns/new",
		},
		"/payouts/returns/{id}/accept":              {models.Finance, ret, ret + "/accept"},
		"/payouts/returns/{id}/reject":              {models.Finance, ret, ret + "/accept"},
		"/payouts/runs/new":                         {models.Finance, "/payouts/runs/new", "/payouts/runs/new"},
		"/payouts/runs/{id}/pay":                    {models.Finance, approved + "/pay", approved + "/pay"},
		"/payouts/runs/{id}/cancel":                 {models.Finance, approved + "/cancel", approved + "/cancel"},
		"/privacy/requests/{id}/identity":           {models.Privacy, request + "/identity", request + "/identity"},
		"/privacy/requests/{id}/add":                {models.Privacy, request + "/add", request + "/add"},
		"/privacy/requests/{id}/remove":             {models.Privacy, request + "/remove", request + "/remove"},
		"/privacy/requests/{id}/erase":              {models.Privacy, request + "/erase", request + "/erase"},
		"/privacy/requests/{id}/extend":             {models.Privacy, request + "/extend", request + "/extend"},
		"/privacy/requests/{id}/close":              {models.Privacy, request + "/close", request + "/close"},
		"/privacy/requests/{id}/notices/{partner}":  {models.Privacy, notice, notice},
		"/privacy/disclosures/{id}/replace":         {models.Privacy, disclosure + "/replace", disclosure + "/replace"},
		"/reconciliation/new":                       {}, // has a file: [TestFormWithFileIsNotSaved]
		"/reconciliation/{id}/compare":              {}, // [TestReconciliationFormsAreRestored]
		"/reconciliation/{id}/lines/{line}/resolve": {},
	}
	for _, r := range admin.Routes(c.Options) {
		f, known := forms[r.Path]
		switch {
		case r.Method != http.MethodPost:
		case known != (r.Form != ""):
			t.Errorf("%s: restored at %q, but tested: %t", r.Path, r.Form, known)
		case f.path != "":
			checkRestores(c.Console, t, r.Path, f)
		}
	}
	if p := c.SignedInAs(t, models.Finance).Get(t, upload); p.Status != http.StatusOK || len(p.Codes()) != 0 {
		t.Errorf("%s", p.Text())
	}
	c.CheckAuditLog(t)
}

// TestReconciliationFormsAreRestored checks the forms for mapping a file's columns and for resolving a line.
func TestReconciliationFormsAreRestored(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, earned := b.Deliver(t, b.Harbour())
	row := lead + "," + earned.Decimal()
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", row+",GBP",
		id.Format(id.Lead, uuid.New())+",1.00,GBP")
	checkRestores(b.Console, t, "/reconciliation/{id}/compare", restorable{models.Finance, at, at + "/compare"})
	b.Client = b.SignedInAs(t, models.Finance)
	b.Compare(t, at, b.ColumnForm(t, at))
	if p := b.Post(t, at+"/save", url.Values{"version": {b.Version(t, at)}}); p.Status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	b.AwaitState(t, at, models.ReconciliationSaved)
	line := at + "/lines/" + testkit.Value[string](t, b.Database,
		`SELECT line::text FROM reconciliation_lines WHERE finding = 'unknown'`) + "/resolve"
	checkRestores(b.Console, t, "/reconciliation/{id}/lines/{line}/resolve", restorable{models.Finance, line, line})
}

// TestFormWithFileIsNotSaved checks that a form with a file is not saved, and that the page reports this.
func TestFormWithFileIsNotSaved(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.AddPartner(t, "harbour-leads")
	b := h.SignedInAs(t, models.Finance)
	h.Time.Advance(31 * time.Minute)
	p := b.Upload(t, "harbour-leads", "a.csv", "leadId,amount\nld_01JD3Z0000000000000000000A,12.50\n")
	if p.Location() != "/login?next="+web.Escape("/reconciliation/new?restore=file") {
		t.Fatalf("got %d to %q", p.Status, p.Location())
	}
	b.SignIn(t, "finance@example.com")
	b.Get(t, "/reconciliation/new?restore=file").ExpectTexts(t, http.StatusOK, `data-code="file_not_kept"`)
	if n := h.Count(t, "saved_forms", "true") + h.Count(t, "reconciliations", "true"); n != 0 {
		t.Errorf("got %d saved forms and reconciliations, want 0", n)
	}
}

// TestSavedFormBelongsToUser checks that a form is saved for half an hour and only for the user whose session expired.
// Forms that no page can restore, and forms of users who signed out, are not saved.
func TestSavedFormBelongsToUser(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	form := url.Values{
		"slug":     {"kept-one"},
		"name":     {"Kept One"},
		"signing":  {"default"},
		"proof":    {admintest.Password},
		"password": {admintest.Password},
		"import":   {admintest.Password},
	}
	const page = "/partners/new?restore=form"
	saved := func() int { return h.Count(t, "saved_forms", "true") }
	expired := func() *admintest.Client {
		t.Helper()
		b := h.SignedInAs(t, models.AccountManager)
		h.Time.Advance(31 * time.Minute)
		return b
	}
	b := expired()
	if p := b.Post(t, "/partners/new", form); p.Location() != "/login?next="+web.Escape(page) || saved() != 1 {
		t.Fatalf("got %d to %q, %d saved", p.Status, p.Location(), saved())
	}
	for _, name := range []string{"proof", "password", "import"} {
		if f, err := h.StaffService.SavedForm(t.Context(), h.People[models.AccountManager].ID); f != nil &&
			f.Values.Has(name) || err != nil {
			t.Errorf("%s is saved, %v", name, err)
		} else if f != nil && f.Values.Get("name") != "Kept One" {
			t.Errorf("got saved values %v", f.Values)
		}
	}
	b.Post(t, "/partners/new", form)
	b.Post(t, "/partners/new", with(form, "name", "Kept Two"))
	if saved() != 1 {
		t.Errorf("got %d saved forms of one user, want 1", saved())
	}
	h.AddStaff(t, "zoe@example.com", models.StaffRole{Role: models.AccountManager})
	h.Reload(t)
	other := h.NewClient(t)
	other.SignIn(t, "zoe@example.com")
	if p := other.Get(t, page); p.Status != http.StatusOK || strings.Contains(p.Body, "Kept ") || saved() != 1 {
		t.Errorf("another user gets %d %s", p.Status, p.Text())
	}
	b.SignIn(t, "account_manager@example.com")
	if p := b.Get(t, page); !strings.Contains(p.Body, `value="Kept Two"`) || saved() != 0 {
		t.Errorf("%s", p.Text())
	}

	b = expired()
	b.Post(t, "/partners/new", form)
	h.Time.Advance(31 * time.Minute)
	b.SignIn(t, "account_manager@example.com")
	if p := b.Get(t, page); strings.Contains(p.Body, "Kept One") ||
		!slices.Equal(p.Codes(), []string{"form_not_kept"}) {
		t.Errorf("after half an hour: %s", p.Text())
	}
	expired().Post(t, "/partners/new", form)
	h.Time.Advance(31 * time.Minute)
	if _, err := h.StaffService.DeleteExpired(t.Context()); err != nil || saved() != 0 {
		t.Errorf("got %d saved forms after half an hour, want 0: %v", saved(), err)
	}

	out := h.SignedInAs(t, models.AccountManager)
	cookie := out.Jar.Cookies(mustURL(t, h.URL))
	out.Post(t, "/logout", nil)
	out.Jar.SetCookies(mustURL(t, h.URL), cookie)
	long := expired()
	h.Time.Advance(24 * time.Hour)
	gone := h.SignedInAs(t, models.PricingManager)
	h.Time.Advance(31 * time.Minute)
	if err := h.StaffService.By(audit.Operator).Deactivate(t.Context(), h.People[models.PricingManager].ID,
		1); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*admintest.Client{
		"not signed in": h.NewClient(t),
		"logged out":    out,
		"a day ago":     long,
		"deactivated":   gone,
	} {
		if p := b.Post(t, "/partners/new", form); p.Location() != "/login" || saved() != 0 {
			t.Errorf("%s: got %d to %q, %d saved", name, p.Status, p.Location(), saved())
		}
	}
	b = expired()
	const unsaved = "/?restore=none"
	for _, path := range []string{"/account/password", "/leads/find", "/account/confirm",
		web.PartnerURL(uuid.New()) + "/check", "/payouts/exports"} {
		p := b.Post(t, path, url.Values{"q": {"ann@example.com"}, ui.FormKeyField: {"x"}})
		if p.Location() != "/login?next="+web.Escape(unsaved) || saved() != 0 {
			t.Errorf("%s: got %d to %q, %d saved", path, p.Status, p.Location(), saved())
		}
	}
	for _, page := range []string{"/login?next=" + web.Escape(unsaved), unsaved} {
		if page == unsaved {
			b.SignIn(t, "account_manager@example.com")
		}
		if p := b.Get(t, page); !slices.Equal(p.Codes(), []string{"form_not_kept"}) {
			t.Errorf("%s does not say that the form was not saved: %s", page, p.Text())
		}
	}
	b = expired()
	if p := b.Send(t, http.MethodPost, "/partners/new", strings.NewReader("name="+strings.Repeat("x", 1<<20)), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {h.URL}}); p.Location() != "/login" || saved() != 0 {
		t.Errorf("large form: got %d to %q, %d saved", p.Status, p.Location(), saved())
	}
}

// TestFormOfRevokedSessionIsRestored checks that a form is also restored if the session was ended.
func TestFormOfRevokedSessionIsRestored(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.AccountManager)
	if err := h.StaffService.By(audit.Operator).EndSessions(t.Context(), h.People[models.AccountManager].ID,
		uuid.Nil); err != nil {
		t.Fatal(err)
	}
	const page = "/partners/new?restore=form"
	if p := b.Post(t, "/partners/new", url.Values{"name": {"Kept One"}}); p.Location() != "/login?next="+web.Escape(page) {
		t.Fatalf("got %d to %q", p.Status, p.Location())
	}
	b.SignIn(t, "account_manager@example.com")
	b.Get(t, page).ExpectTexts(t, http.StatusOK, `value="Kept One"`, `data-code="form_restored"`)
}

// TestSavedFormIsDeletedOnItsOwnPage checks that other pages, failed requests and requests from other sites
// neither show nor delete a saved form.
func TestSavedFormIsDeletedOnItsOwnPage(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.AccountManager)
	h.Time.Advance(31 * time.Minute)
	b.Post(t, "/partners/new", url.Values{"name": {"Kept One"}})
	b.SignIn(t, "account_manager@example.com")
	const page = "/partners/new?restore=form"
	for name, c := range map[string]struct {
		path   string
		header http.Header
	}{
		"another page":              {"/account?restore=form", nil},
		"another query":             {page + "&x=y", nil},
		"another site":              {page, http.Header{"Sec-Fetch-Site": {"cross-site"}}},
		"another origin":            {page, http.Header{"Sec-Fetch-Site": {"same-site"}}},
		"another site, old browser": {page, http.Header{"Origin": {"https://example.net"}}},
	} {
		p := b.Send(t, http.MethodGet, c.path, nil, c.header)
		if n := h.Count(t, "saved_forms", "true"); n != 1 || p.Status != http.StatusOK || len(p.Codes()) != 0 ||
			strings.Contains(p.Body, "Kept One") {
			t.Errorf("%s: got %d saved forms, status %d, codes %q: %s", name, n, p.Status, p.Codes(), p.Text())
		}
	}
	b.Send(t, http.MethodGet, page, nil, http.Header{"Sec-Fetch-Site": {"same-origin"}}).
		ExpectTexts(t, http.StatusOK, `value="Kept One"`, `data-code="form_restored"`)
	if n := h.Count(t, "saved_forms", "true"); n != 0 {
		t.Errorf("got %d saved forms, want 0", n)
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

// TestSubmittedFormIsNotRestored submits a form, and submits it again after the session expired. Signing in then
// redirects to the object that the form created, because a restored form would create another.
func TestSubmittedFormIsNotRestored(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	b := c.SignedInAs(t, models.AccountManager)
	path := web.PartnerURL(c.Harbour.ID) + "/secrets/new"
	form := admintest.WithFormKey(url.Values{"label": {"first"}})
	if p := b.Post(t, path, form); p.Status != http.StatusOK {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	c.Time.Advance(31 * time.Minute)
	p := b.Post(t, path, form)
	want := web.PartnerURL(c.Harbour.ID) + "?tab=secrets&submitted=shown-once"
	if p.Location() != "/login?next="+web.Escape(want) {
		t.Errorf("got a redirect to %q", p.Location())
	}
	b.SignIn(t, "account_manager@example.com")
	b.Get(t, want).ExpectTexts(t, http.StatusOK, `data-code="shown_once"`)

	own := id.Format(id.Adjustment, c.Options.Payouts.NewAdjustmentID())
	adjustment := url.Values{
		"own":      {own},
		"partner":  {"harbour-leads"},
		"account":  {id.Format(id.Account, c.Harbour.Account.ID)},
		"amount":   {"1.00"},
		"currency": {"GBP"},
		"why":      {"Bonus"},
	}
	f := c.SignedInAs(t, models.Finance)
	if p := f.Post(t, "/payouts/adjust", adjustment); p.Status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	c.Time.Advance(31 * time.Minute)
	login, err := url.Parse(f.Post(t, "/payouts/adjust", adjustment).Location())
	if err != nil {
		t.Fatal(err)
	}
	f.SignIn(t, "finance@example.com")
	restored, _ := formFields(t, f.Get(t, login.Query().Get("next")), "/payouts/adjust")
	if restored.Get("own") != own {
		t.Errorf("got restored form %v", restored)
	}
	restored.Set("why", "Bonus") // not saved
	if p := f.Post(t, "/payouts/adjust", restored); p.Status != http.StatusSeeOther {
		t.Errorf("submitted again: got %d %s", p.Status, p.Text())
	}
	if secrets, entries := c.Count(t, "signing_secrets", "true"), c.Count(t, "ledger_entries",
		"kind = 'adjustment'"); secrets != 1 || entries != 1 {
		t.Errorf("got %d secrets and %d adjustments, want 1 and 1", secrets, entries)
	}
}

// attribute returns the value of an attribute, or "".
func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
