package faults

import (
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// severalHosts combines the given URLs into one URL that contains all of their hosts, in the same order.
func severalHosts(t *testing.T, urls ...string) config.Secret {
	t.Helper()
	var hosts []string
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, u.Host)
	}
	return config.Secret(strings.Replace(urls[0], hosts[0], strings.Join(hosts, ","), 1) + "&target_session_attrs=read-write")
}

// TestOldPrimaryGetsNoLeads promotes a standby and restarts the old primary. The old primary accepts
// writes and is the first host in the URL. Even so, neither a running node that has lost its connections
// nor a new node may store a lead on it.
func TestOldPrimaryGetsNoLeads(t *testing.T) {
	t.Parallel()
	primary := testkit.NewServer(t)
	var standby *testkit.Server
	n := node.Start(t, onServer(t, primary), func(n *node.Node) {
		standby = primary.Standby(t)
		n.Config.Database.URL = severalHosts(t, n.DB.AppURL, standby.URLs(t).AppURL)
	})
	n.Deliver(t, n.Required, node.MinimalPost)
	primary.Halt(t)
	promoted := standby.URLs(t)
	promoted.Exec(t, `SELECT pg_promote()`)
	reconnectRoot(t, n, promoted.RootURL)
	testkit.Eventually(t, node.Patience, "the node uses the promoted standby",
		func() bool { return n.Readiness(t, "/readyz").Ready })
	n.Deliver(t, n.Required, node.MinimalPost)

	const replaced = "\npingpost_replaced_primaries "
	if got := n.Get(t, n.Ops+"/metrics"); !strings.Contains(got, replaced+"0\n") {
		t.Error("a replaced primary is reported while it is down")
	}
	primary.Start(t)
	testkit.Eventually(t, node.Patience, "the replaced primary is a metric",
		func() bool { return strings.Contains(n.Get(t, n.Ops+"/metrics"), replaced+"1\n") })
	promoted.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'pingpost_app'`)
	for range 20 {
		deliverWithRetries(t, n)
	}
	another := n.StartPeer(t)
	for range 20 {
		deliverWithRetries(t, another)
	}
	another.Close(t)
	if got := testkit.Value[int](t, promoted, `SELECT count(*) FROM leads`); got != 42 {
		t.Errorf("got %d leads on the promoted server, want 42", got)
	}
	if got := testkit.Value[int](t, primary.URLs(t), `SELECT count(*) FROM leads`); got != 1 {
		t.Errorf("got %d leads on the old primary, want the first 1", got)
	}
}

// TestRestartedNodeRejectsOldPrimary restarts a node while only the old primary is available. The node
// knows from its snapshot that this primary has been replaced, so it must not store anything on it.
func TestRestartedNodeRejectsOldPrimary(t *testing.T) {
	t.Parallel()
	primary := testkit.NewServer(t)
	var standby *testkit.Server
	n := node.Start(t, onServer(t, primary), withSnapshot(t), func(n *node.Node) {
		standby = primary.Standby(t)
		n.Config.Database.URL = severalHosts(t, n.DB.AppURL, standby.URLs(t).AppURL)
	})
	primary.Halt(t)
	promoted := standby.URLs(t)
	seen := clock.System{}.Now()
	promoted.Exec(t, `SELECT pg_promote()`)
	n.AwaitReadiness(t, "/readyz")
	awaitSnapshot(t, n, seen)
	restart(t, n, func() {
		standby.Halt(t)
		primary.Start(t)
	})
	n.AwaitReadiness(t, "/readyz/ping")
	n.CheckUnavailable(t, n.Post(t, n.Required, n.FreshPost(t, n.Required)), spec.NotSaved)
	standby.Start(t)
	n.AwaitReadiness(t, "/readyz")
	n.Deliver(t, n.Required, node.MinimalPost)
	for server, want := range map[*testkit.Server]int{primary: 0, standby: 1} {
		if got := testkit.Value[int](t, server.URLs(t), `SELECT count(*) FROM leads`); got != want {
			t.Errorf("got %d leads on a server, want %d", got, want)
		}
	}
	stopOn(t, n, promoted.RootURL)
}

// deliverWithRetries delivers a lead. Like a partner, it sends the post again after a 503.
func deliverWithRetries(t *testing.T, n *node.Node) {
	t.Helper()
	body := n.FreshPost(t, n.Required)
	testkit.Eventually(t, node.Patience, "the post is delivered",
		func() bool { return n.Post(t, n.Required, body).Status == 200 })
}
