package staff_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// under returns the same platform with different platform keys.
func (h staffPlatform) under(t *testing.T, keys ...byte) staffPlatform {
	t.Helper()
	h.Service = staff.NewService(h.DB, testkit.PlatformKeys(t, keys...), h.time, settings())
	return h
}

// Reseal moves second factors to the first key, so that older keys can be removed.
func TestReseal(t *testing.T) {
	t.Parallel()
	h := newStaffPlatform(t, settings()).under(t, 1)
	ada := h.addUser(t, "ada@example.com", models.Administrator)
	token, _ := h.signIn(t, "ada@example.com")
	_, secret, _ := h.enrol(t, token)
	h.addUser(t, "bob@example.com", models.Auditor) // has no second factor

	h = h.under(t, 2, 1)
	older := testkit.PlatformKeys(t, 1).IDs()[0]
	if uses, err := h.SealUses(t.Context()); err != nil || len(uses) != 1 || uses[older] != 1 {
		t.Errorf("SealUses = %v, %v", uses, err)
	}
	for want := range []int{1, 0} {
		if moved, unread, err := h.Reseal(t.Context()); err != nil || moved != 1-want || len(unread) != 0 {
			t.Errorf("Reseal moved %d, unread %v, %v, want %d moved", moved, unread, err, 1-want)
		}
	}
	h = h.under(t, 2)
	if uses, err := h.SealUses(t.Context()); err != nil || uses[testkit.PlatformKeys(t, 2).IDs()[0]] != 1 {
		t.Errorf("SealUses = %v, %v", uses, err)
	}
	h.time.Advance(time.Minute)
	token, _ = h.signIn(t, "ada@example.com")
	if _, err := h.By(at(home)).VerifyCode(t.Context(), h.session(t, token), h.code(t, secret)); err != nil {
		t.Errorf("code after resealing: %v", err)
	}
	if moved, unread, err := h.under(t, 3).Reseal(t.Context()); err != nil || moved != 0 ||
		!slices.Equal(unread, []string{id.Format(id.Staff, ada.ID)}) {
		t.Errorf("Reseal without the key: moved %d, unread %v, %v, want 0 moved and one unread", moved, unread, err)
	}
	var none keyring.KeyID
	for _, value := range [][]byte{nil, {1}, {1, 2, 3, 4, 5}, {9, 2, 3, 4, 5, 6}} {
		if key, ok := keyring.KeyOf(value); ok || key != none {
			t.Errorf("KeyOf(% x) = %s, want no key", value, key)
		}
	}
}
