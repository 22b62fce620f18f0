package faults

import (
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
)

// TestSecretsChangedDuringStart changes secrets after a node has read them, but before it watches their files. One of
// them cannot be used, which does not keep the node from using the other.
func TestSecretsChangedDuringStart(t *testing.T) {
	t.Parallel()
	const (
		used     = `"msg":"secrets read again"`
		rejected = `"msg":"cannot use some of the changed secrets, retrying"`
		others   = `vault.mount"`
	)
	var next atomic.Pointer[config.Config]
	var original *config.Config
	change := func(platform ...config.Secret) {
		c := *original
		u, err := url.Parse(c.Database.URL.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("renewed", "renewed")
		c.Database.URL, c.Keys.Platform, c.Vault.Mount = config.Secret(u.String()), platform, "another"
		next.Store(&c)
	}
	n := node.Start(t, onServer(t, testkit.NewServer(t)), node.OnMachineClock, func(n *node.Node) {
		n.DB.Exec(t, `CREATE ROLE renewed LOGIN PASSWORD 'renewed' IN ROLE pingpost_app`)
		original = n.Config
		change(node.NewKey()) // decrypts no signing secret
		n.ReadConfig = func() (*config.Config, error) { return next.Load(), nil }
	})
	logs := func(text string) func() bool { return func() bool { return strings.Contains(n.Log.String(), text) } }
	testkit.Eventually(t, node.Patience, "the platform key is rejected", logs(rejected))
	if !logs(others)() {
		t.Error("the setting that needs a restart is not logged")
	}
	const users = ` FROM pg_stat_activity WHERE usename = $1`
	if _, err := n.Root.Exec(t.Context(), `SELECT pg_terminate_backend(pid)`+users, "pingpost_app"); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, node.Patience, "the node connects as the other user", func() bool {
		var connections int
		err := n.Root.QueryRow(t.Context(), `SELECT count(*)`+users, "renewed").Scan(&connections)
		return err == nil && connections > 0
	})
	change(append([]config.Secret{node.NewKey()}, original.Keys.Platform...)...)
	testkit.Eventually(t, node.Patience, "all secrets are used", logs(used))
}
