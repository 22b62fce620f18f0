package transit_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
)

type dataKey = [envelope.KeySize]byte

func randomKeys(n int) []dataKey {
	keys := make([]dataKey, n)
	for i := range keys {
		rand.Read(keys[i][:])
	}
	return keys
}

func wrap(t testing.TB, w *transit.Wrapper, keys ...dataKey) [][]byte {
	t.Helper()
	wrapped, err := w.Wrap(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	return wrapped
}

func unwrap(t testing.TB, w *transit.Wrapper, wrapped ...[]byte) []envelope.Unwrapped {
	t.Helper()
	opened, err := w.Unwrap(t.Context(), wrapped)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// opensAs checks that wrapped keys unwrap to the given keys.
func opensAs(t testing.TB, w *transit.Wrapper, wrapped [][]byte, keys []dataKey) {
	t.Helper()
	for i, result := range unwrap(t, w, wrapped...) {
		if result.Err != nil || result.Key != keys[i] {
			t.Fatalf("key %d unwraps to a different key: %v", i, result.Err)
		}
	}
}

func TestABatchIsOneCall(t *testing.T) {
	t.Parallel()
	w := testkit.NewVault(t).Wrapper(t, devvault.Rewrap)
	keys := randomKeys(64)
	wrapped := wrap(t, w, keys...)
	opensAs(t, w, wrapped, keys)
	if calls := w.Calls(); calls[transit.Call{Operation: "encrypt", Reason: "ok"}] != 1 ||
		calls[transit.Call{Operation: "decrypt", Reason: "ok"}] != 1 ||
		calls[transit.Call{Operation: "login", Reason: "ok"}] != 1 {
		t.Errorf("got calls %v", calls)
	}
	name, version, err := envelope.ParseWrapped(wrapped[0])
	if err != nil || name != transit.Name || transit.Version(version) != 1 || !w.Reads(version) {
		t.Errorf("%s has wrapper %q and version %q, %v", wrapped[0], name, version, err)
	}
	if none, err := w.Wrap(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("no keys: got %v, %v", none, err)
	}
}

// A changed item fails without affecting the others. If all are changed, each fails.
func TestEachItemHasItsOwnResult(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	w := v.Wrapper(t, devvault.Rewrap)
	keys := randomKeys(3)
	wrapped := wrap(t, w, keys...)
	flipped := bytes.Clone(wrapped[1])
	flipped[len(flipped)-3] ^= 1
	for name, bad := range map[string][]byte{
		"bit flipped":      flipped,
		"empty":            {},
		"another wrapper":  []byte("local:00000000:AAAA"),
		"truncated":        wrapped[1][:20],
		"a future version": []byte("vault:v9" + string(wrapped[1][8:])),
	} {
		opened := unwrap(t, w, wrapped[0], bad, wrapped[2])
		if opened[0].Key != keys[0] || opened[2].Key != keys[2] || opened[0].Err != nil || opened[2].Err != nil {
			t.Errorf("%s: neighbouring items: %v, %v", name, opened[0].Err, opened[2].Err)
		}
		if !errors.Is(opened[1].Err, envelope.ErrNotWrapped) || opened[1].Key != (dataKey{}) {
			t.Errorf("%s: %v", name, opened[1].Err)
		}
		alone := unwrap(t, w, bad)
		if !errors.Is(alone[0].Err, envelope.ErrNotWrapped) {
			t.Errorf("%s alone: %v", name, alone[0].Err)
		}
		moved, err := w.Rewrap(t.Context(), [][]byte{wrapped[0], bad, wrapped[2]})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if moved[0].Err != nil || moved[2].Err != nil || !errors.Is(moved[1].Err, envelope.ErrNotWrapped) {
			t.Errorf("%s rewrapped: %v, %v, %v", name, moved[0].Err, moved[1].Err, moved[2].Err)
		}
	}
}

func TestRotationAndRewrap(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	serve, mover := v.Wrapper(t, devvault.Serve), v.Wrapper(t, devvault.Rewrap)
	keys := randomKeys(5)
	old := wrap(t, serve, keys...)
	if err := v.Wrapper(t, devvault.Rotate).Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, version, _ := envelope.ParseWrapped(wrap(t, serve, randomKeys(1)...)[0]); version != "v2" {
		t.Errorf("got key version %s after the rotation", version)
	}
	moved, err := mover.Rewrap(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	fresh := make([][]byte, len(moved))
	for i, m := range moved {
		fresh[i] = m.Wrapped
		if _, version, _ := envelope.ParseWrapped(m.Wrapped); version != "v2" || m.Err != nil {
			t.Fatalf("rewrapped as %s (%v)", m.Wrapped, m.Err)
		}
	}
	opensAs(t, mover, old, keys)
	opensAs(t, mover, fresh, keys)
	v.Write(t, devvault.Mount+"/keys/"+devvault.Key+"/config", map[string]any{"min_decryption_version": 2})
	opensAs(t, mover, fresh, keys)
	for _, result := range unwrap(t, mover, old...) {
		if !errors.Is(result.Err, envelope.ErrNotWrapped) {
			t.Errorf("below the minimum version: %v", result.Err)
		}
	}
}

// Each identity may only do what its policy allows, and a typo in the key's name does not create a
// key.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	wrapped := wrap(t, v.Wrapper(t, devvault.Serve), randomKeys(1)...)
	for role, may := range map[string]map[string]bool{
		devvault.Serve:  {"encrypt": true},
		devvault.Rewrap: {"encrypt": true, "decrypt": true, "rewrap": true},
		devvault.Rotate: {"rotate": true},
		devvault.Expire: {"read": true, "expire": true},
	} {
		w := v.Wrapper(t, role)
		for operation, try := range map[string]func() error{
			"encrypt": func() error { _, err := w.Wrap(t.Context(), randomKeys(1)); return err },
			"decrypt": func() error { _, err := w.Unwrap(t.Context(), wrapped); return err },
			"rewrap":  func() error { _, err := w.Rewrap(t.Context(), wrapped); return err },
			"rotate":  func() error { return w.Rotate(t.Context()) },
			"read":    func() error { _, err := w.Versions(t.Context()); return err },
			"expire":  func() error { return w.Expire(t.Context(), transit.Versions{}, 1) },
		} {
			err := try()
			var rejected *transit.Error
			if denied := errors.As(err, &rejected) && rejected.Status == 403; denied == may[operation] || err != nil && !denied {
				t.Errorf("%s, %s: %v", role, operation, err)
			}
		}
		if got, err := w.MayDecrypt(t.Context()); got != may["decrypt"] || err != nil {
			t.Errorf("%s may decrypt: %t, %v", role, got, err)
		}
	}
	o := v.Options(devvault.Serve)
	o.Key = "pingpost-laeds"
	typo, err := transit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := typo.Wrap(t.Context(), randomKeys(1)); err == nil {
		t.Error("wrapped with a key that does not exist")
	}
	if made, err := v.Root.Logical().ReadWithContext(t.Context(), devvault.Mount+"/keys/"+o.Key); err != nil || made != nil {
		t.Errorf("the typo created a key: %v, %v", made, err)
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]int{
		"v1":                    1,
		"v12":                   12,
		"v0":                    0,
		"v":                     0,
		"":                      0,
		"1":                     0,
		"v-1":                   0,
		"v1x":                   0,
		"v01":                   0,
		"5f1c09aa":              0,
		"v99999999999999999999": 0,
	} {
		if got := transit.Version(text); got != want {
			t.Errorf("Version(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestErrorsContainNoSecret(t *testing.T) {
	t.Parallel()
	v := testkit.NewVault(t)
	o := v.Options(devvault.Serve)
	o.Login.SecretID = "00000000-1111-2222-3333-444444444444"
	w, err := transit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Wrap(t.Context(), randomKeys(1))
	if err == nil || strings.Contains(err.Error(), o.Login.SecretID) ||
		strings.Contains(err.Error(), o.Login.RoleID) || !strings.Contains(err.Error(), "vault.") {
		t.Errorf("%v", err)
	}
}
