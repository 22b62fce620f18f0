package admin

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	leadpages "github.com/pingpost/pingpost/admin/leads"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// shop is a house with two partners that sell leads.
type shop struct {
	*house
	store          *leads.Store
	harbour, other seller
}

type seller struct {
	models.Partner
	account, trial models.Account
	secret         uuid.UUID
}

func newShop(t *testing.T) *shop {
	t.Helper()
	h := newHouse(t, kind{})
	return &shop{house: h, store: leads.NewStore(h.Pool), harbour: h.seller(t, "harbour-leads"), other: h.seller(t, "meadow-media")}
}

func (h *house) seller(t *testing.T, slug string) (s seller) {
	t.Helper()
	p, err := h.options.Partners.Create(t.Context(), partners.NewPartner{Slug: slug, Name: web.Title(slug), Signing: models.SigningRequired})
	if err == nil {
		s.Partner = p
		s.account, err = h.options.Partners.CreateAccount(t.Context(), p, partners.NewAccount{Identifier: slug + "-main"})
	}
	if err == nil {
		s.trial, err = h.options.Partners.CreateAccount(t.Context(), p, partners.NewAccount{Identifier: slug + "-trial", Sandbox: true})
	}
	if err == nil {
		var made partners.Created
		made, err = h.options.Partners.CreateSecret(t.Context(), p, "live")
		s.secret = made.ID
	}
	if err == nil {
		err = h.options.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sell delivers a lead of a person, a minute after the one before.
func (s *shop) sell(t *testing.T, by seller, c leads.Contact, change func(*models.Lead)) models.Lead {
	t.Helper()
	s.time.Advance(time.Minute)
	now, keys := s.time.Now(), testkit.PlatformKeys(t, 1)
	quotes, err := quote.NewSealer(keys.QuoteKeys())
	if err != nil {
		t.Fatal(err)
	}
	price := money.Amount{Minor: 4560, Currency: money.GBP}
	lead := id.New(now)
	token, q, err := quotes.Append(nil, quote.Quote{Price: price, Country: [2]byte{'G', 'B'}, TermID: 1077, CardVersion: 1, Partner: by.ID}, now.Add(-time.Second), [quote.RandomSize]byte(append(lead[:], 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	l := models.Lead{
		ID: lead, Transaction: q.ID, TransactionID: string(token), PartnerID: by.ID, AccountID: by.account.ID, SecretID: &by.secret, HMACVerified: true,
		PriceMinor: price.Minor, Currency: "GBP", Industry: "plumber", TermID: 1077, Urgency: "standard", CardVersion: 1, QuotedPartner: &by.ID, QuotedCountry: "GB",
		QuotedPostcode: "SW1A 1AA", QuotedAt: q.IssuedAt(), ReceivedAt: now, Country: "GB", Postcode: "SW1A 1AA",
		Ciphertext: []byte("ciphertext"), IV: make([]byte, 12), AuthTag: make([]byte, 16), Salt: make([]byte, 16), WrappedKey: []byte("local:1:x"), KeyWrapper: "local", KeyVersion: "1",
	}
	l.EmailDigest, l.PhoneDigest = c.Digests(keys)
	if change != nil {
		change(&l)
	}
	text := "I agree to be called about my request."
	d := &leads.Delivery{Lead: l, Consent: models.Consent{AcknowledgedAt: &now, DisclosureText: &text}, Event: models.LeadEvent{Kind: "delivered", Detail: `{"request_id": "rq_1"}`}}
	if !l.Sandbox {
		entry := ledger.Accrual(l.PartnerID, l.AccountID, l.ID, price, now)
		d.Accrual = &entry
	}
	if _, isNew, err := s.store.Deliver(t.Context(), d); err != nil || !isNew {
		t.Fatal(isNew, err)
	}
	return l
}

var (
	jo  = leads.Contact{Email: "Jo.Bloggs@example.com", Name: "Jo Bloggs", Phone: "020 7946 0018", E164: "+442079460018"}
	sam = leads.Contact{Email: "sam@example.com", Name: "Sam Doe"}
)

func shownID(l models.Lead) string { return id.Format(id.Lead, l.ID) }

// personal fails where an answer has something that only the person should see.
func personal(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{"bloggs", "7946 0018", "7946-0018", "79460018", "sam@", "jo@"} {
		if strings.Contains(strings.ToLower(text), secret) {
			t.Errorf("%s has %q", what, secret)
		}
	}
}

func TestLeadsList(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.sell(t, s.harbour, jo, nil)
	trial := s.sell(t, s.harbour, sam, func(l *models.Lead) { l.AccountID, l.Sandbox = s.harbour.trial.ID, true })
	others := s.sell(t, s.other, sam, func(l *models.Lead) { l.Industry, l.Country = "roofer", "DE" })
	b := s.as(t, models.Finance)
	all := map[string]models.Lead{"first": first, "trial": trial, "others": others}
	for query, want := range map[string]string{
		"": "first trial others", "partner=harbour-leads": "first trial", "partner=" + id.Format(id.Partner, s.other.ID): "others", "account=harbour-leads-trial": "trial",
		"industry=roofer": "others", "country=de": "others", "state=sandbox": "trial", "state=delivered": "first others", "state=returned": "", "industry=zebra": "",
		"from=2026-01-02&to=2026-01-02": "first trial others", "from=2026-01-03": "", "to=2026-01-01": "", "partner=harbour-leads&account=meadow-media-main": "", "state=nonsense": "",
		"partner=nobody": "", "account=nobody": "", "from=yesterday": "", "before=x&after=y": "first trial others", "partner=%00": "",
	} {
		p := b.get(t, "/leads?"+query)
		got := ""
		for _, name := range []string{"first", "trial", "others"} {
			if strings.Contains(p.body, shownID(all[name])) {
				got = strings.TrimSpace(got + " " + name)
			}
		}
		if p.status != http.StatusOK || got != want {
			t.Errorf("%s: %d %q, want %q: %s", query, p.status, got, want, p.text())
		}
		if want == "" && query != "" && !strings.Contains(p.body, "Nothing matches") {
			t.Errorf("%s does not say that nothing matches", query)
		}
		personal(t, query, p.body)
	}
	for query, want := range map[string]string{"partner=nobody": "There is no partner", "account=nobody": "There is no account", "from=yesterday": "A date is written"} {
		if p := b.get(t, "/leads?"+query); strings.Count(p.body, want) != 1 {
			t.Errorf("%s: %s", query, p.text())
		}
	}
	if p := b.get(t, web.PartnerURL(s.harbour.ID)); !strings.Contains(p.body, `href="/leads?partner=`+id.Format(id.Partner, s.harbour.ID)+`"`) {
		t.Error("the partner's page does not lead to its leads")
	}
	if p := newShop(t).as(t, models.Finance).get(t, "/leads"); !strings.Contains(p.body, "No leads yet") {
		t.Errorf("with none: %s", p.text())
	}
}

func TestLeadsPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range leadpages.LeadsPage + 2 {
		s.sell(t, s.harbour, jo, nil)
	}
	b := s.as(t, models.Finance)
	const link = `<a class="button" href="`
	_, rest, _ := strings.Cut(b.get(t, "/leads?state=delivered").body, link)
	older, _, _ := strings.Cut(rest, `"`)
	older = strings.ReplaceAll(older, "&amp;", "&")
	p := b.get(t, older)
	if n := strings.Count(p.body, `aria-label="Copy ld_`); n != 2 || !strings.Contains(older, "state=delivered") {
		t.Fatalf("%s has %d leads: %s", older, n, p.text())
	}
	_, rest, _ = strings.Cut(p.body, link)
	newer, _, _ := strings.Cut(rest, `"`)
	if p := b.get(t, strings.ReplaceAll(newer, "&amp;", "&")); strings.Count(p.body, `aria-label="Copy ld_`) != leadpages.LeadsPage {
		t.Errorf("%s: %s", newer, p.text())
	}
}

func TestLeadPage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	lead := s.sell(t, s.harbour, jo, func(l *models.Lead) { l.PhoneFlagged = true })
	page := "/leads/" + shownID(lead)
	always := []string{shownID(lead), lead.TransactionID, "harbour-leads-main", "45.60", "Signed with the secret “live”, pp_", "Request rq_1", "I agree to be called", "local", "10 bytes", "Nothing of it is opened", "kept as sent"}
	steps, entries, back := "The steps to the price", "Ledger entries of this lead", "/payouts/returns/new?lead="+shownID(lead)
	for role, c := range map[models.Role]struct{ has, lacks []string }{
		models.Finance:        {[]string{entries, back, "in none yet"}, []string{steps}},
		models.Auditor:        {[]string{entries, steps}, []string{back}},
		models.AccountManager: {[]string{steps, "<span class=\"main\">Base</span>", `href="/pricing/versions/1"`}, []string{entries, back}},
		models.PricingManager: {[]string{steps}, []string{entries, back, "/leads/find"}},
	} {
		p := s.as(t, role).get(t, page)
		if p.status != http.StatusOK {
			t.Fatalf("%s: %d %s", role, p.status, p.text())
		}
		for _, want := range append(c.has, always...) {
			if !strings.Contains(p.body, want) {
				t.Errorf("%s: the page lacks %q", role, want)
			}
		}
		for _, not := range append(c.lacks, "come to another price") {
			if strings.Contains(p.body, not) {
				t.Errorf("%s: the page has %q", role, not)
			}
		}
		personal(t, string(role), p.body)
	}
	// The partner's own prices are those of now.
	s.Exec(t, `INSERT INTO partner_prices (partner_id, adjustment, updated_at) VALUES ($1, 500, now())`, s.harbour.ID)
	if p := s.as(t, models.Auditor).get(t, page); !strings.Contains(p.body, "come to another price") {
		t.Errorf("a changed adjustment is not told: %s", p.text())
	}
}

func TestLeadPageTellsOfReturnsAndErasure(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	lead := s.sell(t, s.harbour, jo, nil)
	trial := s.sell(t, s.harbour, sam, func(l *models.Lead) { l.AccountID, l.Sandbox = s.harbour.trial.ID, true })
	b := s.as(t, models.Finance)
	says := func(l models.Lead, wants ...string) {
		t.Helper()
		p := b.get(t, web.LeadURL(l.ID))
		for _, want := range wants {
			not := strings.HasPrefix(want, "!")
			if strings.Contains(p.body, strings.TrimPrefix(want, "!")) == not {
				t.Errorf("%s: %s", want, p.text())
			}
		}
	}
	const asks = "Return this lead"
	says(trial, "sandbox", "A sandbox lead earns nothing", "!"+asks)
	r, err := s.options.Payouts.RequestReturn(t.Context(), scope.Everywhere, lead.ID, models.Fraud, "Nobody of this name lives there.")
	if err != nil {
		t.Fatal(err)
	}
	says(lead, "!"+asks, "/payouts/returns/"+id.Format(id.Return, r.ID), "the lead was made up", "!Returned")
	if err := s.options.Payouts.AcceptReturn(t.Context(), scope.Everywhere, r.ID, ""); err != nil {
		t.Fatal(err)
	}
	says(lead, "Returned", "The lead was made up", "−45.60", "!"+asks)
	s.Exec(t, `UPDATE leads SET state = 'erased', salt = NULL, wrapped_key = NULL, email_digest = NULL, phone_digest = NULL WHERE id = $1`, lead.ID)
	says(lead, "Erased: the key of the contact record was destroyed", "0 bytes", "I agree to be called")
	late := s.sell(t, s.harbour, sam, nil)
	says(late, asks)
	s.time.Advance(s.options.Payouts.Policy().ReturnWindow + time.Second)
	b = s.as(t, models.Finance)
	says(late, "!"+asks)
}

// Whoever sees one partner's leads finds no trace of another's.
func TestLeadsOfOnePartner(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	own, others := s.sell(t, s.harbour, jo, nil), s.sell(t, s.other, jo, nil)
	s.person(t, "own@example.com", models.StaffRole{Role: models.Finance, PartnerID: &s.harbour.ID})
	s.reload(t)
	b := s.visitor(t)
	b.signIn(t, "own@example.com")
	absent, theirs := b.get(t, web.LeadURL(uuid.New())), b.get(t, web.LeadURL(others.ID))
	if absent.status != http.StatusNotFound || theirs.status != http.StatusNotFound || !bytes.Equal([]byte(absent.body), []byte(theirs.body)) {
		t.Errorf("%d and %d differ", absent.status, theirs.status)
	}
	for what, p := range map[string]page{
		"the list": b.get(t, "/leads"), "the other's list": b.get(t, "/leads?partner=meadow-media"), "the other's account": b.get(t, "/leads?account=meadow-media-main"),
		"a jump": b.get(t, "/jump?q="+others.TransactionID), "a look-up by id": b.post(t, "/leads/find", url.Values{"by": {"id"}, "value": {others.TransactionID}}),
	} {
		if strings.Contains(p.body, shownID(others)) || strings.Contains(p.location(), shownID(others)) || strings.Contains(p.body, "Meadow-media") {
			t.Errorf("%s tells of another's lead: %d %s", what, p.status, p.text())
		}
	}
	if p := b.post(t, "/leads/find", url.Values{"by": {"email"}, "value": {"jo.bloggs@example.com"}}); p.location() != web.LeadURL(own.ID) {
		t.Errorf("a look-up by e-mail: %d %q", p.status, p.location())
	}
}
