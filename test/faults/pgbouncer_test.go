package faults

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
)

// TestNodeThroughPgBouncer starts a node through a PgBouncer in session mode, which must work, and another
// through one in transaction mode, which must not start.
func TestNodeThroughPgBouncer(t *testing.T) {
	t.Parallel()
	through := func(mode string) node.Option {
		return func(n *node.Node) {
			pgbouncer := testkit.NewPgBouncer(t, []string{"pool_mode = " + mode, "default_pool_size = 30"}, n.DB.AppURL)
			n.Config.Database.URL = config.Secret(pgbouncer.URL(t, n.DB.AppURL))
		}
	}
	n := node.Start(t, through("session"))
	n.AwaitReadiness(t, "/readyz")
	for range 20 {
		n.Deliver(t, n.Required, n.FreshPost(t, n.Required))
	}
	if _, err := n.TryStartPeer(t, through("transaction")); err == nil || !strings.Contains(err.Error(), "pool_mode = session") {
		t.Errorf("got %v, want an error that names the right mode", err)
	}
}
