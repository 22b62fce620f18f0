package faults

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/node"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.CheckReadiness(t, "/readyz")
	n.CheckReadiness(t, "/readyz/ping")
	if got := n.Get(t, n.Ops+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz answers %q", got)
	}
	t.Run("metrics", func(t *testing.T) { metrics(t, n) })
	t.Run("only there", func(t *testing.T) { operationsStayApart(t, n) })
	t.Run("schema behind", func(t *testing.T) { schemaBehind(t, n) })
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
			t.Errorf("the metrics have not %s", want)
		}
	}
	testkit.Eventually(t, 2*time.Second, "the ping is recorded", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "pingpost_pings_recorded_total 1\n")
	})
}

// tryRestart starts a second node beside the first, as a restart would, and stops it.
func tryRestart(t *testing.T, n *node.Node) error {
	t.Helper()
	another, err := n.TryStartPeer(t)
	if err == nil {
		another.Close(t)
	}
	return err
}

// Partner pricing that cannot be read costs that partner its
// price. It must not cost the others their pings, nor a node its restart.
func TestPricesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 0\n") {
		t.Error("the metrics do not say that all of the directory is read")
	}
	if _, err := n.Root.Exec(t.Context(), `INSERT INTO partner_prices (partner_id, exclusions, updated_at) VALUES ($1, '[1]', now())`, n.Off.ID); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, "the metrics count what is not understood", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 1\n")
	})
	n.CheckReadiness(t, "/readyz")
	n.CheckReadiness(t, "/readyz/ping")
	if a := n.Do(t, node.Request{Path: n.Off.Base() + "/api/lead/ping", Body: node.MinimalPing}); !strings.Contains(a.Body, `"reason":"excluded"`) {
		t.Errorf("the partner's ping is answered with %s", a.Body)
	}
	n.Deliver(t, n.Required, node.MinimalPost)
	if err := tryRestart(t, n); err != nil {
		t.Errorf("restarting: %v", err)
	}
	testkit.Eventually(t, 2*time.Second, "the log names the partner", func() bool {
		return strings.Contains(n.Log.String(), n.Off.Slug)
	})
}

// A secret that no platform key opens costs its partner's posts: posts are told
// of it, a start with the wrong keys fails, and pings go on.
func TestSecretsThatCannotBeRead(t *testing.T) {
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
		t.Error("the metrics do not count it")
	}
	if err := tryRestart(t, n); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a start with the wrong keys: %v", err)
	}
}

// operationsStayApart asks every listener for what the ops listener has.
func operationsStayApart(t *testing.T, n *node.Node) {
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
				t.Errorf("%s%s answers %s", origin, path, resp.Status)
			}
		}
	}
	if page := n.Get(t, n.Admin+"/login"); !strings.Contains(page, "development") {
		t.Errorf("the console does not say which environment it is: %s", page)
	}
	if resp, err := n.Client.Post(n.Ops+"/api/lead/ping", "application/json", strings.NewReader(node.MinimalPing)); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the ops listener takes pings: %v %v", resp, err)
	}
}

// schemaBehind takes the newest migration out of the books, as when a node of
// this version meets an older database.
func schemaBehind(t *testing.T, n *node.Node) {
	ctx := context.Background()
	var newest int64
	err := n.Root.QueryRow(ctx,
		`DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version) RETURNING version_id`).Scan(&newest)
	if err != nil {
		t.Fatal(err)
	}
	n.CheckReadiness(t, "/readyz", "schema")
	n.CheckReadiness(t, "/readyz/ping")
	if _, err := n.Root.Exec(ctx, `INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, newest); err != nil {
		t.Fatal(err)
	}
	n.CheckReadiness(t, "/readyz")
}
