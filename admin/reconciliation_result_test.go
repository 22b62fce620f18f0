package admin

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	reconciliationpages "github.com/pingpost/pingpost/admin/reconciliation"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// everyFinding is a list of harbour-leads with a row for each finding, a lead that is
// missing from it and one that is left out.
func (b books) everyFinding(t testing.TB) (rows []string, foreign string) {
	t.Helper()
	row := func(lead, amount string) string { return lead + "," + amount + ",GBP" }
	foreign, _ = b.deliver(t, b.other)
	even, price := b.deliver(t, b.harbour())
	less, _ := b.deliver(t, b.harbour())
	b.deliver(t, b.harbour())           // which is missing
	b.deliverFrom(t, b.harbour(), "DE") // which is left out
	b.platform.Time.Advance(40 * 24 * time.Hour)
	late, _ := b.deliver(t, b.harbour())
	b.platform.Time.Advance(-40 * 24 * time.Hour)
	return []string{
		"leadId,amount,currency", row(even, price.Decimal()), row(less, money.Amount{Minor: price.Minor - 250, Currency: price.Currency}.Decimal()),
		row(id.Format(id.Lead, uuid.New()), "12.50"), row(foreign, "12.50"), row(even, price.Decimal()), row(late, price.Decimal()),
		"=1+1,12.50,GBP", row(even, "12.345"),
	}, foreign
}

// From the file to a line that is settled, as the finance person does it.
func TestReconciliation(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	rows, foreign := b.everyFinding(t)
	at := b.given(t, "harbour-leads", rows...)
	b.get(t, at).says(t, http.StatusOK, "march.csv", "8 rows", "7 leadIds", `value="leadId" selected`, `value="amount" selected`, `value="in:currency" selected`)
	b.get(t, "/reconciliation").says(t, http.StatusOK, "waits for its columns", "none yet", `href="`+at+`"`)
	b.post(t, at+"/keep", url.Values{"version": {"1"}}).says(t, http.StatusConflict, "compare the list first")
	form := b.inColumns(t, at)
	b.compared(t, at, form)

	dry := b.get(t, at)
	dry.says(t, http.StatusOK, "This is a dry run", "Amount differs", "−2.50", "Compare once more", `action="`+at+`/keep"`)
	if strings.Contains(dry.body, "/settle") {
		t.Error("a dry run's lines can be settled")
	}
	if p := b.get(t, at+"/lines/2/settle"); p.status != http.StatusNotFound {
		t.Errorf("settling a dry run: %d", p.status)
	}
	for finding, want := range map[string]string{
		"matched": "/leads/ld_", "amount_differs": "account harbour-leads-main", "unknown": "A lead of meadow-media.", "duplicate": "Row 2 has it already.", "missing": "not in it",
		"outside_period": "2026-02-11", "unreadable": "more than two decimals",
	} {
		b.get(t, at+"?finding="+finding).says(t, http.StatusOK, want)
	}
	if p := b.get(t, at+"?finding=unknown"); strings.Contains(p.body, `href="/leads/`+foreign) {
		t.Error("another partner's lead is linked")
	}

	// What somebody else did meanwhile is told, and nothing is done over it.
	b.post(t, at+"/keep", form).says(t, http.StatusConflict, "changed this reconciliation while you had it open")
	if got := b.stateOf(t, at); got != models.ReconciliationCompared {
		t.Errorf("it is %s", got)
	}
	if p := b.post(t, at+"/keep", url.Values{"version": {b.version(t, at)}}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	b.get(t, at).says(t, http.StatusOK, "finance@example.com", "Kept", "1, 1 open", "2, 2 open", "/lines/2/settle")
	b.post(t, at+"/discard", url.Values{"version": {b.version(t, at)}}).says(t, http.StatusConflict, "does not change any more")
	b.post(t, at+"/compare", form).says(t, http.StatusConflict, "does not change any more")
	b.get(t, "/reconciliation?state=kept&partner=harbour-leads").says(t, http.StatusOK, "1 matched, 1 with another amount, 2 unknown, 1 duplicate, 1 missing, 1 outside the period, 2 unreadable, 1 left out")

	b.settles(t, at)
	b.exports(t, at)
	b.get(t, "/jump?q="+strings.TrimPrefix(at, "/reconciliation/")).says(t, http.StatusSeeOther)
	b.intact(t)
}

// settles settles the line of row 3, whose amount differs.
func (b books) settles(t *testing.T, at string) {
	t.Helper()
	line := at + "/lines/2/settle"
	b.get(t, line).says(t, http.StatusOK, "Settle row 3", "Amount differs")
	for name, note := range map[string]string{"nothing": "", "blanks": "  \n", "no text": "a\x00b", "too much": strings.Repeat("x", 2001)} {
		if p := b.post(t, line, url.Values{"note": {note}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="f-note-error"`) {
			t.Errorf("%s: %d %s", name, p.status, p.text())
		}
	}
	if n := b.count(t, "reconciliation_settlements", "true"); n != 0 {
		t.Errorf("%d settlements", n)
	}
	p := b.post(t, line, url.Values{"note": {"Agreed by phone:\n<b>2.50 is theirs</b>"}})
	if want := at + "?finding=amount_differs&after=1#line-2"; p.status != http.StatusSeeOther || p.location() != want {
		t.Errorf("%d to %s, want %s", p.status, p.location(), want)
	}
	b.get(t, at+"?finding=amount_differs").says(t, http.StatusOK, "Agreed by phone:\n&lt;b&gt;2.50 is theirs&lt;/b&gt;", "finance@example.com", "1, 0 open", "Settle anew")
	b.get(t, at+"?finding=amount_differs&after=3000000000").says(t, http.StatusOK, "Agreed by phone")
	b.get(t, at+"?finding=amount_differs&open=yes").says(t, http.StatusOK, "Nothing matches")
	for _, one := range []string{"/lines/1/settle", "/lines/99/settle", "/lines/0/settle", "/lines/x/settle", "/lines/3000000000/settle", "/lines/99999999999999999999/settle"} { // the first has matched
		if p := b.get(t, at+one); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", one, p.status)
		}
	}
}

// exports reads the lines as CSV.
func (b books) exports(t *testing.T, at string) {
	t.Helper()
	for query, want := range map[string]int{"": 10, "?finding=unknown": 2, "?finding=unreadable": 2} {
		p := b.get(t, at+"/lines.csv"+query)
		rows, err := csv.NewReader(strings.NewReader(p.body)).ReadAll()
		if err != nil || len(rows) != want+1 || p.header.Get("Content-Type") != "text/csv; charset=utf-8" || !strings.HasPrefix(p.header.Get("Content-Disposition"), `attachment; filename="reconciliation-rn_`) {
			t.Errorf("%q: %d rows, %v, %v", query, len(rows), err, p.header)
		}
		if strings.Contains(p.body, "=1+1") {
			t.Errorf("%q: a formula comes through", query)
		}
	}
	if p := b.get(t, at+"/lines.csv?finding=zebra"); p.status != http.StatusBadRequest {
		t.Errorf("%d", p.status)
	}
	if n := b.count(t, "audit_events", `action = 'reconciliation.export'`); n != 3 {
		t.Errorf("%d exports are in the audit trail", n)
	}
}

// What the columns are is asked where it is open, and what is missing is said there.
func TestMappingsThatAreRefused(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	lead, _ := b.deliver(t, b.harbour())
	at := b.given(t, "harbour-leads", "leadId;amount;when;text", lead+";1,234;02/03/2026;x", lead+";2,500;03/04/2026;y")
	b.get(t, at).says(t, http.StatusOK, "How the amounts are written", "How the dates are written", `value="31/01/2006"`, "semicolon-separated, UTF-8")
	good := url.Values{"version": {"1"}, "lead_id": {"leadId"}, "amount": {"amount"}, "currency": {"GBP"}, "numbers": {"1.234,56"}, "from": {"2026-01-01"}, "to": {"2026-01-31"}}
	for name, c := range map[string]struct{ field, value, wrong string }{
		"no leadIds":         {"lead_id", "", "lead_id"},
		"no such column":     {"lead_id", hostile, "lead_id"},
		"no amounts":         {"amount", "", "amount"},
		"the same column":    {"amount", "leadId", "amount"},
		"no currency":        {"currency", "", "currency"},
		"none of ours":       {"currency", "XBT", "currency"},
		"no such currencies": {"currency", "in:" + hostile, "currency"},
		"numbers not said":   {"numbers", "", "numbers"},
		"numbers somehow":    {"numbers", "1_234", "numbers"},
		"dates not said":     {"date", "when", "dates"},
		"no first day":       {"from", "", "from"},
		"no day":             {"from", "2026-02-30", "from"},
		"the last first":     {"to", "2025-12-31", "to"},
		"a NUL":              {"from", "\x00", "from"},
	} {
		form := url.Values{}
		for field, values := range good {
			form[field] = slices.Clone(values)
		}
		form.Set(c.field, c.value)
		p := b.post(t, at+"/compare", form)
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="f-`+c.wrong+`-error"`) || strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s: %d %s", name, p.status, p.text())
		}
		if c.field != "to" && !strings.Contains(p.body, `value="2026-01-31"`) {
			t.Errorf("%s: what was typed is lost", name)
		}
	}
	form := url.Values{"version": {"7"}}
	for field, values := range good {
		if field != "version" {
			form[field] = values
		}
	}
	b.post(t, at+"/compare", form).says(t, http.StatusConflict, "changed this reconciliation", `value="1.234,56" checked`)
	if got := b.stateOf(t, at); got != models.ReconciliationUploaded {
		t.Errorf("it is %s", got)
	}
	b.compared(t, at, good)
	b.get(t, at).says(t, http.StatusOK, "more than two decimals") // 1,234 has three, and is no amount
}

// Of dates that may be meant in two ways each way says of which days the list is, and
// what is chosen is taken where no days are given.
func TestDaysOfTheDatesThatWereMeant(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	at := b.given(t, "harbour-leads", "leadId,amount,when,currency", "x,1.50,02/03/2026,GBP", "y,1.50,03/04/2026,GBP")
	b.get(t, at).says(t, http.StatusOK, "of 2026-03-02 to 2026-04-03", "of 2026-02-03 to 2026-03-04")
	form := url.Values{"version": {"1"}, "lead_id": {"leadId"}, "amount": {"amount"}, "currency": {"in:currency"}, "date": {"when"}}
	b.post(t, at+"/compare", form).says(t, http.StatusUnprocessableEntity, `id="f-dates-error"`, `id="f-from-error"`)
	form.Set("dates", "01/31/2006")
	b.compared(t, at, form)
	b.get(t, at).says(t, http.StatusOK, "2026-02-03 to 2026-03-04")
}

// A currency that is none of ours makes its row unreadable, not the column unusable.
func TestAColumnOfCurrenciesWithAnother(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	at := b.given(t, "harbour-leads", "leadId,amount,currency", "x,1.50,GBP", id.Format(id.Lead, uuid.New())+",1.50,CHF")
	b.get(t, at).says(t, http.StatusOK, `value="in:currency"`)
	b.compared(t, at, b.inColumns(t, at))
	b.get(t, at+"?finding=unreadable").says(t, http.StatusOK, "The currency is none of GBP")
}

// The same file again is noticed, and the columns are what they were last time.
func TestTheSameListAgain(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	rows, _ := b.everyFinding(t)
	first := b.given(t, "harbour-leads", rows...)
	b.compared(t, first, b.inColumns(t, first))
	b.house.time.Advance(time.Second)
	second := b.given(t, "harbour-leads", rows...)
	b.get(t, second).says(t, http.StatusOK, "This very file was given before", `href="`+first+`"`, "as last time")
	if p := b.get(t, first); strings.Contains(p.body, "This very file") {
		t.Error("the first is told of one that was given later")
	}
	b.get(t, second+"/discard").says(t, http.StatusOK, "The file is deleted")
	if p := b.post(t, second+"/discard", url.Values{"version": {"1"}}); p.status != http.StatusSeeOther || p.location() != "/reconciliation" {
		t.Errorf("%d %s", p.status, p.text())
	}
	b.get(t, second).says(t, http.StatusOK, "was discarded")
	if p := b.get(t, second+"/lines.csv"); p.status != http.StatusNotFound {
		t.Errorf("lines of what was discarded: %d", p.status)
	}
	third := b.given(t, "harbour-leads", "leadId,amount", "x,1")
	b.Exec(t, `DELETE FROM files WHERE id = (SELECT file_id FROM reconciliations WHERE id = $1)`, idOf(t, third))
	b.get(t, third).says(t, http.StatusOK, "The file is not kept any more", `href="/reconciliation/new?partner=harbour-leads"`)
}

// Whoever looks after some partners sees and makes reconciliations of those only; of
// another's there is nothing, to the byte, and nothing of another's is in theirs.
func TestReconciliationsOfSomePartners(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	rows, _ := b.everyFinding(t)
	mine, theirs := b.given(t, "harbour-leads", rows...), b.given(t, "meadow-media", "leadId,amount,currency", "x,1,GBP")
	b.compared(t, mine, b.inColumns(t, mine))
	partner := b.harbour().ID
	b.person(t, "mine@example.com", models.StaffRole{Role: models.Finance, PartnerID: &partner})
	b.reload(t)
	v := b.house.visitor(t)
	v.signIn(t, "mine@example.com")

	none := v.get(t, "/no-such-page")
	for _, r := range b.routes("/reconciliation") {
		if !strings.Contains(r.Path, "{id}") {
			continue
		}
		path := fill(r.Path, strings.TrimPrefix(theirs, "/reconciliation/"))
		p := v.send(t, r.Method, path, strings.NewReader(""), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		if p.status != http.StatusNotFound || r.Method == http.MethodGet && p.body != none.body {
			t.Errorf("%s %s: %d %s", r.Method, r.Path, p.status, p.text())
		}
	}
	if p := v.get(t, "/reconciliation"); strings.Contains(p.body, "meadow") || !strings.Contains(p.body, mine) {
		t.Error(p.text())
	}
	if p := v.get(t, "/reconciliation/new"); strings.Contains(p.body, "meadow") || !strings.Contains(p.body, "harbour-leads") {
		t.Error(p.text())
	}
	v.get(t, "/reconciliation?partner=meadow-media").says(t, http.StatusOK, "Nothing matches")
	v.give(t, "meadow-media", "a.csv", strings.Join(rows, "\n")).says(t, http.StatusUnprocessableEntity, "Choose whose list it is.")
	for _, path := range []string{mine + "?finding=unknown", mine + "/lines.csv", mine + "/lines.csv?finding=unknown"} {
		if p := v.get(t, path); p.status != http.StatusOK || strings.Contains(p.body, "meadow") || strings.Contains(p.body, id.Format(id.Partner, b.other.ID)) {
			t.Errorf("%s: %d tells whose lead it is: %s", path, p.status, p.text())
		}
	}
	auditor := b.house.as(t, models.Auditor)
	if p := auditor.get(t, mine); p.status != http.StatusOK || strings.Contains(p.body, mine+"/") && strings.Contains(p.body, `action="`+mine) {
		t.Errorf("an auditor is offered what they may not: %d", p.status)
	}
}

// A comparison can be stopped; the page says so, and what the columns were is kept.
func TestStoppingAComparison(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{}) // whose desk does not work
	b := books{house: h, visitor: h.as(t, models.Finance), platform: testkit.NewPlatform(t, h.Database)}
	at := b.given(t, "harbour-leads", "leadId,amount,currency", "x,1,GBP")
	if p := b.post(t, at+"/compare", b.inColumns(t, at)); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	b.get(t, at).says(t, http.StatusOK, "Waits for its turn", `hx-get="`+at+`/live"`, at+"/stop")
	if p := b.get(t, at+"/live"); p.status != http.StatusOK || strings.Contains(p.body, "<main") || p.header.Get("HX-Refresh") != "" {
		t.Errorf("%d %s", p.status, p.body)
	}
	b.post(t, at+"/discard", url.Values{"version": {b.version(t, at)}}).says(t, http.StatusConflict, "being compared")
	for range 2 { // pressed again, it is over already
		if p := b.post(t, at+"/stop", nil); p.status != http.StatusSeeOther || p.location() != at {
			t.Errorf("%d %s", p.status, p.text())
		}
	}
	b.get(t, at).says(t, http.StatusOK, "Cancelled by finance@example.com", `value="2026-01-31"`, `value="in:currency" selected`)
	if p := b.get(t, at+"/live"); p.header.Get("HX-Refresh") != "true" {
		t.Errorf("%v", p.header)
	}
	if n := b.count(t, "audit_events", `action = 'work.cancel' AND outcome = $1`, models.AuditDone); n != 1 {
		t.Errorf("%d events", n)
	}
}

// What a command that died was comparing can be compared or discarded in the console.
func TestAComparisonThatDied(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	at := b.given(t, "harbour-leads", "leadId,amount,currency", "x,1,GBP")
	b.Exec(t, `UPDATE reconciliations SET state = 'comparing' WHERE id = $1`, idOf(t, at))
	b.get(t, at).says(t, http.StatusOK, "What the columns are", at+"/discard")
	if p := b.get(t, at+"/live"); p.header.Get("HX-Refresh") != "true" {
		t.Errorf("%v", p.header)
	}
	b.compared(t, at, b.inColumns(t, at))
}

// The list is paged by key, within its filter.
func TestReconciliationsByPage(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.get(t, "/reconciliation").says(t, http.StatusOK, "No reconciliations yet", `href="/reconciliation/new"`)
	service := b.options.Reconcile.By(audit.Actor{Staff: b.people[models.Finance].ID, Name: "finance@example.com"})
	for range reconciliationpages.ReconciliationPage + 1 {
		if _, err := service.Upload(t.Context(), scope.System, b.harbour().ID, "a.csv", strings.NewReader("leadId,amount\nx,1\n")); err != nil {
			t.Fatal(err)
		}
		b.house.time.Advance(time.Second)
	}
	p := b.get(t, "/reconciliation?partner=harbour-leads")
	p.says(t, http.StatusOK, `rel="next"`)
	_, rest, _ := strings.Cut(p.body, `<nav class="pager"`)
	_, rest, _ = strings.Cut(rest, `href="`)
	link, _, _ := strings.Cut(rest, `"`)
	older := b.get(t, strings.ReplaceAll(link, "&amp;", "&"))
	older.says(t, http.StatusOK, `rel="prev"`, "partner=harbour-leads")
	if n := strings.Count(older.body, `class="main" href="/reconciliation/rn_`); n != 1 {
		t.Errorf("%d rows on the last page", n)
	}
	b.get(t, "/reconciliation?state=kept").says(t, http.StatusOK, "Nothing matches", "Clear the filters")
	for _, odd := range []string{"?state=zebra", "?partner=nobody", "?partner=%00", "?before=x", "?after=%ff", "?state=%27"} {
		if p := b.get(t, "/reconciliation"+odd); p.status != http.StatusOK {
			t.Errorf("%s: %d", odd, p.status)
		}
	}
}
