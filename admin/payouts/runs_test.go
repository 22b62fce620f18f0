package payouts_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// One user prepares a run, another approves it and marks it as paid, and the partner gets a
// statement.
func TestRun(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	if p := c.Get(t, "/payouts/runs/new"); !strings.Contains(p.Body, `value="2026-01-01T00:00"`) {
		t.Errorf("want the start of the month as cutoff: %s", p.Text())
	}
	fay := c.SignInAnotherUser(t, "fay@example.com")
	manager, officer := c.SignedInAs(t, models.AccountManager), c.SignedInAs(t, models.Privacy)
	payout := func(state string) {
		t.Helper()
		lead := "/leads/" + admintest.LeadID(c.Leads[0])
		manager.Get(t, lead).Expect(t, "the lead's page", http.StatusOK, `data-payout="`+state+`"`)
		if p := officer.Get(t, lead); p.Status != http.StatusOK || strings.Contains(p.Body, "data-payout") {
			t.Errorf("a privacy officer sees the payout: got status %d: %s", p.Status, p.Text())
		}
	}
	payout("earned")
	p := c.Post(t, "/payouts/runs/new", url.Values{
		"currency": {"GBP"},
		"cutoff":   {c.Time.Now().Format(payoutpages.CutoffForm)},
		"minimum":  {"25"},
	})
	at := p.Location()
	c.Get(t, at).Expect(t, "preparing", http.StatusOK, `data-state="preparing"`, `hx-get="`+at+`/live"`, `action="/jobs/`)
	c.RunJobs(t)
	testkit.Eventually(t, time.Minute, "the run is prepared", func() bool { return c.Get(t, at+"/live").State() == "prepared" })
	payout("prepared")
	p = c.Get(t, at)
	p.Expect(t, "prepared", http.StatusOK, "58.00<span", `data-state="prepared"`, `data-payouts="1" data-held="1"`,
		`data-state="below_minimum"`, `data-state="pays"`, `data-state="prepared"`, "finance@example.com")
	if strings.Contains(p.Body, at+"/approve") {
		t.Errorf("the preparer's page has the approval form: %s", p.Text())
	}
	version := url.Values{"version": {"2"}}
	c.Post(t, at+"/approve", version).Expect(t, "approved by its preparer", http.StatusForbidden)
	if p := c.Get(t, at+"/payments.csv"); p.Status != http.StatusConflict {
		t.Errorf("payments file before approval: got status %d, want 409", p.Status)
	}
	fay.Get(t, "/").Expect(t, "the overview", http.StatusOK, `href="`+at+`" data-need`)
	if p := c.Get(t, "/"); p.Status != http.StatusOK || strings.Contains(p.Body, `href="`+at+`" data-need`) {
		t.Errorf("the preparer's overview lists the run: got status %d: %s", p.Status, p.Text())
	}
	fay.Post(t, at+"/approve", url.Values{"version": {"1"}}).Expect(t, "approved with an old version", http.StatusConflict,
		`data-conflict="changed"`, `data-state="prepared"`)
	c.Get(t, "/payouts/runs").Expect(t, "the list", http.StatusOK, `data-payouts="1"`)
	fay.Post(t, at+"/approve", version).ExpectRedirect(t, at)
	payout("approved")
	rows := records(t, fay.Get(t, at+"/payments.csv"))
	if len(rows) != 1 || rows[0]["legal_name"] != "Harbour Leads Limited" || rows[0]["amount"] != "58.00" ||
		rows[0]["reference"] != strings.TrimPrefix(at, "/payouts/runs/") {
		t.Errorf("got payments %v", rows)
	}
	form := url.Values{"version": {"3"}, "reference": {"BACS 77"}, "name": {"58"}}
	fay.Post(t, at+"/pay", form).Expect(t, "wrong total", http.StatusUnprocessableEntity, `id="f-name-error"`,
		`value="BACS 77"`)
	form.Set("name", "58.00")
	form.Set("reference", " ")
	fay.Post(t, at+"/pay", form).Expect(t, "no reference", http.StatusUnprocessableEntity, `id="f-reference-error"`)
	form.Set("reference", "BACS 77")
	fay.Post(t, at+"/pay", form).ExpectRedirect(t, at)
	payout("paid")
	fay.Get(t, at+"/payments.csv") // a download does not change the run
	fay.Post(t, at+"/pay", form).Expect(t, "paid again", http.StatusConflict, `data-conflict="already"`, `data-state="paid"`)
	c.Post(t, at+"/pay", form).Expect(t, "paid by another user", http.StatusConflict, `data-conflict="changed"`,
		"fay@example.com", `data-state="paid"`)
	fay.Get(t, at).Expect(t, "paid", http.StatusOK, `data-state="paid"`, `data-payouts="1" data-held="1"`, "BACS 77",
		"fay@example.com")
	checkStatements(t, c, at)
	c.CheckAuditLog(t)
}

// checkStatements checks the statements of a paid run. It also checks that finance users who are
// limited to one partner cannot see other partners' statements.
func checkStatements(t *testing.T, c *admintest.ConsoleWithLedger, at string) {
	t.Helper()
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	harbour, meadow := at+"/statements/"+id.Format(id.Partner, c.Harbour.ID), at+"/statements/"+id.Format(id.Partner, c.Meadow.ID)
	mine.Get(t, harbour).Expect(t, "harbour's statement", http.StatusOK, "Harbour Leads Limited", "58.00<span",
		`data-state="paid"`, `data-entries="2" data-outcome="pays"`, "BACS 77")
	c.Get(t, meadow).Expect(t, "meadow's statement", http.StatusOK, `data-outcome="below_minimum"`, "25.00 GBP")
	rows := records(t, mine.Get(t, harbour+"/entries.csv"))
	if len(rows) != 3 || rows[2]["kind"] != "payment" || rows[2]["amount"] != "-58.00" {
		t.Errorf("got statement entries %v", rows)
	}
	for _, path := range []string{"/audit", "/audit?action=ledger.export"} {
		if p := mine.Get(t, path); strings.Contains(p.Body, "/payouts/runs/") || p.State() != "done" {
			t.Errorf("%s links to a run that the user cannot see: %s", path, p.Text())
		}
	}
	mine.Get(t, web.LeadURL(c.Leads[0])).Expect(t, "the lead", http.StatusOK, "BACS 77", `href="`+harbour+`"`)
	if p := mine.Get(t, web.LeadURL(c.Leads[2])); strings.Contains(p.Body, "BACS 77") {
		t.Errorf("a lead in another currency is shown as paid: %s", p.Text())
	}
	c.Get(t, web.LeadURL(c.Leads[0])).Expect(t, "the lead", http.StatusOK, `href="`+at+`"`)
	none := mine.Get(t, "/no-such-page")
	for _, path := range []string{meadow, meadow + "/entries.csv", at, at + "/live", "/payouts/runs",
		"/payouts/runs/new", at + "/payments.csv", at + "/pay", at + "/cancel"} {
		if p := mine.Get(t, path); p.Status != http.StatusNotFound || p.Body != none.Body {
			t.Errorf("%s for harbour's finance user: got status %d, want 404", path, p.Status)
		}
	}
	mine.Get(t, "/payouts?partner=harbour-leads").Expect(t, "the ledger with a link to the statement", http.StatusOK, `href="`+harbour+`"`)
}

// The page of a prepared run lists what its approver must know.
func TestRunShowsExceptions(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	fay := c.SignInAnotherUser(t, "fay@example.com")
	account, err := c.Options.Partners.CreateAccount(t.Context(), scope.System, c.Harbour.Partner,
		partners.NewAccount{Identifier: "harbour-leads-2"})
	if err != nil {
		t.Fatal(err)
	}
	adjust := func(account uuid.UUID, amount string) (adjustment, location string) {
		t.Helper()
		adjustment = id.Format(id.Adjustment, uuid.New())
		return adjustment, c.Post(t, "/payouts/adjust", url.Values{
			"own": {adjustment}, "account": {id.Format(id.Account, account)},
			"amount": {amount}, "currency": {"GBP"}, "why": {"bonus"},
		}).Location()
	}
	adjust(account.ID, "-7.50")
	c.Time.Advance(time.Minute)
	c.RunJobs(t)
	cutoff := c.Time.Now().Format(payoutpages.CutoffForm)
	form := url.Values{"currency": {"GBP"}, "cutoff": {cutoff}, "minimum": {"0"}}
	at := c.Post(t, "/payouts/runs/new", form).Location()
	testkit.Eventually(t, time.Minute, "the run is prepared",
		func() bool { return c.Get(t, at+"/live").State() == "prepared" })
	c.Time.Advance(time.Minute)
	requestReturn := func(lead uuid.UUID) string {
		t.Helper()
		return c.Post(t, "/payouts/returns/new", url.Values{
			"lead": {id.Format(id.Lead, lead)}, "reason": {"wrong_contact"}, "evidence": {"a bakery's number"},
		}).ExpectCreated(t, "/payouts/returns/rt_")
	}
	requestReturn(c.Leads[0])
	fay.Post(t, requestReturn(c.Leads[1])+"/accept", url.Values{"answer": {""}})
	adjust(c.Harbour.Account.ID, "1.25")
	if adjustment, location := adjust(c.Harbour.Account.ID, "500.01"); location != "/payouts/adjustments/"+adjustment {
		t.Errorf("an adjustment above the limit: got %q", location)
	}
	c.Exec(t, `UPDATE partners SET status = 'suspended', legal_name = '' WHERE id = $1`, c.Harbour.ID)
	page := fay.Get(t, at)
	page.Expect(t, "exceptions", http.StatusOK, `data-exceptions="7"`)
	partner := "partner=harbour-leads"
	statement := at + "/statements/" + id.Format(id.Partner, c.Harbour.ID)
	for kind, want := range map[string]struct{ href, amount string }{
		"late_returns":      {"/payouts?" + partner + "&amp;open=1&amp;currency=GBP&amp;kind=return", "−12.40"},
		"late_adjustments":  {"/payouts?" + partner + "&amp;open=1&amp;currency=GBP&amp;kind=adjustment", "1.25"},
		"open_returns":      {"/payouts/returns?state=open&amp;" + partner, "−45.60"},
		"open_adjustments":  {"/payouts/adjustments?state=open&amp;" + partner + "&amp;currency=GBP", "500.01"},
		"owing_accounts":    {statement, "−7.50"},
		"suspended_partner": {statement, "58.00"},
		"no_legal_name":     {statement, "58.00"},
	} {
		row := regexp.MustCompile(`(?s)href="([^"]*)" data-exception="` + kind + `".*?</tr>`).FindStringSubmatch(page.Body)
		if row == nil || row[1] != want.href || !strings.Contains(row[0], want.amount+"<span") {
			t.Errorf("%s: got %q, want the URL %s and the amount %s", kind, row, want.href, want.amount)
		}
	}
	fay.Post(t, at+"/approve", url.Values{"version": {"2"}}).ExpectRedirect(t, at)
	if p := fay.Get(t, at); strings.Contains(p.Body, "data-exception") {
		t.Errorf("an approved run lists exceptions: %s", p.Text())
	}
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	at := c.PreparedRun(t, "")
	c.Get(t, at+"/cancel").Expect(t, "the confirmation", http.StatusOK, `name="reason"`)
	c.Post(t, at+"/cancel", url.Values{"version": {"2"}, "reason": {" "}}).Expect(t, "no reason",
		http.StatusUnprocessableEntity, `id="f-reason-error"`)
	c.Post(t, at+"/cancel", url.Values{"version": {"2"}, "reason": {"A mistake"}}).ExpectRedirect(t, at)
	c.Get(t, at).Expect(t, "cancelled", http.StatusOK, "A mistake", `data-state="cancelled"`, `data-payouts="2" data-held="0"`)
	c.Get(t, "/payouts/runs").Expect(t, "the list", http.StatusOK, `data-state="cancelled"`, `data-payouts="2"`)
	letter := c.Get(t, at+"/statements/"+id.Format(id.Partner, c.Harbour.ID))
	letter.Expect(t, "the statement", http.StatusOK, `data-state="cancelled"`)
	if strings.Contains(letter.Body, "/payouts?partner") {
		t.Errorf("the statement of a cancelled run links to the ledger: %s", letter.Text())
	}
	if p := c.Get(t, at); strings.Contains(p.Body, `data-state="pays"`) || strings.Contains(p.Body, `data-state="paid"`) {
		t.Errorf("a cancelled run is shown as paid: %s", p.Text())
	}
	if p := c.Get(t, at+"/cancel"); p.Location() != at {
		t.Errorf("cancelling again: got status %d, want a redirect: %s", p.Status, p.Text())
	}
	if p := c.Get(t, at+"/pay"); p.Location() != at {
		t.Errorf("paying a cancelled run: got status %d, want a redirect", p.Status)
	}
	c.Time.Advance(11 * time.Minute)
	c.Post(t, "/payouts/runs/new", url.Values{
		"currency": {"GBP"},
		"cutoff":   {"2026-01-02T00:00"},
		"note":     {"kept"},
	}).Expect(t, "without step-up", http.StatusUnprocessableEntity, `name="proof"`, "kept")
	c.CheckAuditLog(t)
}

// Users see the jobs in their scope, and those with permission can cancel them.
func TestJobs(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t) // without a node to run jobs
	at := c.Post(t, "/payouts/runs/new", url.Values{"currency": {"EUR"}, "cutoff": {"2026-01-02T00:00"}}).Location()
	number := "/jobs/" + testkit.Value[string](t, c.Database, `SELECT id::text FROM jobs`)
	c.Get(t, "/jobs").Expect(t, "the list", http.StatusOK, `href="`+at+`"`, `data-state="waiting"`,
		`action="`+number+`/cancel"`, `hx-get="`+number+`/live"`)
	c.Get(t, number+"/live").Expect(t, "a row", http.StatusOK, "<tr", `data-state="waiting"`)
	mine, auditor := c.SignInAnotherUser(t, "of-harbour@example.com"), c.SignedInAs(t, models.Auditor)
	if p := mine.Get(t, "/jobs"); strings.Contains(p.Body, at) ||
		mine.Get(t, number+"/live").Status != http.StatusNotFound ||
		mine.Post(t, number+"/cancel", nil).Status != http.StatusNotFound {
		t.Errorf("harbour's finance user can see or cancel the job: %s", p.Text())
	}
	if p := auditor.Get(t, "/jobs"); strings.Contains(p.Body, number+"/cancel") ||
		auditor.Post(t, number+"/cancel", nil).Status != http.StatusForbidden {
		t.Errorf("an auditor can cancel the job: %s", p.Text())
	}
	if p := c.Post(t, number+"/cancel", url.Values{"return": {at}}); p.Location() != at {
		t.Errorf("got status %d to %s, want a redirect to %s", p.Status, p.Location(), at)
	}
	c.Get(t, at).Expect(t, "cancelled", http.StatusOK, `data-state="cancelled"`)
	if p := c.Get(t, at); strings.Contains(p.Body, "data-empty") || strings.Contains(p.Body, "data-held") {
		t.Errorf("a run that was never prepared shows totals: %s", p.Text())
	}
	c.Post(t, number+"/cancel", url.Values{"return": {"https://evil.example"}}).Expect(t, "cancelled again", http.StatusConflict)
	c.Exec(t, `UPDATE jobs SET state = 'failed', failure = 'It failed.', ended_at = $1`, c.Time.Now())
	c.Get(t, "/").Expect(t, "the overview", http.StatusOK, `href="/jobs" data-need`)
	c.CheckAuditLog(t)
}

// A user who may see all runs, but may change payouts only for one partner, does not get buttons for
// actions that would be rejected.
func TestRunsPageHidesForbiddenActions(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.AddStaff(t, "mixed@example.com", models.StaffRole{Role: models.Auditor}, models.StaffRole{
		Role:      models.Finance,
		PartnerID: &c.Harbour.ID,
	})
	c.Reload(t)
	mixed := c.SignInAnotherUser(t, "mixed@example.com")
	at := c.Post(t, "/payouts/runs/new", url.Values{
		"currency": {"GBP"},
		"cutoff":   {c.Time.Now().Format(payoutpages.CutoffForm)},
	}).Location()
	for _, path := range []string{at, "/jobs"} {
		if p := mixed.Get(t, path); p.Status != http.StatusOK || strings.Contains(p.Body, "/cancel") {
			t.Errorf("%s: got status %d, want no cancel button: %s", path, p.Status, p.Text())
		}
	}
	number := "/jobs/" + testkit.Value[string](t, c.Database, `SELECT id::text FROM jobs`)
	if p := mixed.Post(t, number+"/cancel", nil); p.Status != http.StatusForbidden {
		t.Errorf("cancelling the job: got status %d, want 403", p.Status)
	}
	c.RunJobs(t)
	testkit.Eventually(t, time.Minute, "the run is prepared", func() bool { return c.Get(t, at+"/live").State() == "prepared" })
	for _, path := range []string{at, "/payouts/runs"} {
		p := mixed.Get(t, path)
		for _, not := range []string{at + "/approve", at + "/cancel", "/payouts/runs/new"} {
			if p.Status != http.StatusOK || strings.Contains(p.Body, not) {
				t.Errorf("%s: got status %d, want no link to %s", path, p.Status, not)
			}
		}
	}
	c.SignInAnotherUser(t, "fay@example.com").Post(t, at+"/approve", url.Values{"version": {"2"}})
	if p := mixed.Get(t, at); strings.Contains(p.Body, at+"/pay\"") || !strings.Contains(p.Body, at+"/payments.csv") {
		t.Errorf("want a payments file and no payment button: %s", p.Text())
	}
}

// Users can always cancel the exports that they requested.
func TestUserCancelsOwnExport(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t) // without a node to run jobs
	auditor := c.SignedInAs(t, models.Auditor)
	at := auditor.Post(t, "/payouts/exports", url.Values{"kind": {"accrual"}}).Location()
	number := "/jobs/" + testkit.Value[string](t, c.Database, `SELECT id::text FROM jobs`)
	auditor.Get(t, "/jobs").Expect(t, "the list", http.StatusOK, `action="`+number+`/cancel"`, `href="`+at+`"`,
		`aria-current="page"`)
	if p := auditor.Post(t, number+"/cancel", nil); p.Location() != "/jobs" {
		t.Errorf("got status %d: %s", p.Status, p.Text())
	}
	auditor.Get(t, "/jobs").Expect(t, "cancelled", http.StatusOK, `data-state="cancelled"`)
}

// Pages show the leads and entries of the platform account. They do not link to its partner page,
// which does not exist.
func TestLedgerShowsPlatformAccount(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	lead := c.DeliverLead(t, admintest.Payee{
		Partner: models.Partner{ID: models.PlatformIDs.Partner},
		Account: models.Account{ID: models.PlatformIDs.Account},
	}, money.Amount{Minor: 700, Currency: money.GBP})
	c.Time.Advance(time.Minute) // so that the lead is before the cutoff
	own := "/payouts?account=" + id.Format(id.Account, models.PlatformIDs.Account)
	c.RunJobs(t)
	at := c.PreparedRun(t, "")
	c.Post(t, "/payouts/returns/new", url.Values{
		"lead":     {admintest.LeadID(lead)},
		"reason":   {"fraud"},
		"evidence": {"x"},
	})
	statement := at + "/statements/" + id.Format(id.Partner, models.PlatformIDs.Partner)
	run := strings.TrimPrefix(at, "/payouts/runs/")
	c.Get(t, "/payouts/balances").Expect(t, "balances", http.StatusOK, `href="`+own+`"`)
	c.Get(t, statement).Expect(t, "the statement", http.StatusOK, `href="`+own+"&amp;run="+run+`"`)
	c.Get(t, own+"&run="+run).Expect(t, "its entries", http.StatusOK, admintest.LeadID(lead))
	slug := testkit.Value[string](t, c.Database, `SELECT slug FROM partners WHERE id = $1`, models.PlatformIDs.Partner)
	c.Get(t, "/payouts/returns").Expect(t, "returns", http.StatusOK, admintest.LeadID(lead), slug)
	for _, path := range []string{"/payouts", "/payouts/balances", "/payouts/returns", statement, "/leads",
		web.LeadURL(lead), "/audit"} {
		p := c.Get(t, path)
		if p.Status != http.StatusOK || strings.Contains(p.Body, web.PartnerURL(models.PlatformIDs.Partner)) ||
			strings.Contains(p.Body, "partner="+slug) {
			t.Errorf("%s: got status %d, want no link to the platform's partner page", path, p.Status)
		}
	}
}

// Cursors that are not valid, or that point to nothing, do not cause an error.
func TestInvalidCursors(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	for _, path := range []string{"/payouts/runs?before=x", "/payouts/runs?after=" + id.Format(id.Payout, uuid.New()),
		"/payouts/returns?after=%00", "/payouts/balances?after=%ff", "/jobs?after=x", "/payouts?after=-1",
		"/payouts?before=99999999999999999999"} {
		if p := c.Get(t, path); p.Status != http.StatusOK {
			t.Errorf("%s: got status %d, want 200", path, p.Status)
		}
	}
}
