package vault

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
)

// checkFails is part of the log line for a failing check.
const checkFails = `"check":"key_wrapper","why":`

// TestNodeReportsWhyVaultFails starts nodes with wrong settings. The log and /readyz must contain the cause
// of the first failed call.
func TestNodeReportsWhyVaultFails(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	refused := testkit.FreeAddress(t)
	for name, c := range map[string]struct {
		change func(*node.Node)
		want   string
	}{
		"SecretID": {func(n *node.Node) { n.Config.Vault.SecretID = "00000000-1111-2222-3333-444444444444" }, "Vault rejected the login"},
		"key":      {func(n *node.Node) { n.Config.Vault.Key = "missing" }, "vault.key"},
		"mount":    {func(n *node.Node) { n.Config.Vault.Mount = "missing" }, "vault.mount"},
		"port":     {func(n *node.Node) { n.Config.Vault.Address = "http://" + refused }, refused + ": connect: connection refused"},
		"CA":       {func(n *node.Node) { n.Config.Vault.Address = stranger.URL }, "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := node.Start(t, node.WithVault(v, v.Address), c.change)
			testkit.Eventually(t, node.Patience, "the cause is logged", func() bool { return n.Log.Count(checkFails) > 0 })
			_, why, _ := strings.Cut(n.Log.String(), checkFails)
			why, _, _ = strings.Cut(why, "\n")
			if state := n.Readiness(t, "/readyz").Checks["key_wrapper"]; !strings.Contains(why, c.want) || state == "ok" {
				t.Errorf("got log line %s and state %s, want %q", why, state, c.want)
			}
		})
	}
	t.Run("healthy", func(t *testing.T) {
		t.Parallel()
		if n := startBehindProxy(t, v); n.Log.Count(`"level":"WARN"`) > 0 {
			t.Errorf("a healthy start logs warnings:\n%s", n.Log)
		}
	})
}
