package vault

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
)

// lockThreshold is the number of failed logins that make Vault lock an AppRole.
const lockThreshold = 5

// vaultLogins reads from a node's metrics how many logins to Vault had the given result.
func vaultLogins(t *testing.T, n *node.Node, result string) int {
	t.Helper()
	sample := regexp.MustCompile(fmt.Sprintf(`(?m)^pingpost_vault_calls_total{operation="login",result=%q} (\d+)$`,
		result)).FindStringSubmatch(n.Get(t, n.Ops+"/metrics"))
	if sample == nil {
		return 0
	}
	count, err := strconv.Atoi(sample[1])
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// isReady returns a function that reports whether /readyz returns 200.
func isReady(t *testing.T, n *node.Node) func() bool {
	return func() bool { return n.Readiness(t, "/readyz").Status == http.StatusOK }
}

// withSecretID replaces the SecretID from withVault.
func withSecretID(secretID config.Secret) node.Option {
	return func(n *node.Node) {
		n.Config.Vault.SecretID = secretID
		n.Clock = n.Manual
	}
}

// TestWrongVaultCredentialDoesNotLockRole starts nodes that have the same wrong SecretID. They must stop
// after three login attempts in total, so that Vault does not lock the role. Nodes that have the right
// SecretID for the role must be able to log in immediately.
func TestWrongVaultCredentialDoesNotLockRole(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	const wrong = config.Secret("00000000-1111-2222-3333-444444444444")
	bad := node.Start(t, node.WithVault(v, v.Address), withSecretID(wrong))
	for attempt := 1; attempt <= lockThreshold; attempt++ {
		testkit.Eventually(t, time.Minute, "the node logs in again or pauses its logins", func() bool {
			return vaultLogins(t, bad, "login") == attempt || vaultLogins(t, bad, "paused") > 0
		})
		bad.Manual.Advance(time.Minute)
	}
	shared := bad.StartPeer(t)
	testkit.Eventually(t, time.Minute, "a node that shares the credential pauses its logins", func() bool {
		return vaultLogins(t, shared, "paused") > 0
	})
	if got := vaultLogins(t, bad, "login") + vaultLogins(t, shared, "login"); got != 3 {
		t.Errorf("got %d logins with the wrong credential, want 3", got)
	}
	if isReady(t, bad)() || isReady(t, shared)() {
		t.Error("a node that cannot log in to Vault is ready for posts")
	}

	good := bad.StartPeer(t, func(n *node.Node) { n.Config.Vault.SecretID = config.Secret(v.Roles[devvault.Serve].SecretID) })
	testkit.Eventually(t, time.Minute, "a node with the right credential is ready", isReady(t, good))
	good.Stores(t, node.OneLead, func() { good.Deliver(t, good.Required, node.MinimalPost) })

	// After 16 minutes, one of the nodes tries to log in with the wrong SecretID again.
	bad.DB.Exec(t, `UPDATE vault_logins SET counts_until = counts_until - interval '16 minutes'`)
	bad.Manual.Advance(time.Minute) // the pause that follows a failed attempt
	testkit.Eventually(t, time.Minute, "the wrong credential is tried again", func() bool {
		return vaultLogins(t, bad, "login")+vaultLogins(t, shared, "login") > 3
	})
}

// TestLockedVaultRole locks a role, which anyone who knows the RoleID can do. A node that already has a
// token must continue to accept posts, and a new node must log in when the lock has expired.
func TestLockedVaultRole(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	v.Write(t, "sys/auth/"+devvault.AuthMount+"/tune", map[string]any{
		"user_lockout_config": map[string]any{
			"lockout_threshold":              strconv.Itoa(lockThreshold),
			"lockout_duration":               "30s",
			"lockout_counter_reset_duration": "30s",
		},
	})
	n := node.Start(t, node.WithVault(v, v.Address), func(n *node.Node) { n.Clock = n.Manual })
	testkit.Eventually(t, time.Minute, "the node is ready", isReady(t, n))
	login := func(secretID string) error {
		_, err := v.Root.Logical().WriteWithContext(t.Context(), "auth/"+devvault.AuthMount+"/login", map[string]any{
			"role_id": v.Roles[devvault.Serve].RoleID, "secret_id": secretID,
		})
		return err
	}
	for range lockThreshold {
		if login("00000000-1111-2222-3333-444444444444") == nil {
			t.Fatal("a login with a wrong SecretID succeeded")
		}
	}
	another := n.StartPeer(t)
	testkit.Eventually(t, time.Minute, "Vault rejects the login of a node that starts",
		func() bool { return vaultLogins(t, another, "login") == 1 })
	n.Deliver(t, n.Required, node.MinimalPost)
	testkit.Eventually(t, time.Minute, "the lock ends", func() bool { return login(v.Roles[devvault.Serve].SecretID) == nil })
	n.Manual.Advance(time.Minute)
	testkit.Eventually(t, time.Minute, "the node that starts is ready", isReady(t, another))
}

// TestNodeWarnsAboutDecryptPermission starts a node whose Vault role has permission to decrypt leads.
func TestNodeWarnsAboutDecryptPermission(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	v.Roles[devvault.Serve] = v.Roles[devvault.Rewrap]
	n := node.Start(t, node.WithVault(v, v.Address))
	testkit.Eventually(t, time.Minute, "the warning is logged",
		func() bool { return strings.Contains(n.Log.String(), `"right":"decrypt"`) })
}
