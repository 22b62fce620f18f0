package admintest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// ConsoleWithLeads is a console with two partners that can deliver leads.
type ConsoleWithLeads struct {
	*Console
	store          *leads.Store
	Harbour, Other Seller
}

// Seller is a partner with a signing secret, a live account and a sandbox account.
type Seller struct {
	models.Partner
	account, Trial models.Account
	secret         uuid.UUID
}

// NewConsoleWithLeads starts a console with two partners.
func NewConsoleWithLeads(t *testing.T) *ConsoleWithLeads {
	t.Helper()
	h := NewConsole(t, Setup{})
	return &ConsoleWithLeads{
		Console: h,
		store:   leads.NewStore(h.Pool),
		Harbour: h.AddSeller(t, "harbour-leads"),
		Other:   h.AddSeller(t, "meadow-media"),
	}
}

// AddSeller adds an approved partner with two accounts and a signing secret.
func (h *Console) AddSeller(t *testing.T, slug string) (s Seller) {
	t.Helper()
	p, err := h.Options.Partners.Create(t.Context(), partners.NewPartner{
		Slug:    slug,
		Name:    ui.Sentence(slug),
		Signing: models.SigningRequired,
	})
	if err == nil {
		s.Partner = p
		s.account, err = h.Options.Partners.CreateAccount(t.Context(), scope.System, p, partners.NewAccount{Identifier: slug + "-main"})
	}
	if err == nil {
		s.Trial, err = h.Options.Partners.CreateAccount(t.Context(), scope.System, p,
			partners.NewAccount{Identifier: slug + "-trial", Sandbox: true})
	}
	if err == nil {
		var made partners.CreatedSecret
		made, err = h.Options.Partners.CreateSecret(t.Context(), scope.System, p, "live")
		s.secret = made.ID
	}
	if err == nil {
		err = h.Options.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// AddLead advances the clock by a minute and delivers a lead. If the function change is not nil, it can
// modify the lead before the delivery.
func (s *ConsoleWithLeads) AddLead(t *testing.T, by Seller, c leads.Contact, change func(*models.Lead)) models.Lead {
	t.Helper()
	return s.addLead(t, by, c, "I agree to be called about my request.", change)
}

// AddLeadWithText is like AddLead, but with the given disclosure text. It returns the URL of the text's page.
func (s *ConsoleWithLeads) AddLeadWithText(t *testing.T, by Seller, text string) (l models.Lead, page string) {
	t.Helper()
	l = s.addLead(t, by, JoContact, text, nil)
	d, err := s.Options.Leads.Get(t.Context(), scope.System, l.ID)
	if err != nil {
		t.Fatal(err)
	}
	return l, web.DisclosureURL(d.Disclosure.ID)
}

func (s *ConsoleWithLeads) addLead(t *testing.T, by Seller, c leads.Contact, text string, change func(*models.Lead)) models.Lead {
	t.Helper()
	s.Time.Advance(time.Minute)
	now, keys := s.Time.Now(), testkit.PlatformKeys(t, 1)
	price := money.Amount{Minor: 4560, Currency: money.GBP}
	random := id.New(now)
	token, q, err := s.Options.Quotes.Seal(nil, quote.Quote{
		Price:       price,
		Country:     [2]byte{'G', 'B'},
		TermID:      1077,
		CardVersion: 1,
		Partner:     by.ID,
	}, now.Add(-time.Second), [quote.RandomSize]byte(append(random[:], 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	l := models.Lead{
		ID:             q.ID,
		AttemptID:      uuid.New(),
		TransactionID:  string(token),
		PartnerID:      by.ID,
		AccountID:      by.account.ID,
		SecretID:       &by.secret,
		HMACVerified:   true,
		PriceMinor:     price.Minor,
		Currency:       "GBP",
		Industry:       "plumber",
		TermID:         1077,
		Urgency:        "standard",
		CardVersion:    1,
		QuotedPartner:  &by.ID,
		QuotedCountry:  "GB",
		QuotedPostcode: "SW1A 1AA",
		QuotedAt:       q.IssuedAt(),
		ReceivedAt:     now,
		Country:        "GB",
		Postcode:       "SW1A 1AA",
	}
	l.EmailDigest, l.PhoneDigest = c.Digests(keys)
	if change != nil {
		change(&l)
	}
	d := &leads.Delivery{
		Lead:    l,
		Consent: models.Consent{AcknowledgedAt: &now, DisclosureText: &text},
		Event:   models.LeadEvent{Kind: models.EventDelivered, Detail: `{"request_id": "rq_1"}`},
	}
	sealContact(t, d, c)
	if _, isNew, err := s.store.Deliver(t.Context(), d); err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	return d.Lead
}

func sealContact(t *testing.T, d *leads.Delivery, c leads.Contact) {
	t.Helper()
	key, err := testkit.LocalWrappers(t).DataKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Seal(d, key); err != nil {
		t.Fatal(err)
	}
}

var (
	JoContact = leads.Contact{
		Email: "Jo.Bloggs@example.com",
		Name:  "Jo Bloggs",
		Phone: "020 7946 0018",
		E164:  "+442079460018",
	}
	SamContact = leads.Contact{Email: "sam@example.com", Name: "Sam Doe"}
)

// LeadIDOf returns a lead's leadId.
func LeadIDOf(l models.Lead) string { return id.Format(id.Lead, l.ID) }

// ExpectNoPersonalData fails the test if the text contains personal data from JoContact or SamContact.
func ExpectNoPersonalData(t *testing.T, what, text string) {
	t.Helper()
	// None of these can occur in an ID or a form key.
	for _, secret := range []string{"jo bloggs", "bloggs@", "7946 0018", "7946-0018", "442079460018", "sam@", "jo@"} {
		if strings.Contains(strings.ToLower(text), secret) {
			t.Errorf("%s contains %q", what, secret)
		}
	}
}
