package soak

import (
	"net/http"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// TestPostWaitsForSynchronousStandby checks that a post is not acknowledged before a synchronous standby
// has received its lead. The same applies to a retry if the first post's database connection was lost,
// even though the retry can see the lead on the primary.
func TestPostWaitsForSynchronousStandby(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, setup{prepare: createShortPartitions})
	root := p.root(t)
	standby := func(name string) {
		t.Helper()
		for _, sql := range []string{`ALTER SYSTEM SET synchronous_standby_names = '` + name + `'`, `SELECT pg_reload_conf()`} {
			if _, err := root.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := p.client()
	tx, err := c.ping(p.nodes[0])
	if err != nil {
		t.Fatal(err)
	}
	standby("missing_standby")
	testkit.Eventually(t, recovery, "the new setting is active", func() bool {
		var wanted string
		err := p.root(t).QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&wanted)
		return err == nil && wanted != ""
	})
	first := make(chan int, 1)
	go func() { first <- c.status(p.nodes[0], postBody(tx, 1), p.secret) }()
	const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'pingpost_app' AND query LIKE '%WITH post AS%'`
	testkit.Eventually(t, recovery, "the commit waits for the standby", func() bool {
		var n int
		return root.QueryRow(t.Context(), `SELECT count(*) `+waiting).Scan(&n) == nil && n == 1
	})
	if _, err := root.Exec(t.Context(), `SELECT pg_terminate_backend(pid) `+waiting); err != nil {
		t.Fatal(err)
	}
	if status := <-first; status != http.StatusServiceUnavailable {
		t.Errorf("got status %d for the post, want 503", status)
	}
	if all := p.leads(t); len(all) != 1 {
		t.Fatalf("got %d leads on the primary, want 1", len(all))
	}
	if a, _, _, err := c.post(p.nodes[1], postBody(tx, 1)); err != nil || a.outcome != unknown {
		t.Errorf("a retry before the standby has the lead: got %s, %v; want %s", a.outcome, err, unknown)
	}
	if a, _, _, err := c.post(p.nodes[1], postBody(tx, 2)); err != nil || a.outcome != unknown {
		t.Errorf("another body before the standby has the lead: got %s, %v; want %s", a.outcome, err, unknown)
	}
	standby("")
	if a, _, _, err := c.post(p.nodes[1], postBody(tx, 1)); err != nil || a.outcome != replayed {
		t.Errorf("a retry when no standby is required: got %s, %v; want %s", a.outcome, err, replayed)
	}
}
