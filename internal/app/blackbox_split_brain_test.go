package app_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/testkit"
)

// severalHosts is a URL of all these servers' database, in this order.
func severalHosts(t *testing.T, urls ...string) config.Secret {
	t.Helper()
	var hosts []string
	for _, one := range urls {
		u, err := url.Parse(one)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, u.Host)
	}
	return config.Secret(strings.Replace(urls[0], hosts[0], strings.Join(hosts, ","), 1) + "&target_session_attrs=read-write")
}

// An old primary that is restarted after its standby was promoted accepts writes
// and stands first in the URL. No node stores a lead on it: neither one that was
// running, though it lost its connections, nor one that was started since.
func TestARestartedOldPrimaryGetsNoLeads(t *testing.T) {
	t.Parallel()
	primary := testkit.NewServer(t)
	var standby *testkit.Server
	n := startNode(t, onServer(t, primary), func(n *node) {
		standby = primary.Standby(t)
		n.cfg.Database.URL = severalHosts(t, n.db.AppURL, standby.URLs().AppURL)
	})
	n.deliver(t, n.required, leastPost)
	primary.Halt(t)
	promoted := standby.URLs()
	promoted.Exec(t, `SELECT pg_promote()`)
	n.rootTo(t, promoted.RootURL)
	testkit.Eventually(t, patience, "the node uses the promoted standby", func() bool { return n.readiness(t, "/readyz").Ready })
	n.deliver(t, n.required, leastPost)

	primary.Start(t)
	promoted.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pingpost_app'`)
	for range 20 {
		n.retried(t)
	}
	another, err := app.Start(t.Context(), app.Options{Config: n.cfg, Environment: "development", Clock: n.clock, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	first := n.api
	n.api = "http://" + another.APIAddr()
	for range 20 {
		n.retried(t)
	}
	n.api = first
	if err := another.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := testkit.Value[int](t, promoted, `SELECT count(*) FROM leads`); got != 42 {
		t.Errorf("the promoted server has %d leads, want 42", got)
	}
	if got := testkit.Value[int](t, primary.URLs(), `SELECT count(*) FROM leads`); got != 1 {
		t.Errorf("the old primary has %d leads, want the 1 from before", got)
	}
}

// A node that is started while only the old primary answers remembers that it was
// replaced, and stores nothing on it.
func TestAnOldPrimaryIsRefusedAfterARestart(t *testing.T) {
	t.Parallel()
	primary := testkit.NewServer(t)
	var standby *testkit.Server
	n := startNode(t, onServer(t, primary), withSnapshot(t), func(n *node) {
		standby = primary.Standby(t)
		n.cfg.Database.URL = severalHosts(t, n.db.AppURL, standby.URLs().AppURL)
	})
	primary.Halt(t)
	promoted := standby.URLs()
	seen := clock.System{}.Now()
	promoted.Exec(t, `SELECT pg_promote()`)
	n.checksBecome(t, postChecks)
	n.saved(t, seen)
	n.restart(t, func() {
		standby.Halt(t)
		primary.Start(t)
	})
	n.isReady(t, "/readyz/ping", pingChecks)
	n.unavailable(t, n.post(t, n.required, n.freshPost(t, n.required)), notSaved)
	standby.Start(t)
	n.checksBecome(t, postChecks)
	n.deliver(t, n.required, leastPost)
	for server, want := range map[*testkit.Server]int{primary: 0, standby: 1} {
		if got := testkit.Value[int](t, server.URLs(), `SELECT count(*) FROM leads`); got != want {
			t.Errorf("%d leads on a server, want %d", got, want)
		}
	}
	n.stopOn(t, promoted.RootURL)
}

// retried delivers a lead as a partner does: what is answered with 503 is sent again.
func (n *node) retried(t *testing.T) {
	t.Helper()
	body := n.freshPost(t, n.required)
	testkit.Eventually(t, patience, "the post is delivered", func() bool { return n.post(t, n.required, body).status == 200 })
}
