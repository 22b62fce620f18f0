package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// prepared is the address of a run in GBP that waits for approval.
func (c *till) prepared(t testing.TB, minimum string) string {
	t.Helper()
	p := c.post(t, "/payouts/runs/new", url.Values{"currency": {"GBP"}, "cutoff": {c.time.Now().Format(payoutpages.CutoffForm)}, "minimum": {minimum}, "note": {"for January"}})
	at := p.location()
	if p.status != http.StatusSeeOther || !strings.HasPrefix(at, "/payouts/runs/po_") {
		t.Fatalf("%d %s", p.status, p.text())
	}
	testkit.Eventually(t, time.Minute, "the run is prepared", func() bool { return strings.Contains(c.get(t, at+"/live").body, "waits for approval") })
	return at
}

// A run goes from one person to another, to the bank, and to the partner.
func TestRun(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	if p := c.get(t, "/payouts/runs/new"); !strings.Contains(p.body, `value="2026-01-01T00:00"`) {
		t.Errorf("the cutoff that is offered: %s", p.text())
	}
	fay := c.other(t, "fay@example.com")
	p := c.post(t, "/payouts/runs/new", url.Values{"currency": {"GBP"}, "cutoff": {c.time.Now().Format(payoutpages.CutoffForm)}, "minimum": {"25"}})
	at := p.location()
	c.get(t, at).wants(t, "preparing", http.StatusOK, "being prepared", "waits for a node", `hx-get="`+at+`/live"`, "Stop")
	c.works(t)
	testkit.Eventually(t, time.Minute, "the run is prepared", func() bool { return strings.Contains(c.get(t, at+"/live").body, "waits for approval") })
	p = c.get(t, at)
	p.wants(t, "prepared", http.StatusOK, "58.00<span", "1 to pay, 1 held", "held: below the minimum", "to be paid", "You prepared it", "finance@example.com")
	version := url.Values{"version": {"2"}}
	c.post(t, at+"/approve", version).wants(t, "approved by whoever prepared it", http.StatusForbidden, "somebody else approves it")
	if p := c.get(t, at+"/payments.csv"); p.status != http.StatusConflict {
		t.Errorf("payments of what nobody approved: %d", p.status)
	}
	fay.get(t, "/").wants(t, "the overview", http.StatusOK, "A payout run in GBP waits for approval", at)
	if p := c.get(t, "/"); strings.Contains(p.body, "waits for approval") {
		t.Error("it waits for whoever prepared it")
	}
	fay.post(t, at+"/approve", url.Values{"version": {"1"}}).wants(t, "approved as it was", http.StatusConflict, "changed this while you had it open", "Nothing was done", "preparing → <strong>prepared")
	c.get(t, "/payouts/runs").wants(t, "the list", http.StatusOK, "1 to pay")
	if p := fay.post(t, at+"/approve", version); p.location() != at {
		t.Fatalf("%d %s", p.status, p.text())
	}
	rows := records(t, fay.get(t, at+"/payments.csv"))
	if len(rows) != 1 || rows[0]["legal_name"] != "Harbour Leads Limited" || rows[0]["amount"] != "58.00" || rows[0]["reference"] != strings.TrimPrefix(at, "/payouts/runs/") {
		t.Errorf("%v", rows)
	}
	form := url.Values{"version": {"3"}, "reference": {"BACS 77"}, "name": {"58"}}
	fay.post(t, at+"/pay", form).wants(t, "another total", http.StatusUnprocessableEntity, `id="f-name-error"`, `value="BACS 77"`)
	form.Set("name", "58.00")
	form.Set("reference", " ")
	fay.post(t, at+"/pay", form).wants(t, "no reference", http.StatusUnprocessableEntity, `id="f-reference-error"`)
	form.Set("reference", "BACS 77")
	if p := fay.post(t, at+"/pay", form); p.location() != at {
		t.Fatalf("%d %s", p.status, p.text())
	}
	fay.get(t, at+"/payments.csv") // which changes nothing
	fay.post(t, at+"/pay", form).wants(t, "paid again", http.StatusConflict, "You did this already", "approved → <strong>paid")
	c.post(t, at+"/pay", form).wants(t, "paid by another", http.StatusConflict, "fay@example.com changed this", "Nothing was done", "approved → <strong>paid")
	fay.get(t, at).wants(t, "paid", http.StatusOK, "1 paid, 1 held", "BACS 77", "fay@example.com", "does not change any more")
	statements(t, c, at)
	c.intact(t)
}

// statements are what partners get of a paid run, each their own.
func statements(t *testing.T, c *till, at string) {
	t.Helper()
	mine := c.other(t, "of-harbour@example.com")
	harbour, meadow := at+"/statements/"+id.Format(id.Partner, c.harbour.ID), at+"/statements/"+id.Format(id.Partner, c.meadow.ID)
	mine.get(t, harbour).wants(t, "harbour's", http.StatusOK, "Harbour Leads Limited", "58.00<span", "It is paid with this run", "BACS 77", "The 2 entries that the run closes")
	c.get(t, meadow).wants(t, "meadow's", http.StatusOK, "carried forward: it is below 25.00 GBP")
	rows := records(t, mine.get(t, harbour+"/entries.csv"))
	if len(rows) != 3 || rows[2]["kind"] != "payment" || rows[2]["amount"] != "-58.00" {
		t.Errorf("%v", rows)
	}
	if p := mine.get(t, "/audit"); strings.Contains(p.body, "/payouts/runs/") || !strings.Contains(p.body, "ledger: export") {
		t.Errorf("the audit trail leads to a run that is not theirs to see: %s", p.text())
	}
	mine.get(t, web.LeadURL(c.leads[0])).wants(t, "the lead", http.StatusOK, ">Paid<", "BACS 77", `href="`+harbour+`"`)
	if p := mine.get(t, web.LeadURL(c.leads[2])); strings.Contains(p.body, ">Paid<") {
		t.Errorf("a lead in another currency is paid: %s", p.text())
	}
	c.get(t, web.LeadURL(c.leads[0])).wants(t, "the lead", http.StatusOK, ">Paid<", `href="`+at+`"`)
	none := mine.get(t, "/no-such-page")
	for _, path := range []string{meadow, meadow + "/entries.csv", at, at + "/live", "/payouts/runs", "/payouts/runs/new", at + "/payments.csv", at + "/pay", at + "/cancel"} {
		if p := mine.get(t, path); p.status != http.StatusNotFound || p.body != none.body {
			t.Errorf("%s for harbour's finance: %d", path, p.status)
		}
	}
	mine.get(t, "/payouts?partner=harbour-leads").wants(t, "the way there", http.StatusOK, `href="`+harbour+`"`)
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	at := c.prepared(t, "")
	c.get(t, at+"/cancel").wants(t, "the question", http.StatusOK, `name="reason"`)
	c.post(t, at+"/cancel", url.Values{"version": {"2"}, "reason": {" "}}).wants(t, "no reason", http.StatusUnprocessableEntity, `id="f-reason-error"`)
	if p := c.post(t, at+"/cancel", url.Values{"version": {"2"}, "reason": {"A mistake"}}); p.location() != at {
		t.Fatalf("%d %s", p.status, p.text())
	}
	c.get(t, at).wants(t, "cancelled", http.StatusOK, "A mistake", "for the next run", "2 would have been paid, 0 held", "Would have been paid")
	c.get(t, "/payouts/runs").wants(t, "the list", http.StatusOK, "2 would have been paid")
	letter := c.get(t, at+"/statements/"+id.Format(id.Partner, c.harbour.ID))
	letter.wants(t, "the statement", http.StatusOK, "cancelled: nothing is paid by it", "It would have been")
	for _, not := range []string{"to be paid", "is paid with this run", "not paid yet", "/payouts?partner"} {
		if strings.Contains(letter.body, not) {
			t.Errorf("the statement of a cancelled run says %q: %s", not, letter.text())
		}
	}
	if p := c.get(t, at); strings.Contains(p.body, "to be paid") || strings.Contains(p.body, "> paid<") {
		t.Errorf("a cancelled run pays: %s", p.text())
	}
	if p := c.get(t, at+"/cancel"); p.location() != at {
		t.Errorf("it can be cancelled again: %d %s", p.status, p.text())
	}
	if p := c.get(t, at+"/pay"); p.location() != at {
		t.Errorf("%d", p.status)
	}
	c.time.Advance(11 * time.Minute)
	c.post(t, "/payouts/runs/new", url.Values{"currency": {"GBP"}, "cutoff": {"2026-01-02T00:00"}, "note": {"kept"}}).wants(t, "without proof", http.StatusUnprocessableEntity, `name="proof"`, "kept")
	c.intact(t)
}

// Long work is seen by those whom it concerns, and stopped by those who may.
func TestWork(t *testing.T) {
	t.Parallel()
	c := newTill(t) // nobody works at the desk: it waits
	at := c.post(t, "/payouts/runs/new", url.Values{"currency": {"EUR"}, "cutoff": {"2026-01-02T00:00"}}).location()
	number := "/work/" + testkit.Value[string](t, c.Database, `SELECT id::text FROM work`)
	c.get(t, "/work").wants(t, "the list", http.StatusOK, "Payout run", `href="`+at+`"`, "waits for its turn", `action="`+number+`/cancel"`, `hx-get="`+number+`/live"`)
	c.get(t, number+"/live").wants(t, "a row", http.StatusOK, "<tr", "waits for its turn")
	mine, auditor := c.other(t, "of-harbour@example.com"), c.as(t, models.Auditor)
	if p := mine.get(t, "/work"); strings.Contains(p.body, at) || mine.get(t, number+"/live").status != http.StatusNotFound || mine.post(t, number+"/cancel", nil).status != http.StatusNotFound {
		t.Errorf("harbour's finance sees it: %s", p.text())
	}
	if p := auditor.get(t, "/work"); strings.Contains(p.body, number+"/cancel") || auditor.post(t, number+"/cancel", nil).status != http.StatusForbidden {
		t.Errorf("an auditor stops it: %s", p.text())
	}
	if p := c.post(t, number+"/cancel", url.Values{"return": {at}}); p.location() != at {
		t.Errorf("%d to %s", p.status, p.location())
	}
	c.get(t, at).wants(t, "stopped", http.StatusOK, "It was cancelled")
	if p := c.get(t, at); strings.Contains(p.body, "No statements") || strings.Contains(p.body, "0 held") {
		t.Errorf("what a run that was never prepared comes to: %s", p.text())
	}
	c.post(t, number+"/cancel", url.Values{"return": {"https://evil.example"}}).wants(t, "stopped again", http.StatusConflict, "had ended already")
	c.Exec(t, `UPDATE work SET state = 'failed', failure = 'It failed.', ended_at = $1`, c.time.Now())
	c.get(t, "/").wants(t, "the overview", http.StatusOK, "1 piece of long work failed", `href="/work"`)
	c.intact(t)
}

// Who sees every run, and does payouts at one partner, is offered nothing of the whole
// platform's that would be refused.
func TestRunsOfAMixedRole(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.person(t, "mixed@example.com", models.StaffRole{Role: models.Auditor}, models.StaffRole{Role: models.Finance, PartnerID: &c.harbour.ID})
	c.reload(t)
	mixed := c.other(t, "mixed@example.com")
	at := c.post(t, "/payouts/runs/new", url.Values{"currency": {"GBP"}, "cutoff": {c.time.Now().Format(payoutpages.CutoffForm)}}).location()
	for _, path := range []string{at, "/work"} {
		if p := mixed.get(t, path); p.status != http.StatusOK || strings.Contains(p.body, "/cancel") {
			t.Errorf("%s: %d, offers to stop what it may not: %s", path, p.status, p.text())
		}
	}
	number := "/work/" + testkit.Value[string](t, c.Database, `SELECT id::text FROM work`)
	if p := mixed.post(t, number+"/cancel", nil); p.status != http.StatusForbidden {
		t.Errorf("stops it: %d", p.status)
	}
	c.works(t)
	testkit.Eventually(t, time.Minute, "the run is prepared", func() bool { return strings.Contains(c.get(t, at+"/live").body, "waits for approval") })
	for _, path := range []string{at, "/payouts/runs"} {
		p := mixed.get(t, path)
		for _, not := range []string{at + "/approve", at + "/cancel", "/payouts/runs/new"} {
			if p.status != http.StatusOK || strings.Contains(p.body, not) {
				t.Errorf("%s: %d, offers %s", path, p.status, not)
			}
		}
	}
	c.other(t, "fay@example.com").post(t, at+"/approve", url.Values{"version": {"2"}})
	if p := mixed.get(t, at); strings.Contains(p.body, at+"/pay\"") || !strings.Contains(p.body, at+"/payments.csv") {
		t.Errorf("offers to pay: %s", p.text())
	}
}

// Whoever asked for an export may stop it, whatever else they may.
func TestOwnExportIsStopped(t *testing.T) {
	t.Parallel()
	c := newTill(t) // nobody works at the desk: it waits
	auditor := c.as(t, models.Auditor)
	at := auditor.post(t, "/payouts/exports", url.Values{"kind": {"accrual"}}).location()
	number := "/work/" + testkit.Value[string](t, c.Database, `SELECT id::text FROM work`)
	auditor.get(t, "/work").wants(t, "the list", http.StatusOK, `action="`+number+`/cancel"`, `href="`+at+`"`, `aria-current="page"`)
	if p := auditor.post(t, number+"/cancel", nil); p.location() != "/work" {
		t.Errorf("%d %s", p.status, p.text())
	}
	auditor.get(t, "/work").wants(t, "stopped", http.StatusOK, "cancelled")
}

// The house is nobody's partner: its leads and entries are there, and lead to no page of
// its own that is not.
func TestHouseInTheLedger(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	lead := c.lead(t, payee{models.Partner{ID: models.House.Partner}, models.Account{ID: models.House.Account}}, money.Amount{Minor: 700, Currency: money.GBP})
	c.time.Advance(time.Minute) // so that it is before a cutoff
	own := "/payouts?account=" + id.Format(id.Account, models.House.Account)
	c.works(t)
	at := c.prepared(t, "")
	c.post(t, "/payouts/returns/new", url.Values{"lead": {leadID(lead)}, "reason": {"fraud"}, "evidence": {"x"}})
	statement := at + "/statements/" + id.Format(id.Partner, models.House.Partner)
	run := strings.TrimPrefix(at, "/payouts/runs/")
	c.get(t, "/payouts/balances").wants(t, "balances", http.StatusOK, `href="`+own+`"`)
	c.get(t, statement).wants(t, "the statement", http.StatusOK, `href="`+own+"&amp;run="+run+`"`)
	c.get(t, own+"&run="+run).wants(t, "its entries", http.StatusOK, leadID(lead))
	slug := testkit.Value[string](t, c.Database, `SELECT slug FROM partners WHERE id = $1`, models.House.Partner)
	c.get(t, "/payouts/returns").wants(t, "returns", http.StatusOK, leadID(lead), slug)
	for _, path := range []string{"/payouts", "/payouts/balances", "/payouts/returns", statement, "/leads", web.LeadURL(lead), "/audit"} {
		p := c.get(t, path)
		if p.status != http.StatusOK || strings.Contains(p.body, web.PartnerURL(models.House.Partner)) || strings.Contains(p.body, "partner="+slug) {
			t.Errorf("%s: %d, leads to a page of the house", path, p.status)
		}
	}
}

// What is asked for by lists of another kind, or for nothing, is no page.
func TestBadRunCursors(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	for _, path := range []string{"/payouts/runs?before=x", "/payouts/runs?after=" + id.Format(id.Payout, uuid.New()), "/payouts/returns?after=%00", "/payouts/balances?after=%ff", "/work?older=x", "/payouts?older=-1", "/payouts?newer=99999999999999999999"} {
		if p := c.get(t, path); p.status != http.StatusOK {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}
