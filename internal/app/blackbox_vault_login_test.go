package app_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/devvault"
	"github.com/pingpost/pingpost/internal/testkit"
)

// lockThreshold is the number of failed logins after which Vault locks an AppRole.
const lockThreshold = 5

// vaultLogins reads how many logins a node has made with a result.
func (n *node) vaultLogins(t *testing.T, result string) int {
	t.Helper()
	sample := regexp.MustCompile(fmt.Sprintf(`(?m)^pingpost_vault_calls_total{operation="login",result=%q} (\d+)$`, result)).FindStringSubmatch(n.get(t, n.ops+"/metrics"))
	if sample == nil {
		return 0
	}
	count, err := strconv.Atoi(sample[1])
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// beside starts another node on the same database and returns it after it has started.
func (n *node) beside(t *testing.T, change func(*config.Config)) *node {
	t.Helper()
	cfg := *n.cfg
	change(&cfg)
	started, err := app.Start(t.Context(), app.Options{Config: &cfg, Environment: "development", Clock: n.clock, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &node{
		App: started, cfg: &cfg, db: n.db, clock: n.clock, hands: n.hands, keys: n.keys, log: n.log, root: n.root, client: n.client, ids: map[string]bool{},
		required: n.required, reportOnly: n.reportOnly, off: n.off,
		api: "http://" + started.APIAddr(), admin: "http://" + started.AdminAddr(), ops: "http://" + started.OpsAddr(),
	}
}

// answersReady reports whether /readyz answers 200.
func (n *node) answersReady(t *testing.T) func() bool {
	return func() bool { return n.readiness(t, "/readyz").status == http.StatusOK }
}

// withSecretID replaces the credential that withVault configured.
func withSecretID(secretID config.Secret) option {
	return func(n *node) {
		n.cfg.Vault.SecretID = secretID
		n.clock = n.hands
	}
}

// A node with a wrong credential, and every node that shares it, stops after three
// logins altogether. Nodes with the right credential of the same role log in, and a
// node whose credential was corrected logs in at once.
func TestWrongVaultCredentialLocksOutNoNode(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	const wrong = config.Secret("00000000-1111-2222-3333-444444444444")
	bad := startNode(t, withVault(v, strings.TrimPrefix(v.Address, "http://")), withSecretID(wrong))
	for attempt := 1; attempt <= lockThreshold; attempt++ {
		testkit.Eventually(t, 10*time.Second, "the node logs in again or pauses its logins", func() bool {
			return bad.vaultLogins(t, "login") == attempt || bad.vaultLogins(t, "paused") > 0
		})
		bad.hands.Advance(time.Minute)
	}
	shared := bad.beside(t, func(*config.Config) {})
	testkit.Eventually(t, 10*time.Second, "a node that shares the credential pauses its logins", func() bool {
		return shared.vaultLogins(t, "paused") > 0
	})
	if got := bad.vaultLogins(t, "login") + shared.vaultLogins(t, "login"); got != 3 {
		t.Errorf("%d logins with the wrong credential, want 3", got)
	}
	if bad.answersReady(t)() || shared.answersReady(t)() {
		t.Error("a node that cannot log in to Vault is ready for posts")
	}

	good := bad.beside(t, func(c *config.Config) { c.Vault.SecretID = config.Secret(v.Roles[devvault.Serve].SecretID) })
	testkit.Eventually(t, 5*time.Second, "a node with the right credential is ready", good.answersReady(t))
	good.stores(t, oneLead, func() { good.deliver(t, good.required, leastPost) })
	bad.priced += good.priced // recorded in the database that both nodes share

	// Another sixteen minutes: the wrong credential is tried again, once by one node.
	bad.db.Exec(t, `UPDATE vault_logins SET counts_until = counts_until - interval '16 minutes'`)
	bad.hands.Advance(time.Minute) // the pause of the last attempt
	testkit.Eventually(t, 10*time.Second, "the wrong credential is tried again", func() bool {
		return bad.vaultLogins(t, "login")+shared.vaultLogins(t, "login") > 3
	})
}

// Anyone who knows a role's RoleID can lock it. A node with a token serves on, and
// logs in when the lock has ended.
func TestLockedVaultRole(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	v.Write(t, "sys/auth/"+devvault.AuthMount+"/tune", map[string]any{
		"user_lockout_config": map[string]any{"lockout_threshold": strconv.Itoa(lockThreshold), "lockout_duration": "3s", "lockout_counter_reset_duration": "3s"},
	})
	n := startNode(t, withVault(v, strings.TrimPrefix(v.Address, "http://")), func(n *node) { n.clock = n.hands })
	testkit.Eventually(t, 5*time.Second, "the node is ready", n.answersReady(t))
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
	another := n.beside(t, func(*config.Config) {})
	testkit.Eventually(t, 5*time.Second, "Vault rejects the login of a node that starts", func() bool { return another.vaultLogins(t, "login") == 1 })
	n.deliver(t, n.required, leastPost)
	testkit.Eventually(t, 10*time.Second, "the lock ends", func() bool { return login(v.Roles[devvault.Serve].SecretID) == nil })
	n.hands.Advance(time.Minute)
	testkit.Eventually(t, 5*time.Second, "the node that starts is ready", another.answersReady(t))
}

// A node warns about a Vault identity that may decrypt leads.
func TestNodeReportsRightToDecrypt(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	v.Roles[devvault.Serve] = v.Roles[devvault.Rewrap]
	n := startNode(t, withVault(v, strings.TrimPrefix(v.Address, "http://")))
	testkit.Eventually(t, 10*time.Second, "the log has the warning", func() bool { return strings.Contains(n.log.String(), `"right":"decrypt"`) })
}
