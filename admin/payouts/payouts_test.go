package payouts_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// records returns the rows of a CSV file by column name.
func records(t testing.TB, p admintest.Response) (all []map[string]string) {
	t.Helper()
	if p.Status != http.StatusOK || p.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Fatalf("got status %d and content type %s: %.300s", p.Status, p.Header.Get("Content-Type"), p.Body)
	}
	lines := testkit.Records(t, p.Body)
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		all = append(all, row)
	}
	return all
}

// For each filter and user, the page, its totals and the CSV file contain the same entries.
func TestLedger(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	for query, want := range map[string][2]int{ // for finance with all partners, and with harbour only
		"":                      {4, 3},
		"partner=harbour-leads": {3, 3},
		"partner=" + id.Format(id.Partner, c.Meadow.ID):          {1, 0},
		"partner=meadow-media":                                   {1, 0},
		"partner=unknown":                                        {0, 0},
		"partner=harbour-leads&account=HARBOUR-leads-1":          {3, 3},
		"account=" + id.Format(id.Account, c.Harbour.Account.ID): {3, 3},
		"partner=harbour-leads&account=x":                        {0, 0},
		"kind=accrual":                                           {4, 3},
		"kind=payment":                                           {0, 0},
		"kind=x":                                                 {0, 0},
		"currency=EUR":                                           {1, 1},
		"currency=XXX":                                           {0, 0},
		"lead=" + admintest.LeadID(c.Leads[3]):                   {1, 0},
		"lead=" + admintest.LeadID(c.Leads[0]):                   {1, 1},
		"lead=x":                                                 {0, 0},
		"open=1":                                                 {4, 3},
		"run=" + id.Format(id.Payout, uuid.New()):                {0, 0},
		"from=2026-01-02&to=2026-01-02":                          {4, 3},
		"from=2026-01-03":                                        {0, 0},
		"to=2026-01-01":                                          {0, 0},
		"kind=%00":                                               {0, 0},
		"after=1":                                                {0, 0},
	} {
		for i, b := range []*admintest.Client{c.Client, mine} {
			p := b.Get(t, "/payouts?"+query)
			if got := len(regexp.MustCompile(`data-entry="\d`).FindAllString(p.Body, -1)); p.Status != http.StatusOK || got != want[i] {
				t.Errorf("%s, user %d: got status %d and %d entries, want %d", query, i, p.Status, got, want[i])
			}
			if query == "after=1" {
				continue
			}
			file := b.Get(t, "/payouts/ledger.csv?"+query)
			if want[i] == 0 && file.Status == http.StatusUnprocessableEntity { // a value is not valid
				continue
			}
			if got := len(records(t, file)); got != want[i] {
				t.Errorf("%s, user %d: got %d rows in the CSV file, want %d", query, i, got, want[i])
			}
		}
	}
	c.Get(t, "/payouts?partner=harbour-leads").Expect(t, "sums", http.StatusOK, "58.00<span", "99.00<span",
		`href="/payouts/ledger.csv?partner=harbour-leads"`, "Harbour Leads")
	if p := mine.Get(t, "/payouts"); strings.Contains(p.Body, "=Meadow") || strings.Contains(p.Body, `href="/payouts/runs"`) {
		t.Errorf("the page shows another partner or payout runs: %s", p.Text())
	}
	c.CheckAuditLog(t)
}

func TestBalances(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.Get(t, "/payouts/balances").Expect(t, "all partners", http.StatusOK, "58.00<span", "99.00<span", "20.00<span",
		"=Meadow", `href="/payouts?partner=harbour-leads"`)
	mine := c.SignInAnotherUser(t, "of-harbour@example.com")
	p := mine.Get(t, "/payouts/balances")
	if p.Expect(t, "harbour only", http.StatusOK, "58.00<span"); strings.Contains(p.Body, "=Meadow") {
		t.Error("the page shows another partner's balance")
	}
	p = c.Get(t, "/payouts/balances?currency=GBP&balance=owed")
	p.Expect(t, "filtered", http.StatusOK, `href="/payouts/balances.csv?balance=owed&amp;currency=GBP"`,
		"78.00<span") // 58 and 20
	if strings.Contains(p.Body, "99.00<span") {
		t.Errorf("a balance in another currency is listed: %s", p.Text())
	}
	c.Get(t, "/payouts/balances?balance=owing").Expect(t, "no match", http.StatusOK, `data-empty="filtered"`)
	rows := records(t, c.Get(t, "/payouts/balances.csv?currency=GBP"))
	if len(rows) != 2 || rows[0]["owed"] != "58.00" || rows[0]["entries"] != "2" ||
		rows[0]["account"] != id.Format(id.Account, c.Harbour.Account.ID) || rows[1]["partner_name"] != "'=Meadow" {
		t.Errorf("got rows %v", rows)
	}
	if rows := records(t, mine.Get(t, "/payouts/balances.csv")); len(rows) != 2 {
		t.Errorf("a user with one partner: got rows %v, want 2", rows)
	}
	for i := range payoutpages.BalancesPartners {
		c.DeliverLead(t, c.AddPayee(t, fmt.Sprintf("zeta-%02d", i), "Zeta"), money.Amount{Minor: 100, Currency: money.USD})
	}
	p = c.Get(t, "/payouts/balances")
	p.Expect(t, "the first page", http.StatusOK, `href="/payouts/balances?after=zeta-22"`)
	c.Get(t, "/payouts/balances?after=zeta-22").Expect(t, "the second page", http.StatusOK, "zeta-24-1",
		`href="/payouts/balances?before=zeta-23"`)
}
