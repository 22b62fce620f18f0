package testkit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

// Vault is a real Vault for one test, with the engine, key, policies and roles from
// docs/how-to/prepare-vault.md.
type Vault struct {
	*devvault.Server
	Root  *api.Client // has all permissions
	Roles map[string]devvault.Identity
	Log   *Log
}

// NewVault starts a Vault. It stops when the test ends.
func NewVault(t testing.TB) *Vault {
	t.Helper()
	v := NewBareVault(t)
	var err error
	if v.Roles, err = v.Provision(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return v
}

// NewBareVault is like NewVault, but the Vault has no engine, key, policies or roles yet.
func NewBareVault(t testing.TB) *Vault {
	t.Helper()
	program, err := devvault.Find(t.Context(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatalf("cannot start Vault for tests: %v", err)
	}
	v := &Vault{Log: &Log{}}
	if v.Server, err = devvault.Start(t.Context(), program, v.Log); err != nil {
		t.Fatalf("%v\n%s", err, v.Log)
	}
	t.Cleanup(func() {
		if err := v.Stop(); err != nil {
			t.Error(err)
		}
	})
	if v.Root, err = v.Server.Root(); err != nil {
		t.Fatal(err)
	}
	return v
}

// Options returns options for a node that logs in with the given role.
func (v *Vault) Options(role string) transit.Options {
	return transit.Options{
		Address: v.Address,
		Mount:   devvault.Mount,
		Key:     devvault.Key,
		Timeout: 2 * time.Second,
		Clock:   clock.System{},
		Login: transit.Login{
			Method:   transit.AppRole,
			Mount:    devvault.AuthMount,
			RoleID:   v.Roles[role].RoleID,
			SecretID: v.Roles[role].SecretID,
		},
	}
}

// Wrapper returns a key wrapper that logs in with the given role.
func (v *Vault) Wrapper(t testing.TB, role string) *transit.Wrapper {
	t.Helper()
	w, err := transit.New(v.Options(role))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Write writes data to a path in Vault, with the root token.
func (v *Vault) Write(t testing.TB, path string, data map[string]any) *api.Secret {
	t.Helper()
	secret, err := v.Root.Logical().WriteWithContext(t.Context(), path, data)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// Seal seals Vault, which then rejects all requests.
func (v *Vault) Seal(t testing.TB) { t.Helper(); v.Write(t, "sys/seal", nil) }

// Unseal unseals Vault.
func (v *Vault) Unseal(t testing.TB) {
	t.Helper()
	status, err := v.Root.Sys().UnsealWithContext(t.Context(), v.UnsealKey)
	if err != nil || status.Sealed {
		t.Fatalf("Vault is still sealed: %v", err)
	}
}

// RevokeTokens revokes all tokens from AppRole logins.
func (v *Vault) RevokeTokens(t testing.TB) {
	t.Helper()
	v.Write(t, "sys/leases/revoke-prefix/auth/"+devvault.AuthMount+"/login", nil)
}

// AgeKey makes Vault's key older, as if each version had been created the given time earlier. It restores
// the key from a changed backup.
func (v *Vault) AgeKey(t testing.TB, by time.Duration) {
	t.Helper()
	backup, err := v.Backup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(backup)
	if err != nil {
		t.Fatal(err)
	}
	var saved map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&saved); err != nil {
		t.Fatal(err)
	}
	for _, version := range saved["policy"].(map[string]any)["keys"].(map[string]any) {
		key := version.(map[string]any)
		created, err := key["creation_time"].(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		key["creation_time"] = created - int64(by.Seconds())
	}
	if text, err = json.Marshal(saved); err != nil {
		t.Fatal(err)
	}
	v.Write(t, devvault.Mount+"/restore/"+devvault.Key, map[string]any{"backup": base64.StdEncoding.EncodeToString(text), "force": true})
}
