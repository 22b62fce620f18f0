package admintest

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// ConsoleWithLedger is a console with two partners and their ledger entries. Its client is signed
// in as a finance user.
type ConsoleWithLedger struct {
	*Console
	*Client
	Harbour, Meadow Payee
	Leads           []uuid.UUID // from Harbour: two in GBP and one in EUR; from Meadow: one in GBP
}

// Payee is a partner with one account.
type Payee struct {
	models.Partner
	Account models.Account
}

// NewConsoleWithLedger starts a console with ledger entries for four leads.
func NewConsoleWithLedger(t *testing.T) *ConsoleWithLedger {
	t.Helper()
	h := NewConsole(t, Setup{})
	c := &ConsoleWithLedger{Console: h}
	c.Harbour, c.Meadow = h.AddPayee(t, "harbour-leads", "Harbour Leads"), h.AddPayee(t, "meadow-media", "=Meadow")
	for _, entry := range []struct {
		by       Payee
		minor    int64
		currency money.Currency
	}{
		{c.Harbour, 4560, money.GBP},
		{c.Harbour, 1240, money.GBP},
		{c.Harbour, 9900, money.EUR},
		{c.Meadow, 2000, money.GBP},
	} {
		c.Leads = append(c.Leads, h.DeliverLead(t, entry.by, money.Amount{Minor: entry.minor, Currency: entry.currency}))
	}
	h.Time.Advance(time.Hour)
	h.AddStaff(t, "fay@example.com", models.StaffRole{Role: models.Finance})
	h.AddStaff(t, "of-harbour@example.com", models.StaffRole{Role: models.Finance, PartnerID: &c.Harbour.ID})
	h.Reload(t)
	c.Client = h.SignedInAs(t, models.Finance)
	return c
}

// TransactionID returns a text that looks like the transactionId of the lead with the given ID. It contains no quote.
func TransactionID(lead uuid.UUID) string {
	const version, keyID, rest = 1, 1, 8 + 60 // the end of the nonce, and the sealed quote
	token := append([]byte{version, keyID}, lead[:]...)
	return quote.Prefix + base64.RawURLEncoding.EncodeToString(append(token, make([]byte, rest)...))
}

// PreparedRun prepares a payout run and returns the URL of its page.
func (c *ConsoleWithLedger) PreparedRun(t testing.TB, minimum string) string {
	t.Helper()
	p := c.Post(t, "/payouts/runs/new", url.Values{
		"currency": {"GBP"},
		"cutoff":   {c.Time.Now().Format(payoutpages.CutoffForm)},
		"minimum":  {minimum},
		"note":     {"for January"},
	})
	at := p.Location()
	if p.Status != http.StatusSeeOther || !strings.HasPrefix(at, "/payouts/runs/po_") {
		t.Fatalf("got %d, want a redirect to the payout run: %s", p.Status, p.Text())
	}
	testkit.Eventually(t, time.Minute, "the run is prepared", func() bool { return c.Get(t, at+"/live").State() == "prepared" })
	return at
}

// AddPayee adds an approved partner with one account. The account's partnerId is <slug>-1.
func (h *Console) AddPayee(t *testing.T, slug, name string) Payee {
	t.Helper()
	p, err := h.Options.Partners.Create(t.Context(), partners.NewPartner{
		Slug:      slug,
		Name:      name,
		LegalName: name + " Limited",
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := h.Options.Partners.CreateAccount(t.Context(), scope.System, p, partners.NewAccount{Identifier: slug + "-1"})
	if err == nil {
		err = h.Options.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Payee{p, a}
}

// DeliverLead adds a lead and the ledger entry for its payout.
func (h *Console) DeliverLead(t *testing.T, by Payee, earned money.Amount) uuid.UUID {
	t.Helper()
	now := h.Time.Now()
	d := &leads.Delivery{
		Lead: models.Lead{
			ID:             id.New(now),
			AttemptID:      uuid.New(),
			TransactionID:  "=tx",
			PartnerID:      by.ID,
			AccountID:      by.Account.ID,
			PriceMinor:     earned.Minor,
			Currency:       earned.Currency.String(),
			Industry:       "plumber",
			TermID:         1077,
			Urgency:        "standard",
			CardVersion:    1,
			QuotedCountry:  "GB",
			QuotedPostcode: "SW1A 1AA",
			QuotedAt:       now,
			ReceivedAt:     now,
			Country:        "GB",
			Postcode:       "SW1A 1AA",
			EmailDigest:    []byte("email"),
		},
		Key:   models.LeadKey{BodyDigest: []byte("body")},
		Event: models.LeadEvent{Kind: models.EventDelivered, Detail: `{}`},
	}
	sealContact(t, d, SamContact)
	if _, _, err := leads.NewStore(h.Pool).Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d.Lead.ID
}

// RunReplay runs the replay of a draft.
func (h *Console) RunReplay(t testing.TB, card uuid.UUID) {
	t.Helper()
	if err := h.Jobs.RunNow(t.Context(), audit.Service, models.JobReplay, card, uuid.Nil); err != nil {
		t.Fatal(err)
	}
}

// RunJobs runs background jobs until the test ends.
func (h *Console) RunJobs(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); h.Jobs.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

// SignInAnotherUser returns a client that is signed in as the user with the given email address.
func (c *ConsoleWithLedger) SignInAnotherUser(t testing.TB, email string) *Client {
	t.Helper()
	b := c.Console.NewClient(t)
	b.SignIn(t, email)
	return b
}

// LeadID formats the ID of a lead as a leadId.
func LeadID(lead uuid.UUID) string { return id.Format(id.Lead, lead) }
