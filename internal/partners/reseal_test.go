package partners_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

// withKeys returns a service with different platform keys. The first key is used for sealing.
func (o *partnerService) withKeys(t *testing.T, keys ...byte) *partnerService {
	t.Helper()
	return &partnerService{partners.NewService(o.db.DB, testkit.PlatformKeys(t, keys...), o.clock), o.db, o.clock}
}

// signs reports whether the directory accepts a signature that was made with the secret.
func (o *partnerService) signs(t *testing.T, p models.Partner, plain string) bool {
	t.Helper()
	body, now := []byte("a post"), o.clock.Now()
	return o.directory(t).ByID(p.ID).Verify(claim(t, plain, now, body), body, now) != nil
}

// Reseal reseals all secrets with the first key and changes nothing else. It reports secrets that no
// key can decrypt.
func TestReseal(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	var plain []string
	keep := func(made partners.CreatedSecret, err error) models.SigningSecret {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		plain = append(plain, made.Plain)
		return made.SigningSecret
	}
	revoked := keep(o.CreateSecret(t.Context(), scope.System, p, "revoked"))
	keep(o.CreateSecret(t.Context(), scope.System, p, "expiring"))
	keep(o.RotateSecret(t.Context(), scope.System, p, "active", time.Hour, false))
	lost := keep(o.CreateSecret(t.Context(), scope.System, p, "lost"))
	if err := o.RevokeSecret(t.Context(), scope.System, p, revoked.ID); err != nil {
		t.Fatal(err)
	}
	foreign := testkit.PlatformKeys(t, 9)
	root := testkit.Connect(t, o.db.RootURL)
	if _, err := root.Exec(t.Context(), `UPDATE signing_secrets SET sealed = $2 WHERE id = $1`,
		lost.ID, foreign.Seal(keyring.SigningSecret, lost.ID[:], []byte(plain[3]))); err != nil {
		t.Fatal(err)
	}
	before := o.secretsByLabel(t, p)

	both := o.withKeys(t, 2, 1)
	for i, want := range []int{3, 0} {
		moved, unread, err := both.Reseal(t.Context())
		if err != nil || moved != want || !slices.Equal(unread, []string{id.Format(id.Secret, lost.ID)}) {
			t.Errorf("round %d: Reseal() = %d, %v, %v, want %d", i, moved, unread, err, want)
		}
	}
	uses, err := both.SealUses(t.Context())
	if n := testkit.PlatformKeys(t, 2).IDs()[0]; err != nil || len(uses) != 2 || uses[n] != 3 || uses[foreign.IDs()[0]] != 1 {
		t.Errorf("SealUses() = %v, %v", uses, err)
	}

	alone := o.withKeys(t, 2)
	for i, signs := range []bool{false, true, true, false} {
		if alone.signs(t, p, plain[i]) != signs {
			t.Errorf("secret %d with only the new key: signs is %t, want %t", i, !signs, signs)
		}
	}
	if _, err := root.Exec(t.Context(), `DELETE FROM signing_secrets WHERE id = $1`, lost.ID); err != nil {
		t.Fatal(err)
	}
	for _, secret := range plain[:3] {
		_, err := alone.ImportSecret(t.Context(), scope.System, p, "again", secret)
		wantError(t, "the same secret again", err, apperr.Conflict, "secret_known")
	}
	after := o.secretsByLabel(t, p)
	if len(after) != 3 {
		t.Errorf("got %d secrets, want 3", len(after))
	}
	for label, is := range after {
		old := before[label]
		if slices.Equal(old.Sealed, is.Sealed) || slices.Equal(old.Digest, is.Digest) {
			t.Errorf("%s was not resealed", old.Label)
		}
		old.Sealed, old.Digest, is.Sealed, is.Digest = nil, nil, nil, nil
		if !same(old, is) {
			t.Errorf("other columns changed: was %+v, is %+v", old, is)
		}
	}
}

func (o *partnerService) secretsByLabel(t *testing.T, p models.Partner) map[string]models.SigningSecret {
	t.Helper()
	list, err := o.Secrets(t.Context(), scope.System, p)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]models.SigningSecret{}
	for _, secret := range list {
		by[secret.Label] = secret
	}
	return by
}

func same(a, b models.SigningSecret) bool {
	at := func(t *time.Time) int64 {
		if t == nil {
			return 0
		}
		return t.UnixMicro()
	}
	return a.ID == b.ID && a.PartnerID == b.PartnerID && a.Label == b.Label && a.Prefix == b.Prefix &&
		a.LastFour == b.LastFour && a.State == b.State &&
		a.NotBefore.Equal(b.NotBefore) && a.CreatedAt.Equal(b.CreatedAt) && at(a.ExpiresAt) == at(b.ExpiresAt) &&
		at(a.RevokedAt) == at(b.RevokedAt)
}

// Two reseals run concurrently while secrets are revoked. Each secret is resealed once, and revoked
// secrets stay revoked.
func TestConcurrentReseal(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	made := [30]partners.CreatedSecret{}
	for i := range made {
		var err error
		if made[i], err = o.CreateSecret(t.Context(), scope.System, p, ""); err != nil {
			t.Fatal(err)
		}
	}
	both := o.withKeys(t, 2, 1)
	var all atomic.Int64
	for _, err := range atOnce(3, func(i int) error {
		if i == 2 {
			for _, secret := range made[:15] {
				if err := o.RevokeSecret(t.Context(), scope.System, p, secret.ID); err != nil {
					return err
				}
			}
			return nil
		}
		moved, unread, err := both.Reseal(t.Context())
		if len(unread) > 0 {
			t.Errorf("got unreadable secrets %v, want none", unread)
		}
		all.Add(int64(moved))
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if all.Load() != int64(len(made)) {
		t.Errorf("resealed %d secrets, want %d", all.Load(), len(made))
	}
	alone := o.withKeys(t, 2)
	for i, secret := range made {
		if alone.signs(t, p, secret.Plain) != (i >= 15) {
			t.Errorf("secret %d: signs is %t, want %t", i, i < 15, i >= 15)
		}
	}
}
