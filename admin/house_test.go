package admin

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/blobstore"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/httpserver"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/snapshot"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const password = "correct horse battery"

// house is a console with a person for each role, on a test's own database and with
// a clock that stands still.
type house struct {
	*testkit.Database
	url     string
	time    *clock.Manual
	staff   *staff.Service
	desk    *jobs.Queue
	watcher *snapshot.Watcher
	people  map[models.Role]models.Staff
	options Options
	tried   uuid.UUID // the partner that routes are tried on
}

// kind is how a house differs from the usual one.
type kind struct {
	environment  string
	secondFactor []models.Role
	proxies      []netip.Prefix
	policy       ratecard.Policy
}

func newHouse(t *testing.T, k kind) *house {
	t.Helper()
	if k.environment == "" {
		k.environment = "development"
	}
	h := &house{Database: testkit.NewDatabase(t), time: clock.NewManual(testkit.Began()), people: map[models.Role]models.Staff{}}
	keys := testkit.PlatformKeys(t, 1)
	h.staff = staff.NewService(h.DB, keys, h.time, staff.Settings{SecondFactor: k.secondFactor, Idle: 30 * time.Minute, Lifetime: 12 * time.Hour})
	for _, role := range models.Roles {
		h.people[role] = h.person(t, string(role)+"@example.com", models.StaffRole{Role: role})
	}
	access := snapshot.New("access", func(ctx context.Context) (*authz.Access, error) { return authz.Load(ctx, h.DB) })
	h.watcher = snapshot.NewWatcher(h.Pool, slog.New(slog.DiscardHandler), access)
	h.reload(t)
	prices, err := ratecard.NewService(h.DB, h.time)
	if err == nil {
		_, err = prices.PublishShipped(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h.desk = jobs.NewQueue(h.DB, h.time, slog.New(slog.DiscardHandler))
	cabinet := blobstore.NewStore(h.DB, keys, h.time)
	h.options = Options{
		Environment: k.environment, Clock: h.time, Log: slog.New(slog.DiscardHandler), Access: access, Staff: h.staff, Audit: audit.New(h.DB, h.time),
		Partners: partners.NewService(h.DB, keys, h.time).Under(partners.PricePolicy{SecondPerson: k.policy.SecondPerson}), Leads: leads.NewReader(h.DB, keys, h.time), Jobs: h.desk,
		Payouts: payouts.NewService(h.DB, h.time, h.desk, cabinet, payouts.Policy{ReturnWindow: 30 * 24 * time.Hour}), Reconcile: reconcile.NewService(h.DB, h.time, h.desk, cabinet), Prices: prices.Under(k.policy), Reporting: reporting.NewReader(h.DB), TrustedProxies: k.proxies,
		PublicURL: "http://api.example", Metrics: httpserver.NewMetrics(prometheus.NewRegistry(), "pingpost_console", "the console"), DefaultSigning: models.SigningRequired, RefusalsKept: 500,
	}
	handler, err := New(h.options)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// routes are those of an area.
func (h *house) routes(path string) []web.Route {
	return slices.DeleteFunc(routes(h.options), func(r web.Route) bool { return r.Path != path && !strings.HasPrefix(r.Path, path+"/") })
}

func (h *house) reload(t *testing.T) {
	t.Helper()
	if err := h.watcher.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (h *house) person(t *testing.T, email string, roles ...models.StaffRole) models.Staff {
	t.Helper()
	p, err := h.staff.Seed(t.Context(), audit.Operator, staff.NewPerson{Email: email, Name: nameOf(email), Roles: roles}, password)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// nameOf gives the people of the roles names.
func nameOf(email string) string {
	names := map[models.Role]string{
		models.Administrator: "Ada Marsh", models.AccountManager: "Ben Okafor", models.PricingManager: "Chloé Lindqvist", models.Finance: "Dmitri Sand", models.Auditor: "Eve Tanaka",
	}
	role, _, _ := strings.Cut(email, "@")
	return cmp.Or(names[models.Role(role)], "Somebody Else")
}

// partner is one that waits for approval, with nothing of its own.
func (h *house) partner(t *testing.T, slug string) uuid.UUID {
	t.Helper()
	p, err := h.options.Partners.Create(t.Context(), partners.NewPartner{Slug: slug, Name: slug, Signing: models.SigningRequired})
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// visitor is a client that keeps cookies, and follows nothing by itself.
type visitor struct {
	*http.Client
	house *house
}

func (h *house) visitor(t testing.TB) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{&http.Client{Jar: jar, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, h}
}

// as is the browser of a person who has signed in.
func (h *house) as(t testing.TB, role models.Role) *visitor {
	t.Helper()
	b := h.visitor(t)
	b.signIn(t, string(role)+"@example.com")
	return b
}

func (b *visitor) signIn(t testing.TB, email string) page {
	t.Helper()
	p := b.post(t, "/login", url.Values{"email": {email}, "password": {password}})
	if p.status != http.StatusSeeOther {
		t.Fatalf("signing in as %s: %d %s", email, p.status, p.text())
	}
	return p
}

// page is an answer.
type page struct {
	status int
	header http.Header
	body   string
}

// text is a page's words, roughly, for messages.
func (p page) text() string {
	_, main, _ := strings.Cut(p.body, "<main")
	return strings.Join(strings.Fields(main), " ")[:min(len(strings.Join(strings.Fields(main), " ")), 600)]
}

func (p page) location() string { return p.header.Get("Location") }

func (b *visitor) get(t testing.TB, path string) page {
	t.Helper()
	return b.send(t, http.MethodGet, path, nil, nil)
}

// withKey is a form with a new key, where it has none.
func withKey(form url.Values) url.Values {
	all := url.Values{ui.FormKeyField: {uuid.NewString()}}
	maps.Copy(all, form)
	return all
}

// keyed is an encoded form, whatever it is, with a new key before it.
func keyed(body string) string { return withKey(nil).Encode() + "&" + body }

// post submits a form, with a new key where it has none.
func (b *visitor) post(t testing.TB, path string, form url.Values) page {
	t.Helper()
	return b.send(t, http.MethodPost, path, strings.NewReader(withKey(form).Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {b.house.url}})
}

func (b *visitor) send(t testing.TB, method, path string, body io.Reader, header http.Header) page {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.house.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Header, string(text)}
}

func (h *house) staffID(role models.Role) string { return id.Format(id.Staff, h.people[role].ID) }

// count is a number of rows.
func (h *house) count(t testing.TB, table, where string, args ...any) int {
	t.Helper()
	return testkit.Value[int](t, h.Database, `SELECT count(*) FROM `+table+` WHERE `+where, args...)
}

// intact checks the audit trail.
func (h *house) intact(t testing.TB) {
	t.Helper()
	v, err := h.options.Audit.Verify(t.Context(), "")
	if err != nil || !v.Intact() {
		t.Errorf("the audit trail: %+v, %v", v, err)
	}
}
