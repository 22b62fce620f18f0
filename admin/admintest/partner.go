package admintest

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// ConsoleWithPartner is a console with one partner. Its client is signed in as an account manager.
type ConsoleWithPartner struct {
	*Console
	*Client
	PartnerURL string // of the partner's page
	PartnerID  uuid.UUID
	Slug       string
}

// NewConsoleWithPartner starts a console with one partner.
func NewConsoleWithPartner(t *testing.T) ConsoleWithPartner {
	t.Helper()
	h := NewConsole(t, Setup{})
	o := ConsoleWithPartner{Console: h, Slug: "harbour-leads"}
	o.PartnerID = h.AddPartner(t, o.Slug)
	o.PartnerURL = web.PartnerURL(o.PartnerID)
	o.Client = h.SignedInAs(t, models.AccountManager)
	return o
}

// AddSellingPartner adds several partners. One of them has recent traffic and is rotating its secret.
// AddSellingPartner returns the URL of that partner's page.
func (h *Console) AddSellingPartner(t *testing.T) (path string) {
	t.Helper()
	ctx, by := t.Context(), h.Options.Partners.By(audit.Actor{
		Staff: h.People[models.AccountManager].ID,
		Name:  "account_manager@example.com",
		Role:  string(models.AccountManager),
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"Alder & Sons", "Beacon Quotes", "Copper Kettle Media", "Meadow Media GmbH",
		"North Road Ltd", "Quillon Partners with a name that goes on for rather longer than a column is wide"} {
		p, err := by.Create(ctx, partners.NewPartner{
			Slug:    fmt.Sprintf("partner-%d", i+2),
			Name:    name,
			Manager: []string{"Ben Okafor", "Ruth Vale"}[i%2],
		})
		must(err)
		if i%3 > 0 {
			must(by.SetStatus(ctx, scope.System, p.ID, models.PartnerApproved))
		}
		h.Exec(t, `INSERT INTO partner_figures VALUES ($1, $2, $3, $4, 1400, $5, 140)`, p.ID, 41000/(i+1),
			`[{"currency": "GBP", "minor": 104512345}, {"currency": "EUR", "minor": 812350}]`,
			h.Time.Now().Add(-time.Duration(i*i)*time.Hour), 10*i)
	}
	h.Exec(t, `INSERT INTO partner_figures_state VALUES (true, $1::timestamptz, $1::timestamptz::date)`,
		h.Time.Now().Add(-time.Minute))
	p, err := by.Create(ctx, partners.NewPartner{
		Slug:      "harbour-leads",
		Name:      "Harbour Leads",
		LegalName: "Harbour Leads (Trading) Limited",
		Manager:   "Ben Okafor",
		Signing:   models.SigningReportOnly,
	})
	must(err)
	must(by.SetDetails(ctx, scope.System, p.ID, 1, partners.Details{
		Name:         p.Name,
		LegalName:    p.LegalName,
		Address:      "4 Quay Street\nBristol\nBS1 4DB",
		TaxID:        "GB 123 4567 89",
		PaymentTerms: "30 days net",
		Manager:      "Ben Okafor",
		Notes:        "Sells plumbers and electricians in the South West.",
		Contacts:     []partners.Contact{{Name: "Mo Haskell", Role: "Affiliate manager", Email: "mo@harbour.example", Phone: "+44 117 496 0018"}},
	}))
	sandbox, err := by.CreateAccount(ctx, scope.System, p, partners.NewAccount{
		Identifier: "harbour-sandbox",
		Name:       "Sandbox",
		Sandbox:    true,
	})
	must(err)
	account, err := by.CreateAccount(ctx, scope.System, p, partners.NewAccount{
		Identifier: "HARBOUR-100",
		Name:       "Main site",
		Signing:    models.SigningRequired,
	})
	must(err)
	old, err := by.CreateSecret(ctx, scope.System, p, "live 2026")
	must(err)
	must(by.SetStatus(ctx, scope.System, p.ID, models.PartnerApproved))
	fresh, err := by.RotateSecret(ctx, scope.System, p, "live 2026, second half", 24*time.Hour, false)
	must(err)
	_, err = by.NewLink(ctx, scope.System, p)
	must(err)
	h.Exec(t, `INSERT INTO traffic_minutes
		SELECT hour, $2, CASE WHEN kind[3] = 'sandbox' THEN $3::uuid ELSE $4::uuid END, CASE kind[4] WHEN 'old' THEN $5::uuid WHEN 'new' THEN $6::uuid ELSE '00000000-0000-0000-0000-000000000000' END,
			kind[1], kind[2], (kind[5]::float * (1.2 + sin(extract(hour FROM hour) / 4 - 2)))::bigint + 1, ARRAY[40, 30, 20, 5, 3, 1, 0, 0, 0, 0, 0, 1]
		FROM generate_series($1::timestamptz - interval '2 days', $1, interval '1 hour') AS hour,
			(VALUES (ARRAY['ping', 'priced', 'main', '', '840']), (ARRAY['ping', 'excluded', 'main', '', '21']), (ARRAY['post', 'delivered', 'main', 'old', '60']), (ARRAY['post', 'delivered', 'main', 'new', '85']),
				(ARRAY['post', 'delivered_would_be_rejected', 'sandbox', '', '3']), (ARRAY['post', 'signature', 'main', '', '2']), (ARRAY['post', 'payload', 'main', '', '1'])) AS kinds(kind)`,
		h.Time.Now(), p.ID, sandbox.ID, account.ID, old.ID, fresh.ID)
	for i, outcome := range []string{"inactive", "expired", "timestamp_window", "signature", "signature", "payload"} {
		var secret *uuid.UUID
		fields := []string{}
		switch outcome {
		case "signature":
			secret = &old.ID
		case "payload":
			fields = []string{"contact.email", "consent.acknowledged"}
		}
		h.Exec(t, `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, account_id, secret_id, outcome, fields, status, code, message, detail, duration_us)
			VALUES ($1, $2, $3, 'other_post', 'post', $4, $5, $6, $7, 400, 'payload_invalid', 'Invalid lead post payload', '', 310)`,
			p.ID, h.Time.Now().Add(-time.Duration(6-i)*time.Minute), id.New(h.Time.Now()), account.ID, secret, outcome, fields)
	}
	return web.PartnerURL(p.ID)
}

// Prices reads the partner's own price settings from the database and returns them as text. If the
// partner has none, Prices returns "".
func (o ConsoleWithPartner) Prices(t testing.TB) string {
	t.Helper()
	return testkit.Value[string](t, o.Database,
		`SELECT coalesce((SELECT adjustment || ' ' || exclusions || ' ' || coalesce(daily_lead_cap, 0) || ' v' || row_version FROM partner_prices WHERE partner_id = $1), '')`,
		o.PartnerID)
}

var (
	ShownSecret = regexp.MustCompile(`pp_[0-9A-Za-z]{43}`)
	ShownLink   = regexp.MustCompile(`http://api\.example/partner/[A-Za-z0-9_-]{40,}`)
	ShownLabel  = regexp.MustCompile(`sk_[0-9A-Z]{26}`)
	shownNumber = regexp.MustCompile(`name="version" value="(\d+)"`)
)

// VersionAt returns the version number that the form on a page contains.
func VersionAt(t testing.TB, p Response) string {
	t.Helper()
	m := shownNumber.FindStringSubmatch(p.Body)
	if m == nil {
		t.Fatalf("the page does not contain a version: %d %s", p.Status, p.Text())
	}
	return m[1]
}

// SecretNamed returns the path of the secret with the given label. The URLs of the secret's forms start
// with this path.
func (o ConsoleWithPartner) SecretNamed(t testing.TB, label string) string {
	t.Helper()
	row := testkit.Value[string](t, o.Database, `SELECT id::text FROM signing_secrets WHERE label = $1`, label)
	return o.PartnerURL + "/secrets/" + id.Format(id.Secret, uuid.MustParse(row))
}
