package payouts_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
)

// The statement and its CSV file contain the notes for the partner as text, and the partner's reference and
// subId. They contain neither the notes on rejected returns nor the users.
func TestStatementShowsNotes(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	for range 2 { // so that an amount remains to be paid
		c.DeliverLead(t, c.Harbour, money.Amount{Minor: 5000, Currency: money.GBP})
	}
	returned, kept := admintest.LeadID(c.Leads[0]), admintest.LeadID(c.Leads[1])
	c.Exec(t, `UPDATE leads SET partner_reference = 'click-7', sub_id = 'mail' WHERE id = $1`, c.Leads[0])
	request := func(lead, reason string) string {
		return c.Post(t, "/payouts/returns/new", url.Values{
			"lead":     {lead},
			"reason":   {reason},
			"evidence": {"internal evidence"},
		}).Location()
	}
	c.Post(t, request(returned, "duplicate")+"/accept", url.Values{"answer": {admintest.HostileText + "\nsecond line"}})
	c.Post(t, request(kept, "fraud")+"/reject", url.Values{"answer": {"internal answer"}})
	formula := `=HYPERLINK("https://example.com")`
	form := c.Get(t, "/payouts/adjust?partner=harbour-leads")
	account := id.Format(id.Account, c.Harbour.Account.ID)
	c.Post(t, "/payouts/adjust", url.Values{
		"own":      {shownOwn.FindStringSubmatch(form.Body)[1]},
		"partner":  {"harbour-leads"},
		"account":  {account},
		"amount":   {"1.50"},
		"currency": {"GBP"},
		"why":      {formula},
	}).ExpectRedirect(t, "/payouts?account="+account)
	c.Time.Advance(time.Minute)
	at := c.PreparedRun(t, "") + "/statements/" + id.Format(id.Partner, c.Harbour.ID)

	p := c.Get(t, at)
	p.Expect(t, "the statement", http.StatusOK, returned, `: &#34;&gt;&lt;script&gt;`, "second line",
		"−45.60<span", "=HYPERLINK(", "+1.50<span",
		"Partner reference: click-7", "subId: mail")
	for _, not := range []string{"<script>alert", "internal evidence", "internal answer", kept} {
		if strings.Contains(p.Body, not) {
			t.Errorf("the statement shows %q: %s", not, p.Text())
		}
	}
	file := c.Get(t, at+"/entries.csv")
	if strings.Contains(file.Body, "finance@example.com") {
		t.Errorf("the CSV file contains users: %s", file.Body)
	}
	notes := map[string]string{}
	for _, row := range records(t, file) {
		notes[row["kind"]] = row["note"]
	}
	if !strings.HasPrefix(notes["return"], "duplicate: ") ||
		!strings.HasSuffix(notes["return"], "\nsecond line") || notes["adjustment"] != "'"+formula || notes["accrual"] != "" {
		t.Errorf("got notes %q in the CSV file", notes)
	}
	users := map[string]string{}
	for _, row := range records(t, c.Get(t, "/payouts/ledger.csv?partner=harbour-leads")) {
		users[row["kind"]] = row["created_by"]
	}
	if want := map[string]string{"accrual": "", "return": "finance@example.com", "adjustment": "finance@example.com"}; !maps.Equal(users, want) {
		t.Errorf("got the users %v in the ledger's CSV file, want %v", users, want)
	}
	c.CheckAuditLog(t)
}
