package admintest

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// ConsoleWithPrices is a console with published prices. Its client is signed in as a pricing
// manager.
type ConsoleWithPrices struct {
	*Console
	*Client
}

// ConsoleWithDraft is a console with a draft, which is based on the prices included in pingpost. Its
// client is signed in as a pricing manager.
type ConsoleWithDraft struct {
	*Console
	*Client
	Draft    models.RateCard
	DraftURL string
}

// NewConsoleWithPrices starts a console and publishes the prices that are included in pingpost.
func NewConsoleWithPrices(t *testing.T, k Setup) ConsoleWithPrices {
	t.Helper()
	h := NewConsole(t, k)
	return ConsoleWithPrices{h, h.SignedInAs(t, models.PricingManager)}
}

// NewConsoleWithDraft starts a console with a draft.
func NewConsoleWithDraft(t *testing.T) ConsoleWithDraft {
	t.Helper()
	d := ConsoleWithDraft{Console: NewConsole(t, Setup{})}
	d.BeginDraft(t)
	d.Client = d.SignedInAs(t, models.PricingManager)
	return d
}

// Upload submits the draft's import form. If the parameter name is not "", the form includes a file with
// this name.
func (d *ConsoleWithDraft) Upload(t testing.TB, fields map[string]string, name, content string) Response {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, value := range fields {
		if err := w.WriteField(field, value); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return d.Send(t, http.MethodPost, d.DraftURL+"/import", &body, http.Header{
		"Content-Type": {w.FormDataContentType()},
		"Origin":       {d.Console.URL},
	})
}

// AddFullDraft adds a draft with every kind of price change and a rule whose floor is above its
// ceiling.
func (h *Console) AddFullDraft(t testing.TB) models.RateCard {
	t.Helper()
	small := pricingrules.Rule{Industry: "electrician", Country: "GB", Note: "a few pence"}
	small.Base[money.GBP] = 3850
	crossed := pricingrules.Rule{Industry: "roofer", Country: "GB"}
	crossed.Floor[money.GBP], crossed.Ceiling[money.GBP] = 10000, 5000
	return h.AddDraft(t, "Spring prices", PlumbersIn("GB", money.GBP, 9120), small, crossed,
		pricingrules.Rule{Industry: "locksmith", Country: "IE", Exclude: pricingrules.ExcludeTrue},
		pricingrules.Rule{
			Industry:   "plumber",
			Country:    "US",
			Urgency:    "emergency",
			Multiplier: pricingrules.MultiplierOne,
		})
}

// AddRecordedTraffic adds past leads and pings, which a replay can price with a draft.
func (h *Console) AddRecordedTraffic(t testing.TB) {
	t.Helper()
	p, err := h.Options.Partners.Create(t.Context(), partners.NewPartner{
		Slug:    "harbour-leads",
		Name:    "Harbour Leads",
		Signing: models.SigningOff,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Options.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	index, _ := h.Options.Prices.Taxonomy().BySlug("plumber")
	term := h.Options.Prices.Taxonomy().At(index).TermID
	for n := range 60 { // the oldest 10 leads have twice the price of the others
		at := h.Time.Now().Add(-time.Duration(n) * time.Hour)
		h.Exec(t, `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox, price_minor, currency, industry, term_id, urgency,
				card_version, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, state)
			VALUES ($1::uuid, $1::uuid, '', $2, $2, false, false, $4, 'GBP', 'plumber', $5, 'standard', 1, 'GB', '', $3, $3, 'GB', '', false, 'erased')`,
			id.New(at), p.ID, at, 4560*(1+n/50), term)
	}
	h.Exec(t, `SELECT create_partitions('{pings}', 'day', $1::timestamptz - interval '31 days', $1::timestamptz + interval '2 days')`, h.Time.Now())
	h.Exec(t, `INSERT INTO pings (transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
		SELECT gen_random_uuid(), $1::timestamptz - (n % 6) * interval '1 day' - interval '1 minute', CASE WHEN n % 4 > 0 THEN $2::uuid END, n % 50 = 0, $3, (ARRAY['GB', 'IE'])[1 + n % 2], 'BS1', 'standard', '', '',
			CASE WHEN n % 10 = 0 THEN 'capped' ELSE 'priced' END, CASE WHEN n % 10 = 0 THEN 0 ELSE 4560 END, (ARRAY['GBP', 'EUR'])[1 + n % 2], 1, 90
		FROM generate_series(1, 1000) AS n`, h.Time.Now(), p.ID, term)
}

// Publish publishes a draft with the given rules and returns the number of the new version.
func (h *Console) Publish(t testing.TB, note string, rules ...pricingrules.Rule) int {
	t.Helper()
	d := h.AddDraft(t, note, rules...)
	card, err := h.PricingManagerPrices().Publish(t.Context(), d.ID, 1+len(rules), note, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return card.Version
}

// SignInAnotherUser returns a client that is signed in as the user that AddColleague adds.
func (d ConsoleWithPrices) SignInAnotherUser(t testing.TB) *Client {
	t.Helper()
	b := d.Console.NewClient(t)
	b.SignIn(t, "colleague@example.com")
	return b
}

// AddColleague adds another pricing manager.
func (d ConsoleWithPrices) AddColleague(t *testing.T) {
	t.Helper()
	d.AddStaff(t, "colleague@example.com", models.StaffRole{Role: models.PricingManager})
	d.Reload(t)
}

// PricingManagerPrices returns a pricing service that acts as the pricing manager.
func (h *Console) PricingManagerPrices() *ratecard.Service {
	return h.Options.Prices.By(audit.Actor{
		Staff: h.People[models.PricingManager].ID,
		Name:  "pricing_manager@example.com",
		Role:  string(models.PricingManager),
	})
}

// AddDraft adds a draft with the given rules.
func (h *Console) AddDraft(t testing.TB, title string, rules ...pricingrules.Rule) models.RateCard {
	t.Helper()
	d, err := h.PricingManagerPrices().CreateDraft(t.Context(), title, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		h.AddRule(t, d, r)
	}
	return d
}

// AddRule adds a rule to a draft.
func (h *Console) AddRule(t testing.TB, d models.RateCard, r pricingrules.Rule) {
	t.Helper()
	version := testkit.Value[int](t, h.Database, `SELECT row_version FROM rate_cards WHERE id = $1`, d.ID)
	if err := h.PricingManagerPrices().PutRule(t.Context(), d.ID, version, 0, r); err != nil {
		t.Fatal(err)
	}
}

// PlumbersIn returns a rule that sets the base price for plumbers in a country.
func PlumbersIn(country string, currency money.Currency, minor int64) pricingrules.Rule {
	r := pricingrules.Rule{Industry: "plumber", Country: country}
	r.Base[currency] = minor
	return r
}

// State returns the state and the version number of a rate card, such as "published 2".
func (d ConsoleWithPrices) State(t testing.TB, card models.RateCard) string {
	t.Helper()
	return testkit.Value[string](t, d.Database,
		`SELECT state || ' ' || coalesce(version, 0) FROM rate_cards WHERE id = $1`, card.ID)
}

// Rule returns the fields of a form that adds a rule for plumbers to the draft. The parameter more
// contains pairs of field names and values, which change or add fields.
func (d *ConsoleWithDraft) Rule(t testing.TB, more ...string) url.Values {
	t.Helper()
	f := url.Values{
		"version":  {VersionAt(t, d.Get(t, d.DraftURL+"/rules/new"))},
		"industry": {"plumber"},
		"country":  {"GB"},
		"base-GBP": {"58"},
		"note":     {"Scarce in spring"},
	}
	for i := 0; i+1 < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	return f
}

// BeginDraft creates a draft from the current prices and stores it in d.
func (d *ConsoleWithDraft) BeginDraft(t *testing.T) {
	t.Helper()
	var err error
	if d.Draft, err = d.Service(models.PricingManager).CreateDraft(t.Context(), "Spring prices", 0); err != nil {
		t.Fatal(err)
	}
	d.DraftURL = web.DraftURL(d.Draft.ID)
}

// Service returns a pricing service that acts as the user with the given role.
func (d *ConsoleWithDraft) Service(role models.Role) *ratecard.Service {
	return d.Options.Prices.By(audit.Actor{
		Staff: d.People[role].ID,
		Name:  string(role) + "@example.com",
		Role:  string(role),
	})
}

// Base returns the base price that the draft sets for an industry in GB, or 0 if it sets none.
func (d *ConsoleWithDraft) Base(t testing.TB, industry string) int64 {
	t.Helper()
	now, err := d.Options.Prices.Draft(t.Context(), ratecard.ID(d.Draft.ID))
	if err != nil {
		t.Fatal(err)
	}
	sheet, err := d.Options.Prices.ExamineCard(t.Context(), now.RateCard)
	if err != nil {
		t.Fatal(err)
	}
	if base := sheet.Table.BaseOf(pricingrules.Target{Industry: industry, Country: "GB"}); base.Direct {
		return base.Minor
	}
	return 0
}

// Cell submits the base price of an industry in GB. The parameter called was contains the price that the user saw. The
// parameter more contains pairs of field names and values, which change or add fields.
func (d *ConsoleWithDraft) Cell(t testing.TB, industry, was, base string, more ...string) Response {
	t.Helper()
	f := url.Values{"industry": {industry}, "was": {was}, "base": {base}}
	for i := 0; i+1 < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	return d.Post(t, d.DraftURL+"/cell?category=home-services&country=GB&q=pl", f)
}
