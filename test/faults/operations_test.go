package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/migrations"
	"github.com/pingpost/pingpost/test/node"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.CheckReadiness(t, "/readyz")
	n.CheckReadiness(t, "/readyz/ping")
	if got := n.Get(t, n.Ops+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz: got %q, want ok", got)
	}
	t.Run("metrics", func(t *testing.T) { metrics(t, n) })
	t.Run("ops listener only", func(t *testing.T) { opsListenerOnly(t, n) })
	t.Run("old schema", func(t *testing.T) { oldSchema(t, n) })
	t.Run("newer schema", func(t *testing.T) { newerSchema(t, n) })
}

func metrics(t *testing.T, n *node.Node) {
	n.Deliver(t, n.Required, node.MinimalPost)
	n.Do(t, node.Request{Path: "/" + node.Marker})
	n.Do(t, node.Request{Path: "/p/" + node.Marker + "/api/lead/ping", Body: node.MinimalPing})
	text := n.Get(t, n.Ops+"/metrics")
	for _, want := range []string{
		`pingpost_requests_total{outcome="priced",route="ping",status="200"} 1`,
		`pingpost_requests_total{outcome="delivered",route="post",status="200"} 1`,
		`pingpost_requests_total{outcome="not_found",route="none",status="404"} 1`,
		`pingpost_requests_total{outcome="unknown_partner",route="ping",status="404"} 1`,
		`pingpost_request_duration_seconds_count{route="post"} 1`,
		`pingpost_rate_card_version 1`, "pingpost_pings_queued", `pingpost_pings_dropped_total{reason="queue_full"} 0`, "go_goroutines",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics do not contain %s", want)
		}
	}
	testkit.Eventually(t, 2*time.Second, "the ping is recorded", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "pingpost_pings_recorded_total 1\n")
	})
}

// tryRestart starts and stops a second node to test whether a node could restart now.
func tryRestart(t *testing.T, n *node.Node) error {
	t.Helper()
	another, err := n.TryStartPeer(t)
	if err == nil {
		another.Close(t)
	}
	return err
}

// TestUnreadablePartnerPricing checks that a partner gets no prices if its pricing cannot be read. Other
// partners must not be affected, and nodes must be able to restart.
func TestUnreadablePartnerPricing(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 0\n") {
		t.Error("pingpost_directory_unreadable is not 0 at first")
	}
	if _, err := n.Root.Exec(t.Context(), `INSERT INTO partner_prices (partner_id, exclusions, updated_at) VALUES ($1, '[1]', now())`, n.Off.ID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, "the metrics count the unreadable row", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 1\n")
	})
	n.CheckReadiness(t, "/readyz")
	n.CheckReadiness(t, "/readyz/ping")
	if a := n.Do(t, node.Request{Path: n.Off.Base() + "/api/lead/ping", Body: node.MinimalPing}); !strings.Contains(a.Body, `"reason":"excluded"`) {
		t.Errorf("the partner's ping: got %s, want excluded", a.Body)
	}
	n.Deliver(t, n.Required, node.MinimalPost)
	if err := tryRestart(t, n); err != nil {
		t.Errorf("restarting: %v", err)
	}
	testkit.Eventually(t, 2*time.Second, "the log names the partner", func() bool {
		return strings.Contains(n.Log.String(), n.Off.Slug)
	})
}

// TestUnreadableSecret checks that a node is not ready for posts if none of its platform keys can
// decrypt a secret. In this case, a node cannot start either. Pings are not affected.
func TestUnreadableSecret(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	var secret uuid.UUID
	err := n.Root.QueryRow(t.Context(),
		`UPDATE signing_secrets SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1) WHERE partner_id = $1 RETURNING id`,
		n.Off.ID).Scan(&secret)
	if err != nil {
		t.Fatal(err)
	}
	name := id.Format(id.Secret, secret)
	testkit.Eventually(t, 5*time.Second, "the node has read the change",
		func() bool { return n.Readiness(t, "/readyz").Checks["platform_keys"] != "ok" })
	n.CheckReadiness(t, "/readyz", "platform_keys")
	n.CheckReadiness(t, "/readyz/ping")
	if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 1\n") {
		t.Error("the metrics do not count the unreadable secret")
	}
	if err := tryRestart(t, n); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("starting with the wrong keys: got %v, want an error with %s", err, name)
	}
}

// opsListenerOnly checks that the ops listener's paths are not served by other listeners.
func opsListenerOnly(t *testing.T, n *node.Node) {
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine",
		"/debug/pprof/symbol", "/metrics", "/healthz", "/readyz", "/readyz/ping"} {
		n.Get(t, n.Ops+path)
		for _, origin := range []string{n.API, n.Admin} {
			resp, err := n.Client.Get(origin + path)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s%s: got %s, want 404", origin, path, resp.Status)
			}
		}
	}
	if page := n.Get(t, n.Admin+"/login"); !strings.Contains(page, "development") {
		t.Errorf("the console does not show its environment: %s", page)
	}
	if resp, err := n.Client.Post(n.Ops+"/api/lead/ping", "application/json", strings.NewReader(node.MinimalPing)); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("ping to the ops listener: got %v %v, want 404", resp, err)
	}
}

// oldSchema removes the record of the newest migration, so that the database seems to be older than the
// node.
func oldSchema(t *testing.T, n *node.Node) {
	ctx := context.Background()
	var newest int64
	err := n.Root.QueryRow(ctx,
		`DELETE FROM schema_migrations WHERE version_id = (SELECT max(version_id) FROM schema_migrations) RETURNING version_id`).Scan(&newest)
	if err != nil {
		t.Fatal(err)
	}
	n.CheckReadiness(t, "/readyz", "schema")
	n.CheckReadiness(t, "/readyz/ping")
	if _, err := n.Root.Exec(ctx, `INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, newest); err != nil {
		t.Fatal(err)
	}
	n.CheckReadiness(t, "/readyz")
}

// newerSchema applies migrations of a newer program while the node runs. If the newer program declares
// that the node works with its schema, the node stays ready and another one starts. Otherwise not.
func newerSchema(t *testing.T, n *node.Node) {
	known, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	later := known + 1
	n.DB.Exec(t, `INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, later)
	n.DB.Exec(t, `INSERT INTO schema_requirements (version, oldest_program) VALUES ($1, $2)`, later, known)
	n.CheckReadiness(t, "/readyz")
	lines := n.Log.Count("the schema is newer")
	n.StartPeer(t).Close(t)
	if got := n.Log.Count("the schema is newer"); got != lines+1 {
		t.Errorf("the node logs the newer schema %d times, want once", got-lines)
	}

	n.DB.Exec(t, `UPDATE schema_requirements SET oldest_program = version WHERE version = $1`, later)
	n.CheckReadiness(t, "/readyz", "schema")
	n.CheckReadiness(t, "/readyz/ping")
	if _, err := n.TryStartPeer(t); err == nil || !strings.Contains(err.Error(), fmt.Sprint(later)) {
		t.Errorf("got %v, want an error that names the version %d", err, later)
	}
	n.DB.Exec(t, `DELETE FROM schema_migrations WHERE version_id = $1`, later)
	n.CheckReadiness(t, "/readyz")
}
