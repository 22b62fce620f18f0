package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
)

// Notes that partners read are on the statement and in its CSV file, as text. Those of
// rejected returns are on neither.
func TestStatementShowsNotes(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	for range 2 { // so that something is left to pay
		c.lead(t, c.harbour, money.Amount{Minor: 5000, Currency: money.GBP})
	}
	returned, kept := leadID(c.leads[0]), leadID(c.leads[1])
	request := func(lead, reason string) string {
		return c.post(t, "/payouts/returns/new", url.Values{"lead": {lead}, "reason": {reason}, "evidence": {"internal evidence"}}).location()
	}
	c.post(t, request(returned, "duplicate")+"/accept", url.Values{"answer": {hostile + "\nsecond line"}})
	c.post(t, request(kept, "fraud")+"/refuse", url.Values{"answer": {"internal answer"}})
	formula := `=HYPERLINK("https://example.com")`
	form := c.get(t, "/payouts/adjust?partner=harbour-leads")
	if p := c.post(t, "/payouts/adjust", url.Values{
		"own": {shownOwn.FindStringSubmatch(form.body)[1]}, "partner": {"harbour-leads"}, "account": {id.Format(id.Account, c.harbour.account.ID)}, "amount": {"1.50"}, "currency": {"GBP"}, "why": {formula},
	}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	c.time.Advance(time.Minute)
	at := c.prepared(t, "") + "/statements/" + id.Format(id.Partner, c.harbour.ID)

	p := c.get(t, at)
	p.wants(t, "the statement", http.StatusOK, returned, `duplicate: &#34;&gt;&lt;script&gt;`, "second line", "−45.60<span", "=HYPERLINK(", "+1.50<span")
	for _, not := range []string{"<script>alert", "internal evidence", "internal answer", kept} {
		if strings.Contains(p.body, not) {
			t.Errorf("the statement shows %q: %s", not, p.text())
		}
	}
	notes := map[string]string{}
	for _, row := range records(t, c.get(t, at+"/entries.csv")) {
		notes[row["kind"]] = row["note"]
	}
	if !strings.HasPrefix(notes["return"], "duplicate: ") || !strings.HasSuffix(notes["return"], "\nsecond line") || notes["adjustment"] != "'"+formula || notes["accrual"] != "" {
		t.Errorf("the notes in the file: %q", notes)
	}
	c.intact(t)
}
