package app_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/testkit"
)

// readiness is what /readyz and /readyz/ping answer.
type readiness struct {
	status int
	Ready  bool
	Checks map[string]string
}

func (n *node) readiness(t testing.TB, path string) readiness {
	t.Helper()
	resp, err := n.client.Get(n.ops + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := readiness{status: resp.StatusCode}
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Ready != (r.status == http.StatusOK) || !r.Ready && r.status != http.StatusServiceUnavailable {
		t.Errorf("%s: ready %t, answered %d", path, r.Ready, r.status)
	}
	return r
}

var (
	pingChecks = map[string]string{"rate_card": "ok", "directory": "ok"}
	postChecks = map[string]string{
		"platform_keys": "ok", "rate_card": "ok", "directory": "ok",
		"database": "ok", "commits": "ok", "schema": "ok", "clock": "ok", "key_wrapper": "ok", "lead_keys": "ok",
	}
)

// but is the checks with some of them failing.
func but(checks map[string]string, failing ...string) map[string]string {
	out := maps.Clone(checks)
	for i := 0; i < len(failing); i += 2 {
		out[failing[i]] = failing[i+1]
	}
	return out
}

func (n *node) isReady(t testing.TB, path string, want map[string]string) {
	t.Helper()
	if got := n.readiness(t, path); !maps.Equal(got.Checks, want) {
		t.Errorf("%s: %d %v, want %v", path, got.status, got.Checks, want)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.isReady(t, "/readyz", postChecks)
	n.isReady(t, "/readyz/ping", pingChecks)
	if got := n.get(t, n.ops+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz answers %q", got)
	}
	t.Run("metrics", func(t *testing.T) { metrics(t, n) })
	t.Run("only there", func(t *testing.T) { operationsStayApart(t, n) })
	t.Run("schema behind", func(t *testing.T) { schemaBehind(t, n) })
}

func metrics(t *testing.T, n *node) {
	n.deliver(t, n.required, leastPost)
	n.do(t, request{path: "/" + marker})
	n.do(t, request{path: "/p/" + marker + "/api/lead/ping", body: leastPing})
	text := n.get(t, n.ops+"/metrics")
	for _, want := range []string{
		`pingpost_requests_total{outcome="priced",route="ping",status="200"} 1`,
		`pingpost_requests_total{outcome="delivered",route="post",status="200"} 1`,
		`pingpost_requests_total{outcome="not_found",route="none",status="404"} 1`,
		`pingpost_requests_total{outcome="unknown_partner",route="ping",status="404"} 1`,
		`pingpost_request_duration_seconds_count{route="post"} 1`,
		`pingpost_rate_card_version 1`, "pingpost_pings_queued", `pingpost_pings_dropped_total{reason="queue_full"} 0`, "go_goroutines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics have not %s", want)
		}
	}
	testkit.Eventually(t, 2*time.Second, "the ping is recorded", func() bool {
		return strings.Contains(n.get(t, n.ops+"/metrics"), "pingpost_pings_recorded_total 1\n")
	})
}

// startAnother starts a second node beside the first, as a restart would.
func (n *node) startAnother(t testing.TB) error {
	t.Helper()
	another, err := app.Start(t.Context(), app.Options{Config: n.cfg, Environment: "development", Clock: n.clock, Log: io.Discard})
	if err != nil {
		return err
	}
	return another.Stop(t.Context())
}

// What a partner has of its own and nobody understands costs that partner its
// price. It must not cost the others their pings, nor a node its restart.
func TestPricesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	if !strings.Contains(n.get(t, n.ops+"/metrics"), "\npingpost_directory_unreadable 0\n") {
		t.Error("the metrics do not say that all of the directory is read")
	}
	if _, err := n.root.Exec(t.Context(), `INSERT INTO partner_prices (partner_id, exclusions, updated_at) VALUES ($1, '[1]', now())`, n.off.ID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, "the metrics count what is not understood", func() bool {
		return strings.Contains(n.get(t, n.ops+"/metrics"), "\npingpost_directory_unreadable 1\n")
	})
	n.isReady(t, "/readyz", postChecks)
	n.isReady(t, "/readyz/ping", pingChecks)
	if a := n.do(t, request{path: n.off.base() + "/api/lead/ping", body: leastPing}); !strings.Contains(a.body, `"reason":"excluded"`) {
		t.Errorf("the partner's ping is answered with %s", a.body)
	}
	n.deliver(t, n.required, leastPost)
	if err := n.startAnother(t); err != nil {
		t.Errorf("a restart is refused: %v", err)
	}
	testkit.Eventually(t, 2*time.Second, "the log names the partner", func() bool {
		return strings.Contains(n.log.String(), "the prices of tinker-forms")
	})
}

// A secret that no platform key opens costs its partner's posts: posts are told
// of it, a start with the wrong keys is refused, and pings go on.
func TestSecretsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	var secret uuid.UUID
	err := n.root.QueryRow(t.Context(), `UPDATE signing_secrets SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE partner_id = $1 RETURNING id`, n.off.ID).Scan(&secret)
	if err != nil {
		t.Fatal(err)
	}
	name := "the secret " + id.Format(id.Secret, secret) + " of tinker-forms"
	want := name + " cannot be read: is a platform key missing?"
	testkit.Eventually(t, 5*time.Second, "the node has read the change", func() bool { return n.readiness(t, "/readyz").Checks["platform_keys"] == want })
	n.isReady(t, "/readyz", but(postChecks, "platform_keys", want))
	n.isReady(t, "/readyz/ping", pingChecks)
	if !strings.Contains(n.get(t, n.ops+"/metrics"), "\npingpost_directory_unreadable 1\n") {
		t.Error("the metrics do not count it")
	}
	if err := n.startAnother(t); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a start with the wrong keys: %v", err)
	}
}

// operationsStayApart asks every listener for what the ops listener has.
func operationsStayApart(t *testing.T, n *node) {
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine", "/debug/pprof/symbol", "/metrics", "/healthz", "/readyz", "/readyz/ping"} {
		n.get(t, n.ops+path)
		for _, origin := range []string{n.api, n.admin} {
			resp, err := n.client.Get(origin + path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s%s answers %s", origin, path, resp.Status)
			}
		}
	}
	if page := n.get(t, n.admin+"/login"); !strings.Contains(page, "development") {
		t.Errorf("the console does not say which environment it is: %s", page)
	}
	if resp, err := n.client.Post(n.ops+"/api/lead/ping", "application/json", strings.NewReader(leastPing)); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the ops listener takes pings: %v %v", resp, err)
	}
}

// schemaBehind takes the newest migration out of the books, as when a node of
// this version meets an older database.
func schemaBehind(t *testing.T, n *node) {
	ctx := context.Background()
	var newest int64
	err := n.root.QueryRow(ctx, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version) RETURNING version_id`).Scan(&newest)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.readiness(t, "/readyz").Checks["schema"]; !strings.Contains(got, "pingpost migrate up") {
		t.Errorf("schema: %s", got)
	}
	n.isReady(t, "/readyz/ping", pingChecks)
	if _, err := n.root.Exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, newest); err != nil {
		t.Fatal(err)
	}
	n.isReady(t, "/readyz", postChecks)
}
