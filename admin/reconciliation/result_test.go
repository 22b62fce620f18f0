package reconciliation_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	reconciliationpages "github.com/pingpost/pingpost/admin/reconciliation"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// A finance user uploads, compares and saves a file, resolves a line and exports the result.
func TestReconciliation(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	rows, foreign := admintest.EveryFinding(b, t)
	b.Exec(t, `UPDATE leads SET partner_reference = 'click-7', sub_id = 'mail'`)
	at := b.UploadPartnerFile(t, "harbour-leads", rows...)
	b.Get(t, at).ExpectTexts(t, http.StatusOK, "march.csv", `data-rows="8"`, `value="leadId" selected`,
		`value="amount" selected`, `value="in:currency" selected`)
	if p := b.Get(t, "/reconciliation"); p.State() != "uploaded" || len(p.Values("data-finding")) > 0 ||
		!strings.Contains(p.Body, `href="`+at+`"`) {
		t.Errorf("got state %s and findings %q, want uploaded without findings: %s", p.State(), p.Values("data-finding"),
			p.Text())
	}
	expectConflict(t, b.Post(t, at+"/save", url.Values{"version": {"1"}}), "not_compared")
	form := b.ColumnForm(t, at)
	b.Compare(t, at, form)

	dry := b.Get(t, at)
	dry.ExpectTexts(t, http.StatusOK, "data-dry-run", `finding=amount_differs#lines" aria-current="page"`, "−2.50",
		`action="`+at+`/compare"`, `action="`+at+`/save"`)
	if strings.Contains(dry.Body, "/resolve") {
		t.Error("the page of a dry run has links to resolve lines")
	}
	if p := b.Get(t, at+"/lines/2/resolve"); p.Status != http.StatusNotFound {
		t.Errorf("resolving a line of a dry run: got status %d, want 404", p.Status)
	}
	for finding, want := range map[string]string{
		"matched":        "/leads/ld_",
		"amount_differs": "harbour-leads-main",
		"unknown":        "meadow-media",
		"duplicate":      `data-first-row="2"`,
		"missing":        `data-row="0"`,
		"outside_period": "2026-02-11",
		"unreadable":     `data-reason="amount_decimals"`,
	} {
		b.Get(t, at+"?finding="+finding).ExpectTexts(t, http.StatusOK, want)
	}
	b.Get(t, at+"?finding=matched").ExpectTexts(t, http.StatusOK, "Partner reference: click-7", "subId: mail")
	if p := b.Get(t, at+"?finding=unknown"); strings.Contains(p.Body, `href="/leads/`+foreign) {
		t.Error("another partner's lead is a link")
	}

	// A stale form shows the conflict and changes nothing.
	b.Post(t, at+"/save", form).ExpectTexts(t, http.StatusConflict, `data-conflict="changed"`)
	if got := b.StateOf(t, at); got != models.ReconciliationCompared {
		t.Errorf("got state %s, want compared", got)
	}
	b.Post(t, at+"/save", url.Values{"version": {b.Version(t, at)}}).ExpectRedirect(t, at)
	kept := b.Get(t, at)
	kept.ExpectTexts(t, http.StatusOK, "finance@example.com", "/lines/2/resolve")
	if kept.State() != "saved" || !slices.Equal(kept.Values("data-open"), []string{"1", "2", "1", "1", "1", "2"}) {
		t.Errorf("got state %s and unresolved lines %q", kept.State(), kept.Values("data-open"))
	}
	expectConflict(t, b.Post(t, at+"/discard", url.Values{"version": {b.Version(t, at)}}), "ended")
	expectConflict(t, b.Post(t, at+"/compare", form), "ended")
	list := b.Get(t, "/reconciliation?state=saved&partner=harbour-leads")
	if got := [][]string{list.Values("data-finding"), list.Values("data-lines")}; !cmp.Equal(got, [][]string{
		{"matched", "amount_differs", "unknown", "duplicate", "missing", "outside_period", "unreadable", "left_out"},
		{"1", "1", "2", "1", "1", "1", "2", "1"},
	}) {
		t.Errorf("got findings %v in the list", got)
	}

	checkResolutions(b, t, at)
	checkExports(b, t, at)
	b.Get(t, "/jump?q="+strings.TrimPrefix(at, "/reconciliation/")).ExpectTexts(t, http.StatusSeeOther)
	b.CheckAuditLog(t)
}

// expectConflict fails the test unless the response is a conflict with the given reason.
func expectConflict(t *testing.T, p admintest.Response, reason string) {
	t.Helper()
	if p.Status != http.StatusConflict || !slices.Equal(p.Codes(), []string{reason}) {
		t.Errorf("got status %d, want the conflict %s: %s", p.Status, reason, p.Text())
	}
}

// checkResolutions resolves line 2, which is row 3 with the finding amount_differs.
func checkResolutions(b admintest.ConsoleWithDeliveries, t *testing.T, at string) {
	t.Helper()
	line := at + "/lines/2/resolve"
	b.Get(t, line).ExpectTexts(t, http.StatusOK, `action="`+line+`"`, `data-row="3"`, `data-finding="amount_differs"`)
	for name, note := range map[string]string{
		"empty":    "",
		"blank":    "  \n",
		"NUL":      "a\x00b",
		"too long": strings.Repeat("x", 2001),
	} {
		if p := b.Post(t, line, url.Values{"note": {note}}); p.Status != http.StatusUnprocessableEntity ||
			!strings.Contains(p.Body, `id="f-note-error"`) {
			t.Errorf("%s: got status %d, want 422 with an error at the note: %s", name, p.Status, p.Text())
		}
	}
	if n := b.Count(t, "reconciliation_resolutions", "true"); n != 0 {
		t.Errorf("got %d resolutions, want 0", n)
	}
	b.Post(t, line, url.Values{"note": {"Agreed by phone:\n<b>2.50 is theirs</b>"}}).
		ExpectRedirect(t, at+"?finding=amount_differs&after=1#line-2")
	b.Get(t, at+"?finding=amount_differs").ExpectTexts(t, http.StatusOK,
		"Agreed by phone:\n&lt;b&gt;2.50 is theirs&lt;/b&gt;", "finance@example.com",
		`data-open="0" data-tab="amount_differs"`, `href="`+line+`"`)
	b.Get(t, at+"?finding=amount_differs&after=3000000000").ExpectTexts(t, http.StatusOK, "Agreed by phone")
	b.Get(t, at+"?finding=amount_differs&open=yes").ExpectTexts(t, http.StatusOK, `data-empty="filtered"`)
	for _, path := range []string{"/lines/1/resolve", "/lines/99/resolve", "/lines/0/resolve", "/lines/x/resolve",
		"/lines/3000000000/resolve", "/lines/99999999999999999999/resolve"} { // line 1 is matched
		if p := b.Get(t, at+path); p.Status != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", path, p.Status)
		}
	}
}

// checkExports reads the lines as CSV.
func checkExports(b admintest.ConsoleWithDeliveries, t *testing.T, at string) {
	t.Helper()
	for query, want := range map[string]int{"": 10, "?finding=unknown": 2, "?finding=unreadable": 2} {
		p := b.Get(t, at+"/lines.csv"+query)
		rows := testkit.Records(t, p.Body)
		if len(rows) != want+1 || p.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
			!strings.HasPrefix(p.Header.Get("Content-Disposition"), `attachment; filename="reconciliation-rn_`) {
			t.Errorf("lines.csv%s: got %d rows and headers %v, want %d rows", query, len(rows), p.Header, want+1)
		}
		if strings.Contains(strings.ReplaceAll(p.Body, "'=1+1", ""), "=1+1") {
			t.Errorf("lines.csv%s contains a formula", query)
		}
	}
	if p := b.Get(t, at+"/lines.csv?finding=zebra"); p.Status != http.StatusBadRequest {
		t.Errorf("exporting an unknown finding: got status %d, want 400", p.Status)
	}
	if n := b.Count(t, "audit_events", `action = 'reconciliation.export'`); n != 3 {
		t.Errorf("got %d exports in the audit log, want 3", n)
	}
}

// The form has fields for ambiguous formats. A rejected mapping shows errors at its fields.
func TestRejectsInvalidMappings(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId;amount;when;text", lead+";1,234;02/03/2026;x",
		lead+";2,500;03/04/2026;y")
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `name="numbers"`, `name="dates" value="31/01/2006"`,
		`data-delimiter=";" data-encoding="UTF-8"`)
	good := url.Values{
		"version":  {"1"},
		"lead_id":  {"leadId"},
		"amount":   {"amount"},
		"currency": {"GBP"},
		"numbers":  {"1.234,56"},
		"from":     {"2026-01-01"},
		"to":       {"2026-01-31"},
	}
	for name, c := range map[string]struct{ field, value, wrong string }{
		"no lead ID column":       {"lead_id", "", "lead_id"},
		"unknown column":          {"lead_id", admintest.HostileText, "lead_id"},
		"no amount column":        {"amount", "", "amount"},
		"same column twice":       {"amount", "leadId", "amount"},
		"no currency":             {"currency", "", "currency"},
		"unknown currency":        {"currency", "XBT", "currency"},
		"unknown currency column": {"currency", "in:" + admintest.HostileText, "currency"},
		"no amount format":        {"numbers", "", "numbers"},
		"unknown amount format":   {"numbers", "1_234", "numbers"},
		"no date format":          {"date", "when", "dates"},
		"no first day":            {"from", "", "from"},
		"invalid day":             {"from", "2026-02-30", "from"},
		"last day before first":   {"to", "2025-12-31", "to"},
		"NUL":                     {"from", "\x00", "from"},
	} {
		form := url.Values{}
		for field, values := range good {
			form[field] = slices.Clone(values)
		}
		form.Set(c.field, c.value)
		p := b.Post(t, at+"/compare", form)
		if p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `id="f-`+c.wrong+`-error"`) ||
			strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got status %d, want 422 with an error at %s: %s", name, p.Status, c.wrong, p.Text())
		}
		if c.field != "to" && !strings.Contains(p.Body, `value="2026-01-31"`) {
			t.Errorf("%s: the form does not keep the submitted values", name)
		}
	}
	form := url.Values{"version": {"7"}}
	for field, values := range good {
		if field != "version" {
			form[field] = values
		}
	}
	b.Post(t, at+"/compare", form).ExpectTexts(t, http.StatusConflict, `data-conflict="changed"`,
		`value="1.234,56" checked`)
	if got := b.StateOf(t, at); got != models.ReconciliationUploaded {
		t.Errorf("got state %s, want uploaded", got)
	}
	b.Compare(t, at, good)
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `data-reason="amount_decimals"`) // with the chosen format, 1,234 has three decimals
}

// The options for an ambiguous date format state the period. The period of the chosen format is
// used if no days are entered.
func TestAmbiguousDates(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,when,currency", "x,1.50,02/03/2026,GBP",
		"y,1.50,03/04/2026,GBP")
	page := b.Get(t, at).Body
	for form, days := range map[string][2]string{
		"31/01/2006": {"2026-03-02", "2026-04-03"},
		"01/31/2006": {"2026-02-03", "2026-03-04"},
	} {
		_, hint, _ := strings.Cut(page, `id="f-dates-`+form+`-hint"`)
		if hint, _, _ = strings.Cut(hint, "</p>"); !strings.Contains(hint, days[0]) || !strings.Contains(hint, days[1]) {
			t.Errorf("the hint for %s does not contain %v: %q", form, days, hint)
		}
	}
	form := url.Values{
		"version":  {"1"},
		"lead_id":  {"leadId"},
		"amount":   {"amount"},
		"currency": {"in:currency"},
		"date":     {"when"},
	}
	b.Post(t, at+"/compare", form).ExpectTexts(t, http.StatusUnprocessableEntity, `id="f-dates-error"`,
		`id="f-from-error"`)
	form.Set("dates", "01/31/2006")
	b.Compare(t, at, form)
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `data-from="2026-02-03" data-to="2026-03-04"`)
}

// A currency column can be used even if it contains an unsupported currency. The row with that currency
// is unreadable.
func TestUnsupportedCurrencyInRow(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", "x,1.50,GBP",
		id.Format(id.Lead, uuid.New())+",1.50,CHF")
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `value="in:currency"`)
	b.Compare(t, at, b.ColumnForm(t, at))
	b.Get(t, at+"?finding=unreadable").ExpectTexts(t, http.StatusOK, `data-reason="currency_unknown"`)
}

// The page links to earlier reconciliations of the same file and preselects the last mapping.
func TestSameFileAgain(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	rows, _ := admintest.EveryFinding(b, t)
	first := b.UploadPartnerFile(t, "harbour-leads", rows...)
	b.Compare(t, first, b.ColumnForm(t, first))
	b.Console.Time.Advance(time.Second)
	second := b.UploadPartnerFile(t, "harbour-leads", rows...)
	b.Get(t, second).ExpectTexts(t, http.StatusOK, `data-same="1"`, `href="`+first+`"`, "data-remembered")
	if p := b.Get(t, first); strings.Contains(p.Body, "data-same") {
		t.Error("the first reconciliation links to a later one")
	}
	b.Get(t, second+"/discard").ExpectTexts(t, http.StatusOK, `action="`+second+`/discard"`)
	b.Post(t, second+"/discard", url.Values{"version": {"1"}}).ExpectRedirect(t, "/reconciliation")
	b.Get(t, second).ExpectTexts(t, http.StatusOK, `data-state="discarded"`)
	if p := b.Get(t, second+"/lines.csv"); p.Status != http.StatusNotFound {
		t.Errorf("lines.csv of a discarded reconciliation: got status %d, want 404", p.Status)
	}
	third := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount", "x,1")
	b.Exec(t, `DELETE FROM files WHERE id = (SELECT file_id FROM reconciliations WHERE id = $1)`, admintest.IDOf(t, third))
	b.Get(t, third).ExpectTexts(t, http.StatusOK, "data-file-gone", `href="/reconciliation/new?partner=harbour-leads"`)
}

// A user who is limited to some partners can only see and create their reconciliations. For other
// partners' reconciliations, the user gets the same page as for reconciliations that do not exist.
func TestReconciliationsScope(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	rows, _ := admintest.EveryFinding(b, t)
	mine, other := b.UploadPartnerFile(t, "harbour-leads", rows...), b.UploadPartnerFile(t, "meadow-media",
		"leadId,amount,currency", "x,1,GBP")
	b.Compare(t, mine, b.ColumnForm(t, mine))
	partner := b.Harbour().ID
	b.AddStaff(t, "mine@example.com", models.StaffRole{Role: models.Finance, PartnerID: &partner})
	b.Reload(t)
	v := b.Console.NewClient(t)
	v.SignIn(t, "mine@example.com")

	missing := v.Get(t, "/no-such-page")
	for _, r := range b.Routes("/reconciliation") {
		if !strings.Contains(r.Path, "{id}") {
			continue
		}
		path := admintest.FillIn(r.Path, strings.TrimPrefix(other, "/reconciliation/"))
		p := v.Send(t, r.Method, path, strings.NewReader(""),
			http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		if p.Status != http.StatusNotFound || r.Method == http.MethodGet && p.Body != missing.Body {
			t.Errorf("%s %s: got status %d, want the page for 404: %s", r.Method, r.Path, p.Status, p.Text())
		}
	}
	if p := v.Get(t, "/reconciliation"); strings.Contains(p.Body, "meadow") || !strings.Contains(p.Body, mine) {
		t.Error(p.Text())
	}
	if p := v.Get(t, "/reconciliation/new"); strings.Contains(p.Body, "meadow") ||
		!strings.Contains(p.Body, "harbour-leads") {
		t.Error(p.Text())
	}
	v.Get(t, "/reconciliation?partner=meadow-media").ExpectTexts(t, http.StatusOK, `data-empty="invalid"`)
	v.Upload(t, "meadow-media", "a.csv", strings.Join(rows, "\n")).
		ExpectTexts(t, http.StatusUnprocessableEntity, `data-error="partner"`)
	for _, path := range []string{mine + "?finding=unknown", mine + "/lines.csv", mine + "/lines.csv?finding=unknown"} {
		if p := v.Get(t, path); p.Status != http.StatusOK || strings.Contains(p.Body, "meadow") ||
			strings.Contains(p.Body, id.Format(id.Partner, b.Other.ID)) {
			t.Errorf("%s: got status %d, want 200 without the other partner: %s", path, p.Status, p.Text())
		}
	}
	auditor := b.Console.SignedInAs(t, models.Auditor)
	if p := auditor.Get(t, mine); p.Status != http.StatusOK ||
		strings.Contains(p.Body, mine+"/") && strings.Contains(p.Body, `action="`+mine) {
		t.Errorf("the auditor's page contains forms (got status %d)", p.Status)
	}
}

// When a comparison has been stopped, the page shows the reason and the mapping.
func TestStopComparison(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{}) // without a running job queue
	b := admintest.ConsoleWithDeliveries{
		Console:  h,
		Client:   h.SignedInAs(t, models.Finance),
		Platform: testkit.NewPlatformOn(t, h.Database),
	}
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", "x,1,GBP")
	b.Post(t, at+"/compare", b.ColumnForm(t, at)).ExpectRedirect(t, at)
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `data-state="waiting"`, `hx-get="`+at+`/live"`, at+"/stop")
	if p := b.Get(t, at+"/live"); p.Status != http.StatusOK || strings.Contains(p.Body, "<main") ||
		p.Header.Get("HX-Refresh") != "" {
		t.Errorf("live part: got status %d and headers %v: %s", p.Status, p.Header, p.Body)
	}
	expectConflict(t, b.Post(t, at+"/discard", url.Values{"version": {b.Version(t, at)}}), "comparing")
	for range 2 { // the second request finds no running comparison
		b.Post(t, at+"/stop", nil).ExpectRedirect(t, at)
	}
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `data-notice="bad"`, "finance@example.com", `value="2026-01-31"`,
		`value="in:currency" selected`)
	if p := b.Get(t, at+"/live"); p.Header.Get("HX-Refresh") != "true" {
		t.Errorf("live part: headers %v, want HX-Refresh", p.Header)
	}
	if n := b.Count(t, "jobs", `state = 'cancelled'`); n != 1 {
		t.Errorf("got %d cancelled jobs, want 1", n)
	}
	if n := b.Count(t, "audit_events", `action = 'job.cancel' AND outcome = $1`, models.AuditDone); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
}

// A reconciliation whose command crashed can be compared or discarded in the console.
func TestComparisonByCrashedCommand(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	at := b.UploadPartnerFile(t, "harbour-leads", "leadId,amount,currency", "x,1,GBP")
	b.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, admintest.IDOf(t, at))
	b.Get(t, at).ExpectTexts(t, http.StatusOK, `action="`+at+`/compare"`, at+"/discard")
	if p := b.Get(t, at+"/live"); p.Header.Get("HX-Refresh") != "true" {
		t.Errorf("live part: headers %v, want HX-Refresh", p.Header)
	}
	b.Compare(t, at, b.ColumnForm(t, at))
}

// The pages of the list keep the filter.
func TestListPages(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	b.Get(t, "/reconciliation").ExpectTexts(t, http.StatusOK, `data-empty="none"`, `href="/reconciliation/new"`)
	service := b.Options.Reconcile.By(audit.Actor{Staff: b.People[models.Finance].ID, Name: "finance@example.com"})
	for range reconciliationpages.ReconciliationPage + 1 {
		if _, err := service.Upload(t.Context(), scope.System, b.Harbour().ID, "a.csv",
			strings.NewReader("leadId,amount\nx,1\n")); err != nil {
			t.Fatal(err)
		}
		b.Console.Time.Advance(time.Second)
	}
	p := b.Get(t, "/reconciliation?partner=harbour-leads")
	older := b.Get(t, p.Link("next"))
	if !strings.Contains(older.Link("prev"), "partner=harbour-leads") || len(older.Values("data-state")) != 1 {
		t.Errorf("got link %q to the newer page and states %q: %s", older.Link("prev"), older.Values("data-state"),
			older.Text())
	}
	b.Get(t, "/reconciliation?state=saved").ExpectTexts(t, http.StatusOK, `data-empty="filtered"`)
	byName := b.Get(t, "/reconciliation?partner=harbour")
	if len(byName.Values("data-state")) != reconciliationpages.ReconciliationPage {
		t.Errorf("by a part of the name: got states %q", byName.Values("data-state"))
	}
	for _, query := range []string{"?state=zebra", "?partner=unknown", "?partner=%00", "?before=x", "?after=%ff", "?state=%27"} {
		if p := b.Get(t, "/reconciliation"+query); p.Status != http.StatusOK {
			t.Errorf("%s: got status %d, want 200", query, p.Status)
		}
	}
}
