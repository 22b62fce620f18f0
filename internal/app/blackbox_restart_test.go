package app_test

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

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// withSnapshot has a node keep a snapshot in a folder of the test's own, which it
// has to make.
func withSnapshot(t *testing.T) option {
	return func(n *node) {
		n.cfg.Database.SnapshotFile = filepath.Join(t.TempDir(), "made", "snapshot")
	}
}

// restart stops the node and starts it again, as a new process would.
func (n *node) restart(t *testing.T, whileStopped func()) {
	t.Helper()
	n.client.CloseIdleConnections()
	if err := n.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	whileStopped()
	n.startAgain(t)
}

func (n *node) startAgain(t *testing.T) {
	t.Helper()
	started, err := app.Start(t.Context(), app.Options{Config: n.cfg, Environment: "development", Clock: n.clock, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	n.App = started
	n.api, n.admin, n.ops = "http://"+n.APIAddr(), "http://"+n.AdminAddr(), "http://"+n.OpsAddr()
}

// saved waits until the node has written a snapshot since that moment.
func (n *node) saved(t *testing.T, after time.Time) {
	t.Helper()
	testkit.Eventually(t, patience, "the snapshot is saved", func() bool {
		info, err := os.Stat(n.cfg.Database.SnapshotFile)
		return err == nil && info.ModTime().After(after)
	})
}

// allPrices are what pings get on the shared address and on each partner's own.
func (n *node) allPrices(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, base := range []string{"", n.required.base(), n.reportOnly.base(), n.off.base()} {
		for _, ping := range []string{leastPing, `{"industry":"roofer","postcode":"10115","country":"DE","urgency":"emergency"}`} {
			q := n.ping(t, base, ping)
			all[base+ping] = q.Currency + " " + string(q.BidPrice) + q.Reason
		}
	}
	return all
}

// A node that is started while the database is away answers pings with the prices
// from before, and posts with 503. When the database is back it takes posts
// without a restart.
func TestARestartWithoutTheDatabaseAnswersPings(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := startNode(t, onServer(t, server), withSnapshot(t))
	n.lossy = false // it is stopped before the server is
	suspended := n.newPartner(t, "gone-quiet", models.SigningRequired)
	for _, sql := range []string{
		`INSERT INTO partner_prices (partner_id, adjustment, daily_lead_cap, updated_at) VALUES ('` + n.required.ID.String() + `', 1500, 1, now())`,
		`INSERT INTO partner_prices (partner_id, exclusions, updated_at) VALUES ('` + n.off.ID.String() + `', '[{"country":"DE"}]', now())`,
		`UPDATE partners SET status = 'suspended' WHERE id = '` + suspended.ID.String() + `'`,
	} {
		n.db.Exec(t, sql)
	}
	testkit.Eventually(t, patience, "the agreement is active", func() bool { return n.ping(t, suspended.base(), leastPing).Reason == "paused" })
	seen := clock.System{}.Now()
	n.db.Exec(t, `UPDATE partners SET name = 'Gone quiet' WHERE slug = 'gone-quiet'`)
	n.saved(t, seen) // with all that was seen before
	file := n.cfg.Database.SnapshotFile
	before := n.allPrices(t)
	if len(slices.Compact(slices.Sorted(maps.Values(before)))) < 4 {
		t.Fatalf("too few different prices: %v", before)
	}
	body := n.freshPost(t, n.required)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the snapshot's mode: %v %v", info, err)
	}
	for _, secret := range []string{n.required.Slug, n.required.secret, "plumber"} {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("the snapshot shows %q (%v)", secret, err)
		}
	}

	n.restart(t, func() { server.Halt(t) })
	n.isReady(t, "/readyz/ping", pingChecks)
	if r := n.readiness(t, "/readyz"); r.Ready {
		t.Errorf("ready for posts without a database: %v", r.Checks)
	}
	if after := n.allPrices(t); !maps.Equal(before, after) {
		t.Errorf("prices before the restart %v, after it %v", before, after)
	}
	if got := n.ping(t, suspended.base(), leastPing); got.Reason != "paused" {
		t.Errorf("a suspended partner gets %+v", got)
	}
	n.unavailable(t, n.post(t, n.required, body), notSaved)
	n.unavailable(t, n.post(t, n.required, n.freshPost(t, n.required)), notSaved)
	if resp, err := n.client.Get(n.admin + "/login"); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the console answers %v %v", resp, err)
	}
	n.get(t, n.ops+"/metrics")

	server.Start(t)
	n.checksBecome(t, postChecks)
	decode[delivered](t, n.post(t, n.required, body))
	n.get(t, n.admin+"/login")
	testkit.Eventually(t, patience, "the pings from before are recorded", func() bool {
		return testkit.Value[int](t, n.db, `SELECT count(*) FROM pings`) == n.priced
	})
	n.stopOn(t, n.db.RootURL)
}

// rootTo opens the test's own connection again.
func (n *node) rootTo(t *testing.T, url string) {
	t.Helper()
	n.root.Close(t.Context())
	root, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	n.root = root
}

// stopOn stops the node before the server on which its records are now looked at.
func (n *node) stopOn(t *testing.T, rootURL string) {
	t.Helper()
	n.rootTo(t, rootURL)
	n.stop(t)
}

// A node does not use a snapshot that it cannot trust. It says so, waits for the
// database, and serves when that is back.
func TestSnapshotsThatAreNotUsed(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := startNode(t, onServer(t, server), withSnapshot(t))
	n.saved(t, time.Time{})
	file := n.cfg.Database.SnapshotFile
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
	platform := n.cfg.Keys.Platform
	for _, c := range []struct {
		name, why string
		prepare   func()
	}{
		{"a byte was changed", "not read", changed(func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
		{"cut off", "not read", changed(func(b []byte) []byte { return b[:len(b)/2] })},
		{"empty", "not read", changed(func(b []byte) []byte { return nil })},
		{"another format", "not read", changed(func(b []byte) []byte { return bytes.Replace(b, []byte(" 1\n"), []byte(" 2\n"), 1) })},
		{"missing", "none", func() { os.Remove(file) }},
		{"a folder", "not read", func() { os.Mkdir(file, 0o700) }},
		{"older than 24 hours", "not current", func() {
			os.Remove(file)
			changed(func(b []byte) []byte { return b })()
			n.hands.Advance(24*time.Hour + time.Minute)
		}},
		{"of the future", "not current", func() { n.hands.Advance(-24*time.Hour - 2*time.Minute) }},
		{"sealed under another key", "not read", func() {
			n.hands.Advance(time.Minute)
			n.cfg.Keys.Platform = []config.Secret{newKey()}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.prepare()
			n.startAgain(t)
			defer n.Stop(t.Context())
			if r := n.readiness(t, "/readyz/ping"); r.Ready || r.Checks["rate_card"] != "not loaded" || r.Checks["directory"] != "not loaded" {
				t.Errorf("/readyz/ping: %v", r.Checks)
			}
			if a := n.do(t, request{path: "/api/lead/ping", body: leastPing}); a.status != http.StatusInternalServerError {
				t.Errorf("a ping is answered with %d %s", a.status, a.body)
			}
			if a := n.do(t, request{path: n.required.base() + "/api/lead/ping", body: "{"}); a.status != http.StatusInternalServerError {
				t.Errorf("a wrong ping is answered with %d %s", a.status, a.body)
			}
			n.unavailable(t, n.post(t, n.required, withTransaction(leastPost, "tx_"+strings.Repeat("A", 100))), notSaved)
			n.get(t, n.ops+"/metrics")
			testkit.Eventually(t, patience, "the log says why", func() bool { return n.log.Count(`"snapshot":"`+c.why+`"`) > 0 })
		})
	}

	// The keys are a mistake that waiting does not end.
	n.startAgain(t)
	server.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := n.Wait(ctx); err == nil || !strings.Contains(err.Error(), "PINGPOST_PLATFORM_KEYS") {
		t.Errorf("with the wrong platform keys the node ends with %v", err)
	}
	n.restart(t, func() { n.cfg.Keys.Platform = platform })
	n.checksBecome(t, postChecks)
	n.works(t)
	n.stopOn(t, n.db.RootURL)
}

// Pings are not answered from a snapshot once that is older than 24 hours.
func TestASnapshotEndsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	server := testkit.NewServer(t)
	n := startNode(t, onServer(t, server), withSnapshot(t))
	n.saved(t, time.Time{})
	n.restart(t, func() { server.Halt(t) })
	n.works(t)
	n.hands.Advance(24*time.Hour + time.Minute)
	testkit.Eventually(t, patience, "the node has no prices", func() bool { return !n.readiness(t, "/readyz/ping").Ready })
	server.Start(t)
	n.checksBecome(t, postChecks)
	n.works(t)
	n.stopOn(t, n.db.RootURL)
}

// A snapshot that cannot be written is logged once and counted, and costs nothing
// else.
func TestASnapshotThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n := startNode(t, func(n *node) { n.cfg.Database.SnapshotFile = filepath.Join(blocked, "snapshot") })
	testkit.Eventually(t, patience, "the failure is counted", func() bool {
		text := n.get(t, n.ops+"/metrics")
		return strings.Contains(text, "\npingpost_snapshot_write_failures_total ") && !strings.Contains(text, "\npingpost_snapshot_write_failures_total 0\n")
	})
	testkit.Eventually(t, patience, "the failure is logged", func() bool { return n.log.Count("the snapshot for restarts is not written") == 1 })
	n.isReady(t, "/readyz", postChecks)
	n.deliver(t, n.required, leastPost)
}
