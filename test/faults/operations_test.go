package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
	"github.com/pingpost/pingpost/test/node"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.AwaitReadiness(t, "/readyz")
	n.AwaitReadiness(t, "/readyz/ping")
	if got := n.Get(t, n.Ops+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz: got %q, want ok", got)
	}
	t.Run("metrics", func(t *testing.T) { metrics(t, n) })
	t.Run("ops listener only", func(t *testing.T) { opsListenerOnly(t, n) })
	t.Run("newer schema", func(t *testing.T) { newerSchema(t, n) })
	t.Run("old schema", func(t *testing.T) { oldSchema(t, n) }) // stops the node
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
	testkit.Eventually(t, time.Minute, "the ping is recorded", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "pingpost_pings_recorded_total 1\n")
	})
}

// maxScrape is the maximum size of /metrics in bytes, so that Prometheus can read it often.
const maxScrape = 60_000

var consoleRequests = regexp.MustCompile(`(?m)^pingpost_console_requests_total\{.*\} (\d+)$`)

var placeholder = regexp.MustCompile(`\{\$?\w*\}`)

// TestMetricsAreSmall checks the size of /metrics before and after the node has served its API and every
// route of its console.
func TestMetricsAreSmall(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	check := func(when, text string) {
		t.Helper()
		if len(text) > maxScrape {
			t.Errorf("%s: got %d bytes, want at most %d", when, len(text), maxScrape)
		}
	}
	fresh := n.Get(t, n.Ops+"/metrics")
	check("a new node", fresh)
	if strings.Contains(fresh, "_duration_seconds_bucket") {
		t.Error("a new node has histograms of routes that it has not served")
	}
	n.Deliver(t, n.Required, node.MinimalPost)
	for _, path := range []string{"/api/industries", "/openapi.yaml", "/docs", "/docs.css", "/docs.js", "/partner/none", "/none"} {
		n.Do(t, node.Request{Method: http.MethodGet, Path: path})
	}
	routes := admin.Routes(admin.Options{Environment: "development"})
	for _, r := range routes {
		path := placeholder.ReplaceAllString(strings.TrimSuffix(r.Path, "{$}"), "x")
		for _, site := range []string{"same-origin", "cross-site"} {
			req, err := http.NewRequestWithContext(t.Context(), r.Method, n.Admin+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Sec-Fetch-Site", site)
			resp, err := n.Client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	var text string
	testkit.Eventually(t, node.Patience, "the node has counted the requests", func() bool {
		text = n.Get(t, n.Ops+"/metrics")
		counted := 0
		for _, line := range consoleRequests.FindAllStringSubmatch(text, -1) {
			requests, err := strconv.Atoi(line[1])
			if err != nil {
				t.Fatal(err)
			}
			counted += requests
		}
		return counted >= 2*len(routes)
	})
	// Signed-in staff cause other outcomes. Each has a series for each area, not for each route.
	if got := len(consoleRequests.FindAllString(text, -1)); got > len(routes)/2 {
		t.Errorf("got %d series of requests to the console for %d routes", got, len(routes))
	}
	check("all routes served", text)
	for _, route := range []string{"ping", "post", "/docs"} {
		if want := `pingpost_request_duration_seconds_bucket{route="` + route + `",le="0.001"}`; !strings.Contains(text, want) {
			t.Errorf("the metrics do not contain %s", want)
		}
	}
}

// TestPostsAreLoggedWithLead checks that the log line of a delivered or replayed post, and of no other
// request, contains the lead's ID. After a restore, the log then shows which leads are missing.
func TestPostsAreLoggedWithLead(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	body := n.FreshPost(t, n.Required)
	lead := node.Decode[node.Delivered](t, n.Post(t, n.Required, body)).LeadID
	n.Post(t, n.Required, body)
	n.Post(t, n.Required, "{}")
	n.Close(t) // writes the log
	n.CheckStopped(t)
	got := map[string]string{}
	for text := range strings.Lines(n.Log.String()) {
		var line struct {
			Msg, Outcome string
			LeadID       string `json:"lead_id"`
		}
		if err := json.Unmarshal([]byte(text), &line); err == nil && line.Msg == "request" {
			got[line.Outcome] = line.LeadID
		}
	}
	if want := map[string]string{"priced": "", "delivered": lead, "replayed": lead, "payload": ""}; !maps.Equal(got, want) {
		t.Errorf("got the lead IDs %v, want %v", got, want)
	}
}

// TestReadOnlyJournal checks that a node reports an erasure journal that can be read but not written, even
// before the first erasure.
func TestReadOnlyJournal(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Privacy.ErasureJournal = testkit.ReadOnlyFolder(t) })
	testkit.Eventually(t, node.Patience, "the node logs that the journal is unusable", func() bool {
		return strings.Contains(n.Log.String(), `"msg":"erasure journal unusable"`)
	})
	if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_erasure_journal_ok 0\n") {
		t.Error("pingpost_erasure_journal_ok is not 0")
	}
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
	testkit.Eventually(t, time.Minute, "the metrics count the unreadable row", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 1\n")
	})
	n.AwaitReadiness(t, "/readyz")
	n.AwaitReadiness(t, "/readyz/ping")
	if a := n.Do(t, node.Request{Path: n.Off.Base() + "/api/lead/ping", Body: node.MinimalPing}); !strings.Contains(a.Body, `"reason":"excluded"`) {
		t.Errorf("the partner's ping: got %s, want excluded", a.Body)
	}
	n.Deliver(t, n.Required, node.MinimalPost)
	if err := tryRestart(t, n); err != nil {
		t.Errorf("restarting: %v", err)
	}
	testkit.Eventually(t, time.Minute, "the log names the partner", func() bool {
		return strings.Contains(n.Log.String(), n.Off.Slug)
	})
}

// TestDamagedSecret checks that only posts signed with a damaged secret fail. The node must warn about the secret,
// stay ready, and be able to restart.
func TestDamagedSecret(t *testing.T) {
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
	testkit.Eventually(t, time.Minute, "the node warns about the secret",
		func() bool {
			return strings.Contains(n.Get(t, n.Ops+"/readyz"), `"warnings":{"secrets":"the secret `+name)
		})
	n.AwaitReadiness(t, "/readyz")
	n.AwaitReadiness(t, "/readyz/ping")
	if !strings.Contains(n.Get(t, n.Ops+"/metrics"), "\npingpost_directory_unreadable 1\n") {
		t.Error("the metrics do not count the damaged secret")
	}
	testkit.Eventually(t, node.Patience, "the secret is logged", func() bool { return n.Log.Count(name) > 0 })
	n.Deliver(t, n.Required, node.MinimalPost)
	if a := n.Post(t, n.Off, node.MinimalPost); a.Status != http.StatusUnauthorized {
		t.Errorf("post signed with the secret: got %d %s, want 401", a.Status, a.Body)
	}
	if err := tryRestart(t, n); err != nil {
		t.Errorf("restarting: %v", err)
	}
}

// TestStartExplainsMissingGrant checks that a node whose role may not read the versions of snapshots exits with the
// reason, instead of waiting for the database.
func TestStartExplainsMissingGrant(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	n.DB.Exec(t, `REVOKE SELECT ON snapshot_versions FROM pingpost_app`)
	if err := tryRestart(t, n); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("got %v, want an error with the SQLSTATE 42501", err)
	}
}

// opsListenerOnly checks that the ops listener's paths are not served by other listeners.
func opsListenerOnly(t *testing.T, n *node.Node) {
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/readyz/ping"} {
		n.Get(t, n.Ops+path)
		notServed(t, n, path, n.API, n.Admin)
	}
	if page := n.Get(t, n.Admin+"/login"); !strings.Contains(page, "development") {
		t.Errorf("the console does not show its environment: %s", page)
	}
	if resp, err := n.Client.Post(n.Ops+"/api/lead/ping", "application/json", strings.NewReader(node.MinimalPing)); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("ping to the ops listener: got %v %v, want 404", resp, err)
	}
}

// notServed fails the test if one of the origins does not respond to the path with 404.
func notServed(t *testing.T, n *node.Node, path string, origins ...string) {
	t.Helper()
	for _, origin := range origins {
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

var profilePaths = []string{
	"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine", "/debug/pprof/heap", "/debug/pprof/symbol",
}

// TestProfilesAreOff checks that a node serves no profiles by default. Its ops listener must not serve
// them either, because load balancers can reach it.
func TestProfilesAreOff(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	if n.ProfileAddr() != "" {
		t.Errorf("the node serves profiles at %s", n.ProfileAddr())
	}
	for _, path := range profilePaths {
		notServed(t, n, path, n.API, n.Admin, n.Ops)
	}
}

// TestProfilesHaveTheirOwnListener checks that only the profile listener serves profiles, and that it
// serves nothing else.
func TestProfilesHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.HTTP.ProfileAddr = "127.0.0.1:0" })
	profiles := "http://" + n.ProfileAddr()
	for _, path := range profilePaths {
		n.Get(t, profiles+path)
		notServed(t, n, path, n.API, n.Admin, n.Ops)
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/readyz/ping", "/api/industries", "/login"} {
		notServed(t, n, path, profiles)
	}
}

// TestStartIsIdentified checks that the start line contains the version and the node's name, and that the
// node's database connections have its name.
func TestStartIsIdentified(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.Node.Name = "node-7" })
	var line struct{ Msg, Version, Node string }
	testkit.Eventually(t, node.Patience, "the node logs that it has started", func() bool {
		for text := range strings.Lines(n.Log.String()) {
			if err := json.Unmarshal([]byte(text), &line); err == nil && line.Msg == "started" {
				return true
			}
		}
		return false
	})
	if line.Version != node.Version || line.Node != "node-7" {
		t.Errorf("got version %q and node %q, want %q and node-7", line.Version, line.Node, node.Version)
	}
	var connections int
	err := n.Root.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'pingpost node-7' AND datname = current_database()`).Scan(&connections)
	if err != nil || connections == 0 {
		t.Errorf("got %d connections with the node's name, %v", connections, err)
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
	n.AwaitReadiness(t, "/readyz", "schema")
	n.AwaitReadiness(t, "/readyz/ping")
	if want := `pingpost_ops_requests_total{outcome="not_ready",route="/readyz",status="503"}`; !strings.Contains(n.Get(t, n.Ops+"/metrics"), want) {
		t.Errorf("the metrics do not contain %s", want)
	}
	if _, err := n.Root.Exec(ctx, `INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, newest); err != nil {
		t.Fatal(err)
	}
	n.AwaitReadiness(t, "/readyz")
	n.Close(t) // writes the log
	if log := n.Log.String(); strings.Contains(log, `"route":"/readyz`) {
		t.Errorf("health checks of a node that is not ready were logged:\n%s", log)
	}
	n.CheckStopped(t)
}

// newerSchema applies a migration of a newer program while the node runs. If the newer program declares
// that the node works with its schema, the node stays ready and another one starts. Otherwise, the node is
// not ready for posts and another one does not start.
func newerSchema(t *testing.T, n *node.Node) {
	known, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	later := known + 1
	n.DB.Exec(t, `INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, later)
	n.DB.Exec(t, `INSERT INTO schema_requirements (version, oldest_program) VALUES ($1, $2)`, later, known)
	n.AwaitReadiness(t, "/readyz")
	lines := n.Log.Count("the schema is newer")
	n.StartPeer(t).Close(t)
	if got := n.Log.Count("the schema is newer"); got != lines+1 {
		t.Errorf("the node logs the newer schema %d times, want once", got-lines)
	}

	n.DB.Exec(t, `UPDATE schema_requirements SET oldest_program = version WHERE version = $1`, later)
	n.AwaitReadiness(t, "/readyz", "schema")
	n.AwaitReadiness(t, "/readyz/ping")
	if _, err := n.TryStartPeer(t); err == nil || !strings.Contains(err.Error(), fmt.Sprint(later)) {
		t.Errorf("got %v, want an error that names the version %d", err, later)
	}
	n.DB.Exec(t, `DELETE FROM schema_migrations WHERE version_id = $1`, later)
	n.AwaitReadiness(t, "/readyz")
}
