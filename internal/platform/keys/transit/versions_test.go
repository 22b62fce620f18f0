package transit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

// After a version has been deleted, the keys that it wrapped can never be unwrapped again, even with all permissions.
func TestExpire(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	serve, mover, expire := v.Wrapper(t, devvault.Serve), v.Wrapper(t, devvault.Rewrap), v.Wrapper(t, devvault.Expire)
	keys := randomKeys(1)
	var wrapped [][]byte
	for range 3 {
		wrapped = append(wrapped, wrap(t, serve, keys...)...)
		if err := v.Wrapper(t, devvault.Rotate).Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // it may have been interrupted
		versions, err := expire.Versions(t.Context())
		if err != nil || len(versions.Created) == 0 {
			t.Fatalf("got %+v, %v", versions, err)
		}
		if versions.MinAvailable < 3 {
			if err := expire.Expire(t.Context(), versions, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	versions, err := expire.Versions(t.Context())
	if err != nil || len(versions.Created) != 2 || versions.MinDecryption != 3 || versions.MinEncryption != 3 || versions.MinAvailable != 3 {
		t.Errorf("got %+v, %v", versions, err)
	}
	opensAs(t, mover, wrapped[2:], keys)
	if _, err := v.Root.Logical().WriteWithContext(t.Context(), devvault.Mount+"/keys/"+devvault.Key+"/config", map[string]any{"min_decryption_version": 1}); err == nil {
		t.Error("a deleted version was enabled again")
	}
	for i, result := range unwrap(t, mover, wrapped[:2]...) {
		if !errors.Is(result.Err, envelope.ErrNotWrapped) {
			t.Errorf("version %d: got %v", i+1, result.Err)
		}
	}
	if _, version, err := envelope.ParseWrapped(wrap(t, serve, keys...)[0]); err != nil || version != "v4" {
		t.Errorf("nodes encrypt with %s, %v", version, err)
	}
}

// The identity that deletes versions cannot make the key exportable.
func TestExpireIdentityCannotExport(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	client, err := v.Server.Root()
	if err != nil {
		t.Fatal(err)
	}
	login := v.Write(t, "auth/"+devvault.AuthMount+"/login", map[string]any{"role_id": v.Roles[devvault.Expire].RoleID, "secret_id": v.Roles[devvault.Expire].SecretID})
	client.SetToken(login.Auth.ClientToken)
	for _, setting := range []string{"exportable", "allow_plaintext_backup", "deletion_allowed"} {
		if _, err := client.Logical().WriteWithContext(t.Context(), devvault.Mount+"/keys/"+devvault.Key+"/config", map[string]any{setting: true}); err == nil {
			t.Errorf("the identity may set %s", setting)
		}
	}
}

func TestCurrentAt(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }
	v := transit.Versions{Created: map[int]time.Time{2: day(2), 3: day(10), 10: day(20)}}
	for at, want := range map[time.Time]int{day(1): 0, day(2): 2, day(9): 2, day(10): 3, day(19): 3, day(20): 10, day(30): 10} {
		if got := v.CurrentAt(at); got != want {
			t.Errorf("on %s: got version %d, want %d", at.Format(time.DateOnly), got, want)
		}
	}
}
