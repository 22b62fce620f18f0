package admin

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// till is a house with two partners that sell, and finance's browser.
type till struct {
	*house
	*visitor
	harbour, meadow payee
	leads           []uuid.UUID // two of harbour's in GBP, one in EUR; one of meadow's in GBP
}

// payee is a partner with its account.
type payee struct {
	models.Partner
	account models.Account
}

func newTill(t *testing.T) *till {
	t.Helper()
	h := newHouse(t, kind{})
	c := &till{house: h}
	c.harbour, c.meadow = h.payee(t, "harbour-leads", "Harbour Leads"), h.payee(t, "meadow-media", "=Meadow")
	for _, one := range []struct {
		by       payee
		minor    int64
		currency money.Currency
	}{{c.harbour, 4560, money.GBP}, {c.harbour, 1240, money.GBP}, {c.harbour, 9900, money.EUR}, {c.meadow, 2000, money.GBP}} {
		c.leads = append(c.leads, h.lead(t, one.by, money.Amount{Minor: one.minor, Currency: one.currency}))
	}
	h.time.Advance(time.Hour)
	h.person(t, "fay@example.com", models.StaffRole{Role: models.Finance})
	h.person(t, "of-harbour@example.com", models.StaffRole{Role: models.Finance, PartnerID: &c.harbour.ID})
	h.reload(t)
	c.visitor = h.as(t, models.Finance)
	return c
}

// payee is an approved partner with one account, <slug>-1.
func (h *house) payee(t *testing.T, slug, name string) payee {
	t.Helper()
	p, err := h.options.Partners.Create(t.Context(), partners.NewPartner{Slug: slug, Name: name, LegalName: name + " Limited"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := h.options.Partners.CreateAccount(t.Context(), p, partners.NewAccount{Identifier: slug + "-1"})
	if err == nil {
		err = h.options.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved)
	}
	if err != nil {
		t.Fatal(err)
	}
	return payee{p, a}
}

// lead is one that was delivered now. Its transactionId begins as a formula does.
func (h *house) lead(t *testing.T, by payee, earned money.Amount) uuid.UUID {
	t.Helper()
	now := h.time.Now()
	d := &leads.Delivery{
		Lead: models.Lead{
			ID: id.New(now), Transaction: id.New(now), TransactionID: "=tx", PartnerID: by.ID, AccountID: by.account.ID, PriceMinor: earned.Minor, Currency: earned.Currency.String(),
			Industry: "plumber", TermID: 1077, Urgency: "standard", CardVersion: 1, QuotedCountry: "GB", QuotedPostcode: "SW1A 1AA", QuotedAt: now, ReceivedAt: now, Country: "GB", Postcode: "SW1A 1AA",
			EmailDigest: []byte("email"), BodyDigest: []byte("body"), Ciphertext: []byte("ciphertext"), IV: bytes.Repeat([]byte{1}, 12), AuthTag: bytes.Repeat([]byte{2}, 16), Salt: bytes.Repeat([]byte{3}, 16),
			WrappedKey: []byte("local:1:x"), KeyWrapper: "local", KeyVersion: "1",
		},
		Event: models.LeadEvent{Kind: "delivered", Detail: `{}`},
	}
	accrual := ledger.Accrual(by.ID, by.account.ID, d.Lead.ID, earned, now)
	d.Accrual = &accrual
	if _, _, err := leads.NewStore(h.Pool).Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d.Lead.ID
}

// works has the desk work until the test ends.
func (h *house) works(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); h.desk.Work(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

// other is somebody else's browser.
func (c *till) other(t testing.TB, email string) *visitor {
	t.Helper()
	b := c.house.visitor(t)
	b.signIn(t, email)
	return b
}

func leadID(lead uuid.UUID) string { return id.Format(id.Lead, lead) }

// records are the rows of a CSV file, each by its columns.
func records(t testing.TB, p page) (all []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(p.body)).ReadAll()
	if err != nil || p.status != http.StatusOK || p.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Fatalf("%d %s: %v in %.300s", p.status, p.header.Get("Content-Type"), err, p.body)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		all = append(all, row)
	}
	return all
}

// The page, its sums and its file have the same entries, whatever the filter, and whoever asks.
func TestLedger(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	mine := c.other(t, "of-harbour@example.com")
	for query, want := range map[string][2]int{ // to everybody's finance, and to harbour's
		"": {4, 3}, "partner=harbour-leads": {3, 3}, "partner=" + id.Format(id.Partner, c.meadow.ID): {1, 0}, "partner=meadow-media": {1, 0}, "partner=nobody": {0, 0},
		"partner=harbour-leads&account=HARBOUR-leads-1": {3, 3}, "account=" + id.Format(id.Account, c.harbour.account.ID): {3, 3}, "partner=harbour-leads&account=x": {0, 0},
		"kind=accrual": {4, 3}, "kind=payment": {0, 0}, "kind=x": {0, 0}, "currency=EUR": {1, 1}, "currency=XXX": {0, 0}, "lead=" + leadID(c.leads[3]): {1, 0}, "lead=" + leadID(c.leads[0]): {1, 1}, "lead=x": {0, 0},
		"open=1": {4, 3}, "run=" + id.Format(id.Payout, uuid.New()): {0, 0}, "from=2026-01-02&to=2026-01-02": {4, 3}, "from=2026-01-03": {0, 0}, "to=2026-01-01": {0, 0}, "kind=%00": {0, 0}, "older=1": {0, 0},
	} {
		for i, b := range []*visitor{c.visitor, mine} {
			p := b.get(t, "/payouts?"+query)
			if got := len(regexp.MustCompile(`>entry \d`).FindAllString(p.body, -1)); p.status != http.StatusOK || got != want[i] {
				t.Errorf("%s, %d: %d with %d entries, want %d", query, i, p.status, got, want[i])
			}
			if query == "older=1" {
				continue
			}
			if got := len(records(t, b.get(t, "/payouts/ledger.csv?"+query))); got != want[i] {
				t.Errorf("%s, %d: %d rows in the file, want %d", query, i, got, want[i])
			}
		}
	}
	c.get(t, "/payouts?partner=harbour-leads").wants(t, "sums", http.StatusOK, "58.00<span", "99.00<span", "The current filter, 3 entries, no personal data.", "Harbour Leads")
	if p := mine.get(t, "/payouts"); strings.Contains(p.body, "=Meadow") || strings.Contains(p.body, `href="/payouts/runs"`) {
		t.Errorf("%s", p.text())
	}
	c.intact(t)
}

func TestBalances(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.get(t, "/payouts/balances").wants(t, "everybody's", http.StatusOK, "58.00<span", "99.00<span", "20.00<span", "=Meadow", `href="/payouts?partner=harbour-leads"`)
	p := c.other(t, "of-harbour@example.com").get(t, "/payouts/balances")
	if p.wants(t, "harbour's", http.StatusOK, "58.00<span"); strings.Contains(p.body, "=Meadow") {
		t.Error("another partner's balance is there")
	}
	for i := range payoutpages.BalancesPartners {
		c.lead(t, c.payee(t, fmt.Sprintf("zeta-%02d", i), "Zeta"), money.Amount{Minor: 100, Currency: money.USD})
	}
	p = c.get(t, "/payouts/balances")
	p.wants(t, "the first page", http.StatusOK, `href="/payouts/balances?after=zeta-22"`)
	c.get(t, "/payouts/balances?after=zeta-22").wants(t, "the second", http.StatusOK, "zeta-24-1", `href="/payouts/balances?before=zeta-23"`)
}
