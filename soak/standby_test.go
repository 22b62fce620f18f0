package soak

import (
	"net/http"
	"testing"

	"github.com/pingpost/pingpost/internal/testkit"
)

// A post is not acknowledged before a synchronous standby has its lead: neither by
// the post itself nor, when its wait was broken off and the lead can be seen on the
// primary alone, by a retry.
func TestNothingIsAcknowledgedBeforeTheStandbyHasIt(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
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
	standby("one_that_is_away")
	testkit.Eventually(t, back, "the nodes' sessions know the standby", func() bool {
		var wanted string
		err := p.root(t).QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&wanted)
		return err == nil && wanted != ""
	})
	first := make(chan int, 1)
	go func() { first <- c.status(p.nodes[0], postBody(tx, 1), p.secret) }()
	const waiting = `FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'pingpost_app' AND query LIKE '%WITH post AS%'`
	testkit.Eventually(t, back, "the commit waits for the standby", func() bool {
		var n int
		return root.QueryRow(t.Context(), `SELECT count(*) `+waiting).Scan(&n) == nil && n == 1
	})
	if _, err := root.Exec(t.Context(), `SELECT pg_terminate_backend(pid) `+waiting); err != nil {
		t.Fatal(err)
	}
	if status := <-first; status != http.StatusServiceUnavailable {
		t.Errorf("the post was answered %d", status)
	}
	if all := p.leads(t); len(all) != 1 {
		t.Fatalf("%d leads can be seen on the primary: nothing is tested", len(all))
	}
	if a, _, _, err := c.post(p.nodes[1], postBody(tx, 1)); err != nil || a.outcome != unknown {
		t.Errorf("a retry was answered: %s, %v", a.outcome, err)
	}
	if a, _, _, err := c.post(p.nodes[1], postBody(tx, 2)); err != nil || a.outcome != unknown {
		t.Errorf("another body was answered: %s, %v", a.outcome, err)
	}
	standby("")
	if a, _, _, err := c.post(p.nodes[1], postBody(tx, 1)); err != nil || a.outcome != replayed {
		t.Errorf("once the standby counts no more, a retry was answered: %s, %v", a.outcome, err)
	}
}
