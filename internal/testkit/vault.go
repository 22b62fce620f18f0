package testkit

import (
	"testing"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/devvault"
	"github.com/pingpost/pingpost/internal/transit"
)

// Vault is a real Vault of one test's own, with the engine, the key, the policies
// and the roles of docs/vault.md.
type Vault struct {
	*devvault.Server
	Root  *api.Client // may do everything
	Roles map[string]devvault.Identity
	Log   *Log
}

// NewVault starts one. It ends with the test.
func NewVault(t testing.TB) *Vault {
	t.Helper()
	v := NewBareVault(t)
	var err error
	if v.Roles, err = v.Provision(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return v
}

// NewBareVault has nothing in it yet.
func NewBareVault(t testing.TB) *Vault {
	t.Helper()
	program, err := devvault.Find(t.Context(), func(text string) { t.Log(text) })
	if err != nil {
		t.Fatalf("no Vault for the tests: %v", err)
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

// Options are those of a node that logs in by one of the roles.
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

// Wrapper is a key wrapper that logs in by one of the roles.
func (v *Vault) Wrapper(t testing.TB, role string) *transit.Wrapper {
	t.Helper()
	w, err := transit.New(v.Options(role))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Write has the root do something.
func (v *Vault) Write(t testing.TB, path string, data map[string]any) *api.Secret {
	t.Helper()
	secret, err := v.Root.Logical().WriteWithContext(t.Context(), path, data)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// Seal shuts it: it answers nothing but that.
func (v *Vault) Seal(t testing.TB) { t.Helper(); v.Write(t, "sys/seal", nil) }

// Unseal opens it again.
func (v *Vault) Unseal(t testing.TB) {
	t.Helper()
	status, err := v.Root.Sys().UnsealWithContext(t.Context(), v.UnsealKey)
	if err != nil || status.Sealed {
		t.Fatalf("it stays sealed: %v", err)
	}
}

// RevokeTokens ends every token that the AppRole login gave.
func (v *Vault) RevokeTokens(t testing.TB) {
	t.Helper()
	v.Write(t, "sys/leases/revoke-prefix/auth/"+devvault.AuthMount+"/login", nil)
}
