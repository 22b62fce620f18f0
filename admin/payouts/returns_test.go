package payouts_test

import (
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

// One user requests a return and another decides it.
func TestReturn(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	lead := admintest.LeadID(c.Leads[0])
	c.Get(t, "/payouts/returns/new?lead="+lead).Expect(t, "the form", http.StatusOK, "45.60<span", `name="evidence"`)
	c.Get(t, "/payouts/returns/new?lead="+strings.TrimPrefix(lead, "ld_")).
		Expect(t, "an ID without its prefix", http.StatusOK, `name="evidence"`)
	transaction := admintest.TransactionID(c.Leads[0])
	c.Get(t, "/payouts/returns/new?lead="+transaction).
		Expect(t, "a transactionId", http.StatusOK, `name="evidence"`)
	c.Get(t, "/payouts/returns/new?lead=of+Monday").
		Expect(t, "a text that is not an ID", http.StatusUnprocessableEntity, `data-error="lead"`)
	form := url.Values{"lead": {transaction}, "reason": {"duplicate"}, "evidence": {"Asked on Monday too"}}
	at := c.Post(t, "/payouts/returns/new", form).ExpectCreated(t, "/payouts/returns/rt_")
	again := c.Get(t, "/payouts/returns/new?lead="+lead)
	again.Expect(t, "the form for a returned lead", http.StatusUnprocessableEntity, `data-error="lead"`)
	if strings.Contains(again.Body, `name="evidence"`) || !slices.Contains(again.Codes(), "returned") {
		t.Errorf("the form does not say at once that the lead is returned: %s", again.Text())
	}
	c.Post(t, "/payouts/returns/new", form).Expect(t, "requested twice", http.StatusConflict, `data-errors="1"`,
		"Asked on Monday too")
	c.Get(t, "/").Expect(t, "the overview", http.StatusOK, `href="/payouts/returns?state=open" data-need`)
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	mine.Get(t, "/payouts/returns?state=open&partner=harbour-leads&lead="+lead).Expect(t, "the list", http.StatusOK,
		at, `data-state="open"`, "45.60<span")
	if p := c.Get(t, "/payouts/returns?state=accepted"); strings.Contains(p.Body, at) ||
		!strings.Contains(p.Body, `data-empty="filtered"`) {
		t.Errorf("the list of accepted returns shows an open one: %s", p.Text())
	}
	c.Post(t, at+"/reject", url.Values{"answer": {""}}).Expect(t, "rejected without an answer",
		http.StatusUnprocessableEntity, `id="f-answer-error"`)
	mine.Post(t, at+"/accept", url.Values{"answer": {"Agreed"}}).ExpectRedirect(t, at)
	c.Post(t, at+"/reject", url.Values{"answer": {"No"}}).Expect(t, "decided twice", http.StatusConflict,
		`data-errors="1"`, `data-state="accepted"`, "Agreed")
	c.SignedInAs(t, models.AccountManager).Get(t, "/leads/"+lead).Expect(t, "the lead", http.StatusOK,
		`data-payout="returned"`)
	c.Get(t, "/payouts?lead="+transaction).Expect(t, "the ledger, by transactionId", http.StatusOK, "−45.60<span")
	c.Get(t, "/payouts/returns?lead="+transaction).Expect(t, "the returns, by transactionId", http.StatusOK, at)
	c.Get(t, "/payouts?lead="+lead).Expect(t, "the ledger", http.StatusOK, "−45.60<span", `href="/payouts/returns?lead=`+lead+`"`)
	second := c.Post(t, "/payouts/returns/new", url.Values{
		"lead":     {admintest.LeadID(c.Leads[3])},
		"reason":   {"fraud"},
		"evidence": {"x"},
	}).Location()
	c.Exec(t, `UPDATE returns SET amount_minor = 50001 WHERE state = 'open'`)
	p := c.Get(t, second)
	p.Expect(t, "own return above the limit", http.StatusOK, `data-others="fay@example.com"`,
		`formaction="`+second+`/reject"`)
	if strings.Contains(p.Body, "Accept return") {
		t.Errorf("the requester can accept the return: %s", p.Text())
	}
	c.Post(t, second+"/accept", nil).Expect(t, "accepted by the requester", http.StatusForbidden,
		`data-code="same_person"`)
	c.Post(t, second+"/reject", url.Values{"answer": {"Not shown"}}).ExpectRedirect(t, second)
	c.Get(t, second).Expect(t, "rejected", http.StatusOK, `data-state="`+string(models.ReturnRejected)+`"`, "Not shown")
	if p := mine.Get(t, second); p.Status != http.StatusNotFound || p.Body != mine.Get(t, "/no-such-page").Body {
		t.Errorf("another partner's return: got status %d, want 404", p.Status)
	}
	c.CheckAuditLog(t)
}

// Errors are shown at their fields, and the form keeps the input. Another partner's lead causes the
// same error as an unknown lead.
func TestInvalidReturns(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	for name, change := range map[string]struct{ field, value, mistake string }{
		"no lead":           {"lead", "", "lead"},
		"invalid id":        {"lead", "x", "lead"},
		"unknown lead":      {"lead", admintest.LeadID(uuid.New()), "lead"},
		"lead out of scope": {"lead", admintest.LeadID(c.Leads[3]), "lead"},
		"no reason":         {"reason", "", "reason"},
		"unknown reason":    {"reason", "boredom", "reason"},
		"no evidence":       {"evidence", " ", "evidence"},
		"NUL":               {"evidence", "a\x00", "evidence"},
		"invalid UTF-8":     {"evidence", "\xff", "evidence"},
		"too long":          {"evidence", strings.Repeat("x", 2001), "evidence"},
	} {
		form := url.Values{
			"lead":     {admintest.LeadID(c.Leads[0])},
			"reason":   {"duplicate"},
			"evidence": {admintest.HostileText},
		}
		form.Set(change.field, change.value)
		p := mine.Post(t, "/payouts/returns/new", form)
		p.Expect(t, name, http.StatusUnprocessableEntity, `id="f-`+change.mistake+`-error"`, `href="#f-`+change.mistake+`"`)
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: the page does not escape markup", name)
		}
	}
	if n := c.Console.Count(t, "returns", "true"); n != 0 {
		t.Errorf("got %d returns, want 0", n)
	}
}

var shownOwn = regexp.MustCompile(`name="own" value="(ad_[0-9A-Z]+)"`)

// Submitting a form twice adds one adjustment. If the values differ, the second request is rejected.
func TestAdjust(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.Get(t, "/payouts/adjust").Expect(t, "without a partner", http.StatusOK, `name="partner"`)
	c.Get(t, "/payouts/adjust?partner=unknown").Expect(t, "unknown partner", http.StatusUnprocessableEntity, `id="f-partner-error"`)
	p := c.Get(t, "/payouts/adjust?partner=harbour-leads")
	p.Expect(t, "the form", http.StatusOK, "harbour-leads-1", `name="amount"`)
	account := id.Format(id.Account, c.Harbour.Account.ID)
	form := url.Values{
		"own":      {shownOwn.FindStringSubmatch(p.Body)[1]},
		"partner":  {"harbour-leads"},
		"account":  {account},
		"amount":   {"-12.5"},
		"currency": {"GBP"},
		"why":      {"set-up fee"},
		"lead":     {admintest.LeadID(c.Leads[0])},
	}
	for range 2 {
		c.Post(t, "/payouts/adjust", form).ExpectRedirect(t, "/payouts?account="+account)
	}
	c.Get(t, "/payouts?account="+account).Expect(t, "the ledger", http.StatusOK, "−12.50<span", "set-up fee", "45.50<span")
	form.Set("amount", "1,099.00")
	p = c.Post(t, "/payouts/adjust", form)
	p.Expect(t, "other values with the same form", http.StatusConflict, `data-errors="1"`, `value="1,099.00"`)
	form.Set("own", shownOwn.FindStringSubmatch(p.Body)[1])
	at := "/payouts/adjustments/" + form.Get("own")
	for range 2 { // above the limit
		c.Post(t, "/payouts/adjust", form).ExpectRedirect(t, at)
	}
	approveAdjustment(t, c, at)
	if got := testkit.Value[string](t, c.Database, `SELECT string_agg(amount_minor::text, ' ' ORDER BY id) FROM ledger_entries WHERE kind = 'adjustment'`); got != "-1250 109900" {
		t.Errorf("got adjustments %s, want -1250 109900", got)
	}
	c.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT $1, $2, 'adjustment', 'ad_' || n, 1, 'EUR', $3 FROM generate_series(1, 9) n`, c.Harbour.ID, c.Harbour.Account.ID, c.Time.Now())
	c.Get(t, "/payouts/adjust?partner=harbour-leads").Expect(t, "the partner's currency", http.StatusOK, `<option value="EUR" selected`)
	c.CheckAuditLog(t)
}

// approveAdjustment checks that a user cannot approve their own adjustment, and that another user finds it and can.
func approveAdjustment(t *testing.T, c *admintest.ConsoleWithLedger, at string) {
	t.Helper()
	c.Get(t, "/payouts/adjust?partner=harbour-leads").Expect(t, "the form", http.StatusOK,
		`data-adjustable="0.00 GBP, 500.00 EUR, 500.00 USD, 500.00 CAD, 500.00 AUD"`)
	p := c.Get(t, at)
	p.Expect(t, "own adjustment", http.StatusOK, `data-state="open"`, "set-up fee",
		`data-others="fay@example.com or of-harbour@example.com"`, at+`/reject"`)
	if strings.Contains(p.Body, "Approve adjustment") {
		t.Errorf("the requester can approve the adjustment: %s", p.Text())
	}
	c.Post(t, at+"/approve", nil).Expect(t, "approved by the requester", http.StatusForbidden, `data-code="same_person"`)
	if p := c.Get(t, "/"); strings.Contains(p.Body, `href="/payouts/adjustments?state=open"`) {
		t.Errorf("the overview lists the user's own adjustment: %s", p.Text())
	}
	c.SignedInAs(t, models.Auditor).Post(t, at+"/approve", nil).Expect(t, "an auditor", http.StatusForbidden)
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	mine.Get(t, "/").Expect(t, "the overview", http.StatusOK, `href="/payouts/adjustments?state=open" data-need`)
	mine.Get(t, "/payouts/adjustments?state=open&partner=harbour-leads&currency=GBP").Expect(t, "the list", http.StatusOK,
		at, "1,099.00<span")
	mine.Get(t, "/jump?q="+path.Base(at)).ExpectRedirect(t, at)
	mine.Post(t, at+"/reject", nil).Expect(t, "rejected without a reason", http.StatusUnprocessableEntity,
		`id="f-answer-error"`)
	mine.Post(t, at+"/approve", nil).ExpectRedirect(t, at)
	c.Post(t, at+"/reject", url.Values{"answer": {"No"}}).Expect(t, "decided twice", http.StatusConflict,
		`data-state="approved"`, "set-up fee")
	if p := c.Get(t, "/payouts/adjustments?state=open"); !strings.Contains(p.Body, `data-empty="filtered"`) {
		t.Errorf("the list of open adjustments is not empty: %s", p.Text())
	}
	c.Exec(t, `UPDATE adjustments SET partner_id = $1`, c.Meadow.ID)
	mine.Get(t, at).Expect(t, "another partner's adjustment", http.StatusNotFound)
}

// Submitting a form again after many other adjustments does not add a second adjustment.
func TestAdjustAgainAfterManyAdjustments(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	account := id.Format(id.Account, c.Harbour.Account.ID)
	form := url.Values{
		"own":      {id.Format(id.Adjustment, uuid.New())},
		"partner":  {"harbour-leads"},
		"account":  {account},
		"amount":   {"7.25"},
		"currency": {"GBP"},
		"why":      {"set-up fee"},
		"lead":     {admintest.LeadID(c.Leads[0])},
	}
	c.Post(t, "/payouts/adjust", form).ExpectRedirect(t, "/payouts?account="+account)
	c.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT $1, $2, $3, 'adjustment', 'ad_' || n, 1, 'GBP', $4 FROM generate_series(1, $5) n`,
		c.Harbour.ID, c.Harbour.Account.ID, c.Leads[0], c.Time.Now(), web.PageSize)
	c.Post(t, "/payouts/adjust", form).ExpectRedirect(t, "/payouts?account="+account)
	form.Set("lead", "")
	c.Post(t, "/payouts/adjust", form).Expect(t, "the same form without a lead", http.StatusConflict, `data-errors="1"`)
	if n := c.Console.Count(t, "ledger_entries", "amount_minor = 725"); n != 1 {
		t.Errorf("got %d adjustments, want 1", n)
	}
}

// If a form is submitted twice at the same time, the second request waits for the first one and does
// not add an adjustment.
func TestConcurrentAdjustments(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	own, account := uuid.New(), id.Format(id.Account, c.Harbour.Account.ID)
	form := url.Values{
		"own":      {id.Format(id.Adjustment, own)},
		"partner":  {"harbour-leads"},
		"account":  {account},
		"amount":   {"7.25"},
		"currency": {"GBP"},
		"why":      {"set-up fee"},
	}
	first, err := testkit.Connect(t, c.RootURL).Begin(t.Context())
	if err == nil {
		_, err = first.Exec(t.Context(), `INSERT INTO adjustments (id, partner_id, account_id, amount_minor, currency, state, requested_by, requester_id, requested_at)
			VALUES ($3, $1, $2, 725, 'GBP', 'within_limit', 'x', $1, $4)`, c.Harbour.ID, c.Harbour.Account.ID, own, c.Time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	var second sync.WaitGroup
	second.Go(func() {
		if p := c.Post(t, "/payouts/adjust", form); p.Location() != "/payouts?account="+account {
			t.Errorf("the second request: got status %d: %s", p.Status, p.Text())
		}
	})
	defer second.Wait()
	testkit.Eventually(t, time.Minute, "the second request waits", func() bool {
		return testkit.Value[bool](t, c.Database,
			`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO "adjustments"%')`)
	})
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A partner that has only sandbox accounts has no balance to adjust.
func TestAdjustPartnerWithOnlySandboxAccounts(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.Exec(t, `UPDATE accounts SET sandbox = true WHERE id = $1`, c.Meadow.Account.ID)
	p := c.Get(t, "/payouts/adjust?partner=meadow-media")
	if p.Expect(t, "the page", http.StatusOK, c.Meadow.Name, `href="/payouts/adjust"`); strings.Contains(p.Body, `name="amount"`) {
		t.Errorf("the page has a form: %s", p.Text())
	}
}

func TestInvalidAdjustments(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	for name, change := range map[string]struct{ field, value, mistake string }{
		"no account":               {"account", "", "account"},
		"account out of scope":     {"account", id.Format(id.Account, c.Meadow.Account.ID), "account"},
		"unknown account":          {"account", id.Format(id.Account, uuid.New()), "account"},
		"zero":                     {"amount", "0", "amount"},
		"no amount":                {"amount", "", "amount"},
		"three decimals":           {"amount", "1.234", "amount"},
		"words":                    {"amount", "ten", "amount"},
		"too high":                 {"amount", "1000000.01", "amount"},
		"huge":                     {"amount", strings.Repeat("9", 40), "amount"},
		"markup":                   {"amount", admintest.HostileText, "amount"},
		"no currency":              {"currency", "", "currency"},
		"unknown currency":         {"currency", "JPY", "currency"},
		"invalid lead id":          {"lead", "x", "lead"},
		"unknown lead":             {"lead", admintest.LeadID(uuid.New()), "lead"},
		"lead out of scope":        {"lead", admintest.LeadID(c.Leads[3]), "lead"},
		"lead in another currency": {"lead", admintest.LeadID(c.Leads[2]), "currency"},
		"no reason":                {"why", " ", "why"},
		"NUL":                      {"why", "a\x00b", "why"},
		"too long":                 {"why", strings.Repeat("x", 2001), "why"},
		"no adjustment id":         {"own", "", ""},
	} {
		form := url.Values{
			"own":      {id.Format(id.Adjustment, uuid.New())},
			"partner":  {"harbour-leads"},
			"account":  {id.Format(id.Account, c.Harbour.Account.ID)},
			"amount":   {"7.25"},
			"currency": {"GBP"},
			"why":      {"kept words"},
		}
		form.Set(change.field, change.value)
		p := mine.Post(t, "/payouts/adjust", form)
		p.Expect(t, name, http.StatusUnprocessableEntity, `id="error-summary"`)
		if change.mistake != "" && !strings.Contains(p.Body, `id="f-`+change.mistake+`-error"`) {
			t.Errorf("%s: no error at field %s: %s", name, change.mistake, p.Text())
		}
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: the page does not escape markup", name)
		}
	}
	if n := c.Console.Count(t, "ledger_entries", "kind = 'adjustment'"); n != 0 {
		t.Errorf("got %d adjustments, want 0", n)
	}
}

// The form says at once that a lead cannot be returned because its personal data was erased.
func TestReturnFormForErasedLead(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.Exec(t, `UPDATE leads SET state = 'erased', ciphertext = NULL, iv = NULL, auth_tag = NULL, email_digest = NULL
		WHERE id = $1`, c.Leads[0])
	p := c.Get(t, "/payouts/returns/new?lead="+admintest.LeadID(c.Leads[0]))
	p.Expect(t, "the form", http.StatusUnprocessableEntity, `data-error="lead"`)
	if strings.Contains(p.Body, `name="evidence"`) || !slices.Contains(p.Codes(), "erased") {
		t.Errorf("the form does not say that the lead was erased: %s", p.Text())
	}
}

// An adjustment can name its lead by transactionId, or by leadId without the prefix.
func TestAdjustmentNamesLead(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	lead := c.Leads[0]
	for _, text := range []string{admintest.TransactionID(lead), strings.TrimPrefix(admintest.LeadID(lead), "ld_")} {
		c.Post(t, "/payouts/adjust", url.Values{
			"own": {id.Format(id.Adjustment, uuid.New())}, "account": {id.Format(id.Account, c.Harbour.Account.ID)},
			"amount": {"1.00"}, "currency": {"GBP"}, "why": {"bonus"}, "lead": {text},
		}).ExpectCreated(t, "/payouts?account=")
	}
	if n := c.Count(t, "ledger_entries", "kind = 'adjustment' AND lead_id = $1", c.Leads[0]); n != 2 {
		t.Errorf("got %d adjustments of the lead, want 2", n)
	}
}
