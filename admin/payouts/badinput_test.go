package payouts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// Invalid input in the payout forms changes nothing, causes no server error, and is escaped on the
// page.
func TestBadPayoutForms(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	run := c.PreparedRun(t, "")
	ret := c.Post(t, "/payouts/returns/new", url.Values{
		"lead":     {admintest.LeadID(c.Leads[0])},
		"reason":   {"fraud"},
		"evidence": {"x"},
	}).Location()
	adjustment := c.Post(t, "/payouts/adjust", url.Values{
		"own": {id.Format(id.Adjustment, uuid.New())}, "account": {id.Format(id.Account, c.Harbour.Account.ID)},
		"amount": {"500.01"}, "currency": {"GBP"}, "why": {"x"},
	}).Location()
	c.Time.Advance(11 * time.Minute) // so that forms with step-up ask for the password
	b := c.SignInAnotherUser(t, "fay@example.com")
	c.Time.Advance(11 * time.Minute)
	state := func() string {
		return testkit.Value[string](t, c.Database, `SELECT md5(string_agg(x, '' ORDER BY x)) FROM (SELECT r::text FROM returns r UNION ALL SELECT a::text FROM adjustments a UNION ALL SELECT p::text FROM payout_runs p UNION ALL
			SELECT e::text FROM ledger_entries e UNION ALL SELECT w.id::text || w.state FROM jobs w) AS all_of_it(x)`)
	}
	fields := []string{"own", "partner", "account", "amount", "currency", "lead", "why", "reason", "evidence",
		"answer", "version", "cutoff", "minimum", "note", "reference", "name", "proof", "return"}
	everywhere := func(value string) string {
		form := url.Values{}
		for _, name := range fields {
			form.Set(name, value)
		}
		return form.Encode()
	}
	before := state()
	for name, body := range map[string]string{
		"empty body":    "",
		"empty fields":  everywhere(""),
		"long fields":   everywhere(strings.Repeat("x", 3_000)),
		"hostile":       everywhere(admintest.HostileText),
		"NUL":           everywhere("a\x00b"),
		"invalid UTF-8": everywhere("\xff\xc3\x28"),
		"bad escapes":   "amount=%zz&why=%",
		"one megabyte":  "why=" + strings.Repeat("x", 1<<20),
		"JSON body":     `{"amount":1}`,
		"huge version":  "version=99999999999999999999&proof=x",
		"no proof":      "version=2&reference=x&reason=x&answer=x&name=58.00",
	} {
		for _, r := range c.Routes("/payouts") {
			if r.Method != http.MethodPost || r.Path == "/payouts/exports" && name != "one megabyte" && name != "bad escapes" {
				continue // exports accept any filter
			}
			path := strings.Replace(r.Path, "/payouts/runs/{id}", run, 1)
			path = strings.Replace(path, "/payouts/returns/{id}", ret, 1)
			path = strings.Replace(path, "/payouts/adjustments/{id}", adjustment, 1)
			p := b.Send(t, http.MethodPost, path, strings.NewReader(admintest.WithFormKeyBefore(body)),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			switch p.Status {
			case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
			default:
				t.Errorf("%s: %s: got status %d: %.200s", name, r.Path, p.Status, p.Text())
			}
			if strings.Contains(p.Body, "<script>alert") {
				t.Errorf("%s: %s does not escape markup", name, r.Path)
			}
			if now := state(); now != before {
				t.Fatalf("%s: %s changed the database", name, r.Path)
			}
		}
	}
	c.CheckAuditLog(t)
}

// Invalid filters in the URL do not cause a server error.
func TestBadPayoutFilters(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	values := []string{"", "x", admintest.HostileText, "a\x00b", "\xff", strings.Repeat("x", 5000), "-1", "' OR 1=1",
		id.Format(id.Staff, uuid.New())}
	for _, path := range []string{"/payouts", "/payouts/ledger.csv", "/payouts/returns", "/payouts/returns/new",
		"/payouts/runs", "/payouts/balances", "/payouts/adjust", "/jobs"} {
		for _, value := range values {
			q := url.Values{}
			for _, name := range append([]string{"state", "outcome", "before", "after"},
				payoutpages.LedgerFilters...) {
				q.Set(name, value)
			}
			p := c.Get(t, path+"?"+q.Encode())
			if p.Status != http.StatusOK && p.Status != http.StatusUnprocessableEntity {
				t.Errorf("%s with %.20q: got status %d: %s", path, value, p.Status, p.Text())
			}
			if strings.Contains(p.Body, "<script>alert") {
				t.Errorf("%s does not escape markup", path)
			}
		}
	}
}
