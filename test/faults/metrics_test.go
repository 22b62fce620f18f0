package faults

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/migrations"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// metric returns the value of a metric with its labels, such as `pingpost_ready{check="clock"}`.
func metric(t *testing.T, n *node.Node, name string) float64 {
	t.Helper()
	_, rest, found := strings.Cut(n.Get(t, n.Ops+"/metrics"), "\n"+name+" ")
	text, _, _ := strings.Cut(rest, "\n")
	value, err := strconv.ParseFloat(text, 64)
	if !found || err != nil {
		t.Fatalf("the metric %s is missing or has no number: %q", name, text)
	}
	return value
}

// TestLeadMetrics delivers leads. Replays and sandbox leads must not be counted.
func TestLeadMetrics(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	var payout float64
	for range 3 {
		post := n.FreshPost(t, n.Required)
		d := n.Deliver(t, n.Required, post)
		n.Deliver(t, n.Required, post)
		amount, err := d.Payout.Float64()
		if err != nil {
			t.Fatal(err)
		}
		payout += math.Round(amount * 100)
	}
	sandbox := n.NewPartner(t, "sandbox", models.SigningRequired,
		partners.NewAccount{Identifier: "sandbox", Sandbox: true})
	n.Deliver(t, sandbox, node.MinimalPost)
	for name, want := range map[string]float64{
		`pingpost_leads_stored_total{currency="GBP"}`:             3,
		`pingpost_leads_payout_minor_units_total{currency="GBP"}`: payout,
		`pingpost_post_slots_used{signed="true"}`:                 0,
		`pingpost_posts_waiting{signed="true"}`:                   0,
		`pingpost_post_slots{signed="true"}`:                      float64(n.Config.Limits.PostConcurrency),
		`pingpost_database_connections_max`:                       float64(n.Config.Database.MaxConnections),
	} {
		if got := metric(t, n, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	last := time.Unix(int64(metric(t, n, "pingpost_lead_stored_timestamp_seconds")), 0)
	if got := time.Since(last); got < 0 || got > time.Minute {
		t.Errorf("the last lead was stored %s ago", got)
	}
}

// TestPlatformMetrics starts a node on a database with jobs, erasures and a retention run.
func TestPlatformMetrics(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	execRoot(t, n, `INSERT INTO jobs (kind, object_id, enqueued_by, state, failure, enqueued_at, ended_at)
		SELECT 'export', gen_random_uuid(), 'cli', 'failed', 'failed', now(), now() FROM generate_series(1, 2)`)
	execRoot(t, n, `INSERT INTO erasure_entries (sequence, hash, body, reason, actor, requested_at, key)
		VALUES (1, sha256('1'), '', 'request', 'cli', now(), sha256('key'))`)
	execRoot(t, n, `INSERT INTO retention_runs (id, started_at, ended_at)
		VALUES (gen_random_uuid(), to_timestamp(1000), to_timestamp(1234))`)
	peer := n.StartPeer(t)
	schema, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, node.Patience, "the peer has read the metrics", func() bool {
		return metric(t, peer, "pingpost_retention_run_timestamp_seconds") == 1234 &&
			metric(t, peer, "pingpost_audit_verified_timestamp_seconds") > 0 && metric(t, peer, "pingpost_listen_connected") == 1
	})
	for name, want := range map[string]float64{
		`pingpost_jobs{kind="export",state="failed"}`:      2,
		`pingpost_jobs{kind="payout_run",state="failed"}`:  0,
		`pingpost_jobs_oldest_seconds{kind="export"}`:      0,
		`pingpost_erasures_pending`:                        1,
		`pingpost_retention_due_leads`:                     0,
		`pingpost_audit_intact`:                            1,
		`pingpost_database_schema`:                         float64(schema),
		`pingpost_check_failing{check="schema",reason=""}`: 0,
		`pingpost_build_info{revision="",schema="` + strconv.FormatInt(schema, 10) + `",version="` + node.Version + `"}`: 1,
	} {
		if got := metric(t, peer, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if skew := metric(t, peer, "pingpost_clock_skew_seconds"); skew < -5 || skew > 5 {
		t.Errorf("clock skew: got %v seconds", skew)
	}
}

// TestFailingCheckHasReason makes the schema unknown to the node.
func TestFailingCheckHasReason(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	execRoot(t, n, `INSERT INTO schema_migrations (version_id, is_applied) VALUES (99998, true)`)
	testkit.Eventually(t, node.Patience, "the metric has the reason", func() bool {
		return strings.Contains(n.Get(t, n.Ops+"/metrics"),
			`pingpost_check_failing{check="schema",reason="incompatible"} 1`)
	})
	if strings.Contains(n.Get(t, n.Ops+"/metrics"), `pingpost_check_failing{check="schema",reason=""}`) {
		t.Error("the check has two reasons")
	}
}
