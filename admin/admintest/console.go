// Package admintest starts consoles for tests, with test data such as partners, leads or prices,
// and with clients that are signed in.
package admintest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp/totp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/admin"
	retentionpages "github.com/pingpost/pingpost/admin/retention"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Console is a console with the test's own database, a user for each role, and a clock that the test sets.
type Console struct {
	*testkit.Database
	URL           string
	Time          *clock.Manual
	StaffService  *staff.Service
	Jobs          *jobs.Queue
	transport     *http.Transport
	watcher       *snapshot.Watcher
	People        map[models.Role]models.Staff
	Options       admin.Options
	SamplePartner uuid.UUID // the partner whose ID is in the paths that a test requests
	Erasures      string    // the path of the erasure journal's folder
}

// Setup contains the settings that tests can change. The zero value of a field selects its default.
type Setup struct {
	Environment  string
	SecondFactor []models.Role
	Proxies      []netip.Prefix
	Policy       ratecard.Policy
	TwoUsers     bool // the setting privacy.require_approval
	Retention    retention.Periods
}

// RevealsPerDay is the number of contact fields that a user may reveal per day.
const RevealsPerDay = 5

// LookupsPerDay is the number of email addresses and phone numbers that a user may search for per day.
const LookupsPerDay = 100

var consoleDatabase = testkit.Prepared[map[models.Role]models.Staff]{Fill: fillConsole}

// fillConsole adds a user for each role, the keys, and the prices that are included in pingpost.
func fillConsole(t testing.TB, d *testkit.Database) map[models.Role]models.Staff {
	t.Helper()
	at, keys := clock.NewManual(testkit.StartTime()), testkit.PlatformKeys(t, 1)
	people := map[models.Role]models.Staff{}
	service := staff.NewService(d.DB, keys, at, staff.Settings{PasswordCost: testkit.CheapPasswords()})
	for _, role := range models.Roles {
		people[role] = addStaff(t, service, string(role)+"@example.com", models.StaffRole{Role: role})
	}
	testkit.RegisterKeys(t, d, testkit.LocalWrappers(t))
	if err := evidence.NewKeys(d.DB, keys, at).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	prices, err := ratecard.NewService(d.DB, testkit.NewQueue(d.DB, at), at)
	if err == nil {
		_, err = prices.PublishShipped(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return people
}

// NewConsole starts a console.
func NewConsole(t *testing.T, k Setup) *Console {
	t.Helper()
	if k.Environment == "" {
		k.Environment = "development"
	}
	h := &Console{Time: clock.NewManual(testkit.StartTime())}
	var people map[models.Role]models.Staff
	h.Database, people = consoleDatabase.Copy(t)
	h.People = maps.Clone(people)
	keys := testkit.PlatformKeys(t, 1)
	h.StaffService = staff.NewService(h.DB, keys, h.Time, staff.Settings{
		SecondFactor: k.SecondFactor, Idle: 30 * time.Minute, Lifetime: 12 * time.Hour,
		PasswordCost: testkit.CheapPasswords(),
	})
	access := snapshot.New("access", func(ctx context.Context) (*authz.Access, error) { return authz.Load(ctx, h.DB) })
	signing := evidence.NewKeys(h.DB, keys, h.Time)
	published := snapshot.New("evidence_keys", signing.LoadPublicKeys)
	h.Jobs = testkit.NewQueue(h.DB, h.Time)
	prices, err := ratecard.NewService(h.DB, h.Jobs, h.Time)
	if err != nil {
		t.Fatal(err)
	}
	directory := snapshot.New("directory", partners.NewService(h.DB, keys, h.Time).LoadDirectory)
	card := snapshot.New("rate_card", prices.LoadCurrent)
	quotes, err := quote.NewSealer(keys.QuoteKeys())
	if err != nil {
		t.Fatal(err)
	}
	checker := intake.NewChecker(intake.Deps{
		Directory: directory, Card: card, Quotes: quotes, Keys: keys, Leads: leads.NewStore(h.Pool), Clock: h.Time,
	}, models.SigningRequired)
	h.watcher = snapshot.NewWatcher(h.Pool, slog.New(slog.DiscardHandler), access, published, directory, card)
	h.Reload(t)
	files := blobstore.NewStore(h.DB, keys, h.Time)
	h.Erasures = t.TempDir()
	erasures := journal.Folder(h.Erasures)
	services := leadkit.NewServices(h.DB, testkit.LocalWrappers(t), keys, erasures, h.Time, leadkit.Settings{
		RevealsPerDay: RevealsPerDay, LookupsPerDay: LookupsPerDay, RequireApproval: k.TwoUsers, RequestDays: 365,
		Retention: k.Retention, Jobs: h.Jobs,
	})
	h.Options = admin.Options{
		Quotes:      quotes,
		Environment: k.Environment,
		Clock:       h.Time,
		Log:         slog.New(slog.DiscardHandler),
		Access:      access,
		Staff:       h.StaffService,
		Audit:       audit.New(h.DB, h.Time),
		Partners: partners.NewService(h.DB, keys, h.Time).
			WithPolicy(partners.PricePolicy{RequireApproval: k.Policy.RequireApproval}),
		Checker: checker,
		Leads:   leads.NewReader(h.DB, keys, h.Time),
		Jobs:    h.Jobs,
		Payouts: payouts.NewService(h.DB, h.Time, h.Jobs, files,
			payouts.Policy{ReturnWindow: 30 * 24 * time.Hour, ExportRetention: 7 * 24 * time.Hour}),
		RetentionDays:  retentionpages.Days{Sandbox: 7, Exports: 7, Requests: 365},
		Erasures:       services.Erasures,
		Reveals:        services.Reveals,
		Retention:      services.Retention,
		Consents:       services.Consents,
		Notes:          services.Notes,
		Requests:       services.Requests,
		Reconcile:      reconcile.NewService(h.DB, h.Time, h.Jobs, files),
		Prices:         prices.WithPolicy(k.Policy),
		Reporting:      reporting.NewReader(h.DB),
		PublicURL:      "http://api.example",
		AdminURL:       "http://console.example",
		Metrics:        httpserver.NewMetrics(prometheus.NewRegistry(), "pingpost_console", "the console"),
		Clients:        httpserver.NewClients(k.Proxies, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)),
		DefaultSigning: models.SigningRequired,
		RequestLogDays: 7,
	}
	h.Options.EvidenceKeys = published
	h.Options.Evidence = evidence.NewService(evidence.Deps{
		DB: h.DB, Clock: h.Time, Keys: signing, Audit: h.Options.Audit, Leads: h.Options.Leads, Payouts: h.Options.Payouts,
		Erasures: services.Erasures, Reveals: services.Reveals, URL: h.Options.PublicURL,
	})
	handler, err := admin.New(h.Options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	h.URL = server.URL
	// Compression is slow with the race detector. Tests that need compression call RequestCompressed.
	h.transport = &http.Transport{DisableCompression: true}
	t.Cleanup(h.transport.CloseIdleConnections)
	return h
}

// CodeOf returns the code that an authenticator app with the given setup key would show now.
func (h *Console) CodeOf(t *testing.T, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, h.Time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// WrongCodeOf returns a six-digit code that is not valid for a secret in the current, previous or next time
// step.
func (h *Console) WrongCodeOf(t *testing.T, secret string) string {
	t.Helper()
	for n := 0; ; n++ {
		code := fmt.Sprintf("%06d", n)
		current := func(step time.Duration) bool {
			valid, err := totp.GenerateCode(secret, h.Time.Now().Add(step))
			if err != nil {
				t.Fatal(err)
			}
			return valid == code
		}
		if !current(-30*time.Second) && !current(0) && !current(30*time.Second) {
			return code
		}
	}
}

// Password is the password of every user.
const Password = "correct horse battery"

// Routes returns the routes at or below a path.
func (h *Console) Routes(path string) []web.Route {
	return slices.DeleteFunc(admin.Routes(h.Options),
		func(r web.Route) bool { return r.Path != path && !strings.HasPrefix(r.Path, path+"/") })
}

// Reload loads the users' roles and the public evidence keys again. A node does this automatically within
// a second of a change.
func (h *Console) Reload(t *testing.T) {
	t.Helper()
	if err := h.watcher.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// AddStaff adds an active user whose password is [Password].
func (h *Console) AddStaff(t *testing.T, email string, roles ...models.StaffRole) models.Staff {
	t.Helper()
	return addStaff(t, h.StaffService, email, roles...)
}

func addStaff(t testing.TB, service *staff.Service, email string, roles ...models.StaffRole) models.Staff {
	t.Helper()
	member := staff.NewMember{Email: email, Name: nameOf(email), Roles: roles}
	p, err := service.By(audit.Operator).Seed(t.Context(), member, Password)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func nameOf(email string) string {
	names := map[models.Role]string{
		models.Administrator:  "Ada Marsh",
		models.AccountManager: "Ben Okafor",
		models.PricingManager: "Chloé Lindqvist",
		models.Finance:        "Dmitri Sand",
		models.Privacy:        "Priya Nair",
		models.Auditor:        "Eve Tanaka",
	}
	role, _, _ := strings.Cut(email, "@")
	return cmp.Or(names[models.Role(role)], "Another User")
}

// AddPartner adds a partner that is not approved and has no accounts.
func (h *Console) AddPartner(t *testing.T, slug string) uuid.UUID {
	t.Helper()
	p, err := h.Options.Partners.Create(t.Context(), partners.NewPartner{
		Slug:    slug,
		Name:    slug,
		Signing: models.SigningRequired,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// NewClient returns a client that is not signed in.
func (h *Console) NewClient(t testing.TB) *Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Client{&http.Client{
		Transport:     h.transport,
		Jar:           jar,
		Timeout:       3 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, h}
}

// SignedInAt returns a client that is signed in to the console of a running node as the user with the given
// email address.
func SignedInAt(t testing.TB, origin, email string) *Client {
	t.Helper()
	h := &Console{URL: origin, transport: &http.Transport{}}
	t.Cleanup(h.transport.CloseIdleConnections)
	b := h.NewClient(t)
	b.SignIn(t, email)
	return b
}

// SignedInAs returns a client that is signed in as the user with the given role.
func (h *Console) SignedInAs(t testing.TB, role models.Role) *Client {
	t.Helper()
	b := h.NewClient(t)
	b.SignIn(t, string(role)+"@example.com")
	return b
}

// StaffID returns the ID of the user with the given role, formatted as in URLs.
func (h *Console) StaffID(role models.Role) string { return id.Format(id.Staff, h.People[role].ID) }

// Count returns the number of rows in the table that match the where clause.
func (h *Console) Count(t testing.TB, table, where string, args ...any) int {
	t.Helper()
	return testkit.Value[int](t, h.Database, `SELECT count(*) FROM `+table+` WHERE `+where, args...)
}

// CheckAuditLog verifies the hash chain of the audit log, and checks that the console has a notice for each action in
// the log.
func (h *Console) CheckAuditLog(t testing.TB) {
	t.Helper()
	v, err := h.Options.Audit.Verify(t.Context(), "")
	if err != nil || !v.Intact() {
		t.Errorf("verifying the audit log: %+v, %v", v, err)
	}
	h.checkSaved(t)
}

// withoutNotice lists the actions that need no notice, because the response shows the result or there is nothing to
// report.
var withoutNotice = []string{
	"audit.export", "audit.verify", "lead.download", "lead.evidence", "lead.export", "lead.find", "lead.find_warning",
	"lead.reveal", "lead.reveal_again", "lead.reveal_warning", "leads.export", "ledger.download", "ledger.export",
	"ledger.export_balances", "link.create", "login", "logout", "notes.find", "payout_run.payments", "pricing.export",
	"privacy_request.download", "privacy_request.export", "reconciliation.export", "secret.create", "secret.rotate",
	"signature.check", "staff.accept", "staff.invite", "staff.invite_again", "staff.recovery_codes",
}

// checkSaved checks that the console has a notice for each action that users have taken in the test.
func (h *Console) checkSaved(t testing.TB) {
	t.Helper()
	for _, action := range testkit.Value[[]string](t, h.Database, `
		SELECT coalesce(array_agg(DISTINCT action), '{}') FROM audit_events
		WHERE staff_id IS NOT NULL AND outcome = 'done' AND request_id <> ''`) {
		if !web.IsSavedAction(action) && !slices.Contains(withoutNotice, action) {
			t.Errorf("the console does not say that %s was saved", action)
		}
	}
}

// SignedInEverywhere returns a client that is signed in as a user who may open every page.
func (h *Console) SignedInEverywhere(t *testing.T) *Client {
	t.Helper()
	h.AddStaff(t, "everywhere@example.com", models.StaffRole{Role: models.Administrator},
		models.StaffRole{Role: models.AccountManager}, models.StaffRole{Role: models.PricingManager},
		models.StaffRole{Role: models.Finance}, models.StaffRole{Role: models.Privacy})
	h.Reload(t)
	b := h.NewClient(t)
	b.SignIn(t, "everywhere@example.com")
	return b
}

// PutJournalAhead adds to the erasure journal an entry that the database does not contain.
func (h *Console) PutJournalAhead(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.Erasures, "000000000001.json"), []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Time.Advance(10 * time.Second) // longer than a check is valid
}
