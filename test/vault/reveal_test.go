package vault

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/vault/api"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// TestPartnerFacingNodeCannotDecrypt delivers a lead to a node that serves only the partner API. With
// this node's configuration and identities, nothing can be decrypted. With those of a node that serves
// only the console, the lead can be revealed.
func TestPartnerFacingNodeCannotDecrypt(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	partnerFacing := node.Start(t, node.WithVault(v, v.Address),
		func(n *node.Node) { n.Config.HTTP.AdminAddr = "" })
	if partnerFacing.AdminAddr() != "" {
		t.Error("the node serves the console")
	}
	testkit.Eventually(t, node.Patience, "data keys are ready", isReady(t, partnerFacing))
	lead := leadOf(t, partnerFacing.Deliver(t, partnerFacing.Required, node.MinimalPost).LeadID)

	console := partnerFacing.StartPeer(t, func(n *node.Node) {
		n.Config.HTTP.APIAddr, n.Config.HTTP.AdminAddr = "", "127.0.0.1:0"
		n.Config.Vault.ReadRoleID, n.Config.Vault.ReadSecretID = v.Roles[devvault.Read].RoleID, config.Secret(v.Roles[devvault.Read].SecretID)
	})
	if console.APIAddr() != "" {
		t.Error("the node serves the partner API")
	}
	testkit.Eventually(t, node.Patience, "the console's node is ready", isReady(t, console))

	if value, err := revealEmail(t, partnerFacing, lead); value != "" || apperr.As(err) == nil ||
		apperr.As(err).Code != apperr.Unavailable {
		t.Errorf("the partner-facing node: got %q, %v, want an Unavailable error", value, err)
	}
	if value, err := revealEmail(t, console, lead); err != nil || !strings.Contains(value, "@") {
		t.Errorf("the console's node: got %d characters, %v", len(value), err)
	}

	wrapped := testkit.Value[[]byte](t, partnerFacing.DB, `SELECT wrapped_key FROM lead_keys WHERE lead_id = $1`, lead)
	identity := loggedIn(t, v, partnerFacing.Config.Vault)
	for path, data := range map[string]map[string]any{
		"decrypt/": {"ciphertext": string(wrapped)}, "rewrap/": {"ciphertext": string(wrapped)},
		"datakey/plaintext/": nil, "export/encryption-key/": nil, "backup/": nil,
	} {
		if answer, err := identity.Logical().WriteWithContext(t.Context(), devvault.Mount+"/"+path+devvault.Key,
			data); err == nil {
			t.Errorf("the partner-facing node may use %s: %v", path, answer != nil)
		}
	}
}

// revealEmail reveals the email address of a lead with the keys that a node is configured with.
func revealEmail(t *testing.T, n *node.Node, lead uuid.UUID) (string, error) {
	t.Helper()
	keys, err := app.OpenKeysUnpooled(n.Config, nil, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), postgres.Options{URL: n.DB.AppURL, MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := leadkit.NewServices(db, keys.Readers, testkit.PlatformKeys(t, 1), nil, clock.System{}, leadkit.Settings{
		RevealsPerDay: 50,
	})
	return s.Reveals.By(audit.Operator).Reveal(t.Context(), scope.System, reveal.NewReveal{
		Lead: lead, Field: models.ContactEmail, Reason: models.RevealForLegal,
	})
}

func leadOf(t *testing.T, text string) uuid.UUID {
	t.Helper()
	lead, err := id.Parse(id.Lead, text)
	if err != nil {
		t.Fatal(err)
	}
	return lead
}

// loggedIn returns a Vault client that is logged in with a node's RoleID and SecretID.
func loggedIn(t *testing.T, v *testkit.Vault, c config.Vault) *api.Client {
	t.Helper()
	client, err := v.Server.Root()
	if err != nil {
		t.Fatal(err)
	}
	client.ClearToken()
	secret, err := client.Logical().WriteWithContext(context.WithoutCancel(t.Context()), "auth/"+devvault.AuthMount+"/login",
		map[string]any{"role_id": c.RoleID, "secret_id": c.SecretID.Reveal()})
	if err != nil {
		t.Fatal(err)
	}
	client.SetToken(secret.Auth.ClientToken)
	return client
}
