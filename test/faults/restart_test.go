package faults

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// withSnapshot makes a node save its snapshot in a temporary folder. The folder does not exist yet, so
// the node has to create it.
func withSnapshot(t *testing.T) node.Option {
	return func(n *node.Node) {
		n.Config.Database.SnapshotFile = filepath.Join(t.TempDir(), "made", "snapshot")
	}
}

// restart stops the node and starts it again, as if in a new process.
func restart(t *testing.T, n *node.Node, whileStopped func()) {
	t.Helper()
	n.Client.CloseIdleConnections()
	if err := n.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	whileStopped()
	n.StartAgain(t)
}

// awaitSnapshot waits until the node has saved a snapshot that is newer than the given time.
func awaitSnapshot(t *testing.T, n *node.Node, after time.Time) {
	t.Helper()
	testkit.Eventually(t, node.Patience, "the snapshot is saved", func() bool {
		info, err := os.Stat(n.Config.Database.SnapshotFile)
		return err == nil && info.ModTime().After(after)
	})
}

// allPrices returns the prices that pings get on the shared base URL and on each partner's own base URL.
func allPrices(t *testing.T, n *node.Node) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, base := range []string{"", n.Required.Base(), n.ReportOnly.Base(), n.Off.Base()} {
		for _, ping := range []string{node.MinimalPing, `{"industry":"roofer","postcode":"10115","country":"DE","urgency":"emergency"}`} {
			q := n.Ping(t, base, ping)
			all[base+ping] = q.Currency + " " + string(q.BidPrice) + q.Reason
		}
	}
	return all
}

// TestRestartWithoutDatabase restarts a node while the database is unavailable. Pings must get the same
// prices as before, and posts must get 503. When the database is available again, the node must accept
// posts without another restart.
func TestRestartWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := node.Start(t, onServer(t, server), withSnapshot(t))
	n.LosesAnswers = false // no responses are lost, because the node stops before the server
	suspended := n.NewPartner(t, "suspended", models.SigningRequired)
	for _, sql := range []string{
		`INSERT INTO partner_prices (partner_id, adjustment, daily_lead_cap, updated_at) VALUES ('` +
			n.Required.ID.String() + `', 1500, 1, now())`,
		`INSERT INTO partner_prices (partner_id, exclusions, updated_at) VALUES ('` + n.Off.ID.String() +
			`', '[{"country":"DE"}]', now())`,
		`UPDATE partners SET status = 'suspended' WHERE id = '` + suspended.ID.String() + `'`,
	} {
		n.DB.Exec(t, sql)
	}
	testkit.Eventually(t, node.Patience, "the new terms are active",
		func() bool { return n.Ping(t, suspended.Base(), node.MinimalPing).Reason == "paused" })
	seen := clock.System{}.Now()
	n.DB.Exec(t, `UPDATE partners SET name = 'Suspended' WHERE slug = 'suspended'`)
	awaitSnapshot(t, n, seen) // this snapshot contains all of the changes above
	file := n.Config.Database.SnapshotFile
	before := allPrices(t, n)
	if len(slices.Compact(slices.Sorted(maps.Values(before)))) < 4 {
		t.Fatalf("want at least 4 different prices, got %v", before)
	}
	body := n.FreshPost(t, n.Required)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("snapshot file: got %v %v, want mode 0600", info, err)
	}
	for _, secret := range []string{n.Required.Slug, n.Required.Secret, "plumber"} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("the snapshot contains %q (%v)", secret, err)
		}
	}

	restart(t, n, func() { server.Halt(t) })
	n.AwaitReadiness(t, "/readyz/ping")
	if r := n.Readiness(t, "/readyz"); r.Ready {
		t.Errorf("the node is ready for posts without a database: %v", r.Checks)
	}
	if after := allPrices(t, n); !maps.Equal(before, after) {
		t.Errorf("got prices %v after the restart, want %v", after, before)
	}
	if got := n.Ping(t, suspended.Base(), node.MinimalPing); got.Reason != "paused" {
		t.Errorf("ping of a suspended partner: got %+v, want paused", got)
	}
	n.CheckUnavailable(t, n.Post(t, n.Required, body), spec.NotSaved)
	n.CheckUnavailable(t, n.Post(t, n.Required, n.FreshPost(t, n.Required)), spec.NotSaved)
	if resp, err := n.Client.Get(n.Admin + "/login"); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("console: got %v %v, want 503", resp, err)
	}
	n.Get(t, n.Ops+"/metrics")

	server.Start(t)
	n.AwaitReadiness(t, "/readyz")
	node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
	n.Get(t, n.Admin+"/login")
	testkit.Eventually(t, node.Patience, "all pings are recorded", func() bool {
		return testkit.Value[int](t, n.DB, `SELECT count(*) FROM pings`) == n.PricedPings()
	})
	stopOn(t, n, n.DB.RootURL)
}

// reconnectRoot replaces the test's superuser connection.
func reconnectRoot(t *testing.T, n *node.Node, url string) {
	t.Helper()
	n.Root.Close(t.Context())
	root, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	n.Root = root
}

// stopOn stops the node before its database server stops. It checks what the node recorded on the server
// with the given URL.
func stopOn(t *testing.T, n *node.Node, rootURL string) {
	t.Helper()
	reconnectRoot(t, n, rootURL)
	n.Shutdown(t)
}

// TestInvalidSnapshots checks that a node does not use a snapshot that is damaged, too old, or encrypted
// with a different key. The node must log the reason, and it must work as soon as the database is
// available again.
func TestInvalidSnapshots(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := node.Start(t, onServer(t, server), withSnapshot(t))
	awaitSnapshot(t, n, time.Time{})
	file := n.Config.Database.SnapshotFile
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Halt(t)
	changed := func(change func([]byte) []byte) func() {
		return func() {
			if err := os.WriteFile(file, change(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	platform := n.Config.Keys.Platform
	for _, c := range []struct {
		name, reason string
		prepare      func()
	}{
		{"a changed byte", "not read", changed(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
		{"cut off", "not read", changed(func(b []byte) []byte { return b[:len(b)/2] })},
		{"empty", "not read", changed(func(b []byte) []byte { return nil })},
		{"another format", "not read", changed(func(b []byte) []byte {
			return bytes.Replace(b, []byte(" 1\n"), []byte(" 2\n"), 1)
		})},
		{"missing", "none", func() { os.Remove(file) }},
		{"a folder", "not read", func() { os.Mkdir(file, 0o700) }},
		{"older than 24 hours", "not current", func() {
			os.Remove(file)
			changed(func(b []byte) []byte { return b })()
			n.Manual.Advance(24*time.Hour + time.Minute)
		}},
		{"from the future", "not current", func() { n.Manual.Advance(-24*time.Hour - 2*time.Minute) }},
		{"sealed with another key", "not read", func() {
			n.Manual.Advance(time.Minute)
			n.Config.Keys.Platform = []config.Secret{node.NewKey()}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.prepare()
			n.StartAgain(t)
			defer n.Stop(t.Context())
			if r := n.Readiness(t, "/readyz/ping"); r.Ready || r.Checks["rate_card"] == "ok" || r.Checks["directory"] == "ok" {
				t.Errorf("/readyz/ping: %v", r.Checks)
			}
			if a := n.Do(t, node.Request{Path: "/api/lead/ping", Body: node.MinimalPing}); a.Status != http.StatusServiceUnavailable {
				t.Errorf("ping: got %d %s, want 503", a.Status, a.Body)
			}
			if a := n.Do(t, node.Request{Path: n.Required.Base() + "/api/lead/ping", Body: "{"}); a.Status != http.StatusServiceUnavailable {
				t.Errorf("invalid ping: got %d %s, want 503", a.Status, a.Body)
			}
			n.CheckUnavailable(t,
				n.Post(t, n.Required, node.WithTransaction(node.MinimalPost, "tx_"+strings.Repeat("A", 100))),
				spec.NotSaved)
			n.Get(t, n.Ops+"/metrics")
			testkit.Eventually(t, node.Patience, "the reason is logged",
				func() bool { return n.Log.Count(`"snapshot":"`+c.reason+`"`) > 0 })
		})
	}

	// If the platform keys are wrong, the node must stop, because waiting would not help.
	n.StartAgain(t)
	server.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := n.Wait(ctx); err == nil || !strings.Contains(err.Error(), "PINGPOST_PLATFORM_KEYS") {
		t.Errorf("node with wrong platform keys: got %v, want an error with PINGPOST_PLATFORM_KEYS", err)
	}
	restart(t, n, func() { n.Config.Keys.Platform = platform })
	n.AwaitReadiness(t, "/readyz")
	n.CheckServes(t)
	stopOn(t, n, n.DB.RootURL)
}

// TestSnapshotExpiresWithoutDatabase checks that a node stops using a snapshot for pings when the
// snapshot is older than 24 hours.
func TestSnapshotExpiresWithoutDatabase(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := node.Start(t, onServer(t, server), withSnapshot(t))
	awaitSnapshot(t, n, time.Time{})
	restart(t, n, func() { server.Halt(t) })
	n.CheckServes(t)
	n.Manual.Advance(24*time.Hour + time.Minute)
	testkit.Eventually(t, node.Patience, "the node has no prices", func() bool { return !n.Readiness(t, "/readyz/ping").Ready })
	server.Start(t)
	n.AwaitReadiness(t, "/readyz")
	n.CheckServes(t)
	stopOn(t, n, n.DB.RootURL)
}

// TestUnwritableSnapshot checks that a node counts failures to write the snapshot, that it logs them
// once, and that they have no other effect.
func TestUnwritableSnapshot(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := node.Start(t, func(n *node.Node) { n.Config.Database.SnapshotFile = filepath.Join(blocked, "snapshot") })
	testkit.Eventually(t, node.Patience, "the failure is counted", func() bool {
		text := n.Get(t, n.Ops+"/metrics")
		return strings.Contains(text, "\npingpost_snapshot_write_failures_total ") &&
			!strings.Contains(text, "\npingpost_snapshot_write_failures_total 0\n")
	})
	testkit.Eventually(t, node.Patience, "the failure is logged",
		func() bool { return n.Log.Count("database.snapshot_file") == 1 })
	n.AwaitReadiness(t, "/readyz")
	n.Deliver(t, n.Required, node.MinimalPost)
}
