package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/api/docs"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const leastPing = `{"industry":"plumber","postcode":"SW1A 1AA"}`

// service is the partner API on its own platform, without a network.
type service struct {
	*testkit.Platform
	handler http.Handler
	lines   *testkit.Log // the service's log and the access log
	signing *evidence.Keys
	keys    *snapshot.Watcher // loads the published keys

	t        testing.TB
	contract *testkit.Contract
}

// newService returns a service with one clock for the API and one for intake. A nil clock means
// the platform's clock, which stands still.
func newService(t testing.TB, p *testkit.Platform, apiClock, intakeClock clock.Clock) *service {
	t.Helper()
	return newLimitedService(t, p, apiClock, intakeClock, intake.Settings{MatchFailures: 1})
}

// newLimitedService is like newService, but with the given limits.
func newLimitedService(
	t testing.TB, p *testkit.Platform, apiClock, intakeClock clock.Clock, limits intake.Settings,
) *service {
	t.Helper()
	if apiClock == nil {
		apiClock = p.Time
	}
	parts := p.Deps
	if intakeClock != nil {
		parts.Clock = intakeClock
	}
	limits.DefaultMode = models.SigningRequired
	log, lines := testkit.NewLog()
	signing := evidence.NewKeys(p.DB.DB, p.Keys, p.Time)
	published := snapshot.New("evidence_keys", signing.LoadPublicKeys)
	handler, err := api.New(api.Options{
		Intake:       intake.New(parts, limits),
		Partners:     p.Partners,
		Taxonomy:     p.Card.Get().Taxonomy,
		DefaultMode:  models.SigningRequired,
		Settings:     documented(),
		EvidenceKeys: published,
		Clock:        apiClock,
		Log:          log,
		AccessLog:    httpserver.NewAccessLog(lines, false),
		Metrics:      httpserver.NewMetrics(prometheus.NewRegistry(), "pingpost", "the partner API"),
		Clients:      httpserver.NewClients(nil, prometheus.NewRegistry(), log),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &service{
		Platform: p, handler: handler, lines: lines, signing: signing, keys: snapshot.NewWatcher(p.DB.Pool, log, published),
		t: t, contract: newContract(t),
	}
}

// documented returns the default settings that the documentation states.
func documented() docs.Settings {
	c := config.Defaults(config.Serve)
	c.HTTP.PublicURL = "https://leads.example"
	return docs.Settings{
		HTTP: c.HTTP, Limits: c.Limits, ReturnDays: c.Payouts.ReturnDays, SandboxDays: c.Retention.SandboxDays,
	}
}

func newPlatform(t testing.TB) *testkit.Platform {
	return testkit.NewPlatform(t)
}

// send sends a POST without a signature.
func (s *service) send(path, body string) *httptest.ResponseRecorder {
	return s.serve(httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
}

// sign sends a POST that was signed with a secret at the given time.
func (s *service) sign(secret string, at time.Time, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	headers := testkit.SignWith(secret, at, []byte(body))
	r.Header["X-Timestamp"], r.Header["X-Signature-Sha256"] = headers.Timestamp, headers.Signature
	return s.serve(r)
}

// serve handles a request. If the response is an error, it must match the OpenAPI document. Its code must be listed
// there, and its requestId must be the X-Request-Id.
func (s *service) serve(r *http.Request) *httptest.ResponseRecorder {
	s.t.Helper()
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, r)
	if answer.Code >= http.StatusBadRequest && r.URL.Path != pack.KeyPath && !strings.HasPrefix(r.URL.Path, "/partner/") {
		if r.Method == http.MethodHead {
			answer.Body.Reset() // as net/http does
		}
		if err := s.contract.ValidateExchange(r, nil, answer.Result(), answer.Body.Bytes(), false); err != nil {
			s.t.Error(err)
		}
	}
	return answer
}

// least returns a post with the required fields only.
func least(transactionID string) string {
	return fmt.Sprintf(`{"transactionId":%q,"email":"ann@example.com","consent":{"acknowledged":true}}`, transactionID)
}

// base returns the path of an endpoint on a partner's own base URL.
func base(p testkit.Partner, endpoint string) string { return "/p/" + p.Slug + "/api/lead/" + endpoint }
