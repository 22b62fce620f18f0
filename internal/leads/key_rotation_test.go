//go:build !short

package leads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/payload"
)

// sealedLead stores a lead with an encrypted contact record.
func sealedLead(t testing.TB, p *testkit.Platform, w *envelope.Wrappers, n int) *leads.Delivery {
	t.Helper()
	d := delivery(p, p.Required)
	contact := payload.Contact{Email: fmt.Sprintf("person%d@example.com", n), Phone: "0151"}
	if n%2 == 0 {
		contact.PhoneE164 = "+442079460000"
	}
	key, err := w.DataKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := leads.NewDelivery(d.Lead, payload.Post{Contact: contact}, p.Keys, key)
	if err != nil {
		t.Fatal(err)
	}
	d.Lead, d.Key, d.WrappingKey = sealed.Lead, sealed.Key, sealed.WrappingKey
	d.Key.BodyDigest = []byte("body")
	if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// readable fails the test if the stored contact record cannot be decrypted.
func readable(t testing.TB, p *testkit.Platform, w *envelope.Wrappers, d *leads.Delivery) {
	t.Helper()
	read := func(column string) []byte {
		return testkit.Value[[]byte](t, p.DB, `SELECT `+column+` FROM leads JOIN lead_keys ON lead_id = id WHERE id = $1`,
			d.Lead.ID)
	}
	e := envelope.Envelope{
		Ciphertext: read("ciphertext"),
		IV:         read("iv"),
		AuthTag:    read("auth_tag"),
		Salt:       read("salt"),
		Wrapped:    read("wrapped_key"),
	}
	result := w.Unwrap(t.Context(), [][]byte{e.Wrapped})[0]
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	plain, err := envelope.Open(e, result.Key, d.Lead.ID, d.Lead.PartnerID)
	if err != nil || !bytes.Contains(plain, []byte("@example.com")) {
		t.Fatalf("got contact record %q and error %v", plain, err)
	}
}

func newRotation(p *testkit.Platform, w *envelope.Wrappers) *leads.KeyRotation {
	return &leads.KeyRotation{
		Leads:      p.Leads,
		Wrappers:   w,
		Clock:      clock.System{},
		OnProgress: func(leads.RotationProgress) {},
	}
}

func uses(t testing.TB, p *testkit.Platform) map[string]int64 {
	t.Helper()
	counted, err := p.Leads.KeyUses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed, err := p.Leads.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for i, use := range counted {
		found[use.Wrapper+" "+use.Version] = use.Leads
		if i >= len(listed) || listed[i].Wrapper != use.Wrapper || listed[i].Version != use.Version {
			t.Errorf("KeyUses returned %v, Keys returned %v", counted, listed)
		}
	}
	return found
}

// Leads are rewrapped from the local key to Vault, to Vault's next key version, and back to the local
// key. They stay readable, and replays get the first response.
func TestRewrapBetweenKeyWrappers(t *testing.T) {
	t.Parallel()
	p, v, local := platform(t), testkit.NewVault(t), localKey(t)
	vault := v.Wrapper(t, devvault.Rewrap)
	onLocal, onVault := envelope.NewWrappers(local, vault), envelope.NewWrappers(vault, local)
	testkit.RegisterKeys(t, p.DB, onLocal)
	const n = 2100 // more than two batches
	var all []*leads.Delivery
	for i := range n {
		all = append(all, sealedLead(t, p, onLocal, i))
	}
	first, err := p.Leads.Find(t.Context(), scope.System, all[0].Lead.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name    string
		prepare func()
		with    *envelope.Wrappers
		want    string
		changed int64
	}{
		{"to Vault", func() {}, onVault, "vault v1", n},
		{"to Vault again", func() {}, onVault, "vault v1", 0},
		{"to the next version", func() { rotate(t, v) }, onVault, "vault v2", n},
		{"back to the local key", func() {}, onLocal, "", n},
	} {
		step.prepare()
		done, err := newRotation(p, step.with).Rewrap(t.Context())
		if err != nil || done.Leads != step.changed || done.Failed != 0 {
			t.Fatalf("%s: got %+v and error %v, want %d leads", step.name, done, err, step.changed)
		}
		if got := uses(t, p); len(got) != 1 || step.want != "" && got[step.want] != n {
			t.Errorf("%s: got key uses %v", step.name, got)
		}
		for _, i := range []int{0, 1, n / 2, n - 1} {
			readable(t, p, step.with, all[i])
		}
		if again, err := p.Leads.Find(t.Context(), scope.System, all[0].Lead.ID); err != nil ||
			!bytes.Equal(again.Envelope.Wrapped, first.Envelope.Wrapped) {
			t.Errorf("%s: a replay got a different lead key: %q, %v", step.name, again.Envelope.Wrapped, err)
		}
	}
	p.Time.Advance(2 * leads.KeepBodyDigest)
	if _, err := p.Leads.DeleteExpiredBodies(t.Context(), p.Time.Now()); err != nil {
		t.Fatal(err)
	}
	if kept := testkit.Value[int64](t, p.DB, `SELECT count(*) FROM lead_keys WHERE answered_key IS NOT NULL`); kept != 0 {
		t.Errorf("got %d answered keys after KeepBodyDigest, want 0", kept)
	}
}

// A new partition has no statistics until autovacuum analyzes it. Even before that, a rewrap reads only the keys of
// each batch.
func TestRewrapReadsEachKeyOnlyAFewTimes(t *testing.T) {
	t.Parallel()
	p := platform(t)
	local, vault := localKey(t), testkit.NewVault(t).Wrapper(t, devvault.Rewrap)
	testkit.RegisterKeys(t, p.DB, envelope.NewWrappers(local))
	sealed := sealedLead(t, p, envelope.NewWrappers(local), 1)
	const copies = 20_000
	p.DB.Exec(t, `INSERT INTO lead_keys (lead_id, salt, wrapped_key, key_wrapper, key_version)
		SELECT first_id($2::timestamptz + i * interval '1 ms'), salt, wrapped_key, key_wrapper, key_version
		FROM lead_keys, generate_series(1, $3) AS i WHERE lead_id = $1`, sealed.Lead.ID, p.Time.Now(), copies)
	own := testkit.Open(t, p.DB.AppURL)
	rotation := newRotation(p, envelope.NewWrappers(vault, local))
	rotation.Leads = leads.NewStore(own.Pool)
	done, err := rotation.Rewrap(t.Context())
	if err != nil || done.Leads != copies+1 {
		t.Fatalf("got %+v and error %v, want %d leads", done, err, copies+1)
	}
	own.Close() // closing a connection flushes its statistics
	updated := func() int {
		return testkit.Value[int](t, p.DB,
			`SELECT sum(n_tup_upd)::int FROM pg_stat_user_tables WHERE relname ~ '^lead_keys_'`)
	}
	testkit.Eventually(t, time.Minute, "statistics include the rewrap", func() bool { return updated() > copies })
	read := testkit.Value[int](t, p.DB,
		`SELECT sum(seq_tup_read + idx_tup_fetch)::int FROM pg_stat_user_tables WHERE relname ~ '^lead_keys_'`)
	if read > 4*copies {
		t.Errorf("the rewrap of %d keys read %d rows, want at most %d", copies+1, read, 4*copies)
	}
}

func localKey(t testing.TB) envelope.KeyWrapper {
	t.Helper()
	w, err := envelope.NewLocal(bytes.Repeat([]byte{7}, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func rotate(t testing.TB, v *testkit.Vault) {
	t.Helper()
	if err := v.Wrapper(t, devvault.Rotate).Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A rotation that is stopped halfway can be continued. A lead that cannot be changed is reported and
// not modified.
func TestKeyRotationStopsAndResumes(t *testing.T) {
	t.Parallel()
	p, v := platform(t), testkit.NewVault(t)
	w := envelope.NewWrappers(v.Wrapper(t, devvault.Rewrap))
	testkit.RegisterKeys(t, p.DB, w)
	const n = 900
	var all []*leads.Delivery
	for i := range n {
		all = append(all, sealedLead(t, p, w, i))
	}
	p.DB.Exec(t, `UPDATE lead_keys SET wrapped_key = 'vault:v1:bm9uZQ==' WHERE lead_id = $1`, all[3].Lead.ID)
	rotate(t, v)
	for range 2 {
		ctx, stop := context.WithCancel(t.Context())
		m := newRotation(p, w)
		m.OnProgress = func(leads.RotationProgress) { stop() }
		if _, err := m.Rewrap(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want context.Canceled", err)
		}
	}
	if got := uses(t, p); got["vault v1"] == 0 || got["vault v2"] == 0 || got["vault v1"]+got["vault v2"] != n {
		t.Errorf("halfway: got key uses %v", got)
	}
	done, err := newRotation(p, w).Rewrap(t.Context())
	if err != nil || done.Failed != 1 || !errors.Is(done.Cause, envelope.ErrNotWrapped) {
		t.Errorf("got %+v and error %v, want 1 failed lead", done, err)
	}
	if got := uses(t, p); got["vault v1"] != 1 || got["vault v2"] != n-1 {
		t.Errorf("at the end: got key uses %v", got)
	}
	readable(t, p, w, all[n-1])
}

// A rotation waits while the wrapper is unavailable and does not count leads as failed.
func TestKeyRotationWaitsForVault(t *testing.T) {
	t.Parallel()
	p, v := platform(t), testkit.NewVault(t)
	w := envelope.NewWrappers(v.Wrapper(t, devvault.Rewrap))
	testkit.RegisterKeys(t, p.DB, w)
	for i := range 300 {
		sealedLead(t, p, w, i)
	}
	rotate(t, v)
	m, calls := newRotation(p, w), 0
	var unsealed sync.WaitGroup
	defer unsealed.Wait() // the rotation can end before the response to Unseal arrives
	m.OnProgress = func(leads.RotationProgress) {
		if calls++; calls == 1 {
			v.Seal(t)
			unsealed.Go(func() { v.Unseal(t) })
		}
	}
	if done, err := m.Rewrap(t.Context()); err != nil || done.Leads != 300 || done.Failed != 0 {
		t.Errorf("got %+v and error %v, want 300 leads", done, err)
	}
}

// Reseal computes lookup digests from the contact records, with the first platform key.
func TestResealUsesFirstPlatformKey(t *testing.T) {
	t.Parallel()
	p := platform(t)
	var all []*leads.Delivery
	for i := range 5 {
		all = append(all, sealedLead(t, p, p.Wrappers, i))
	}
	next := testkit.PlatformKeys(t, 9, 1)
	done, err := newRotation(p, p.Wrappers).Reseal(t.Context(), next)
	if err != nil || done.Leads != 5 || done.Failed != 0 {
		t.Fatalf("got %+v and error %v, want 5 leads", done, err)
	}
	counts, err := p.Leads.DigestUses(t.Context())
	if err != nil || len(counts) != 1 || counts[next.IDs()[0]] != 5 {
		t.Errorf("got digest uses %v and error %v, want 5 with the first key", counts, err)
	}
	only := testkit.PlatformKeys(t, 9)
	find := func(column string, digests [][]byte) []uuid.UUID {
		return testkit.Value[[]uuid.UUID](t, p.DB, `SELECT array_agg(id) FROM leads WHERE `+column+` = ANY ($1)`, digests)
	}
	if got := find("email_digest", only.Digests(keyring.Lookup, []byte("person3@example.com"))); !slices.Equal(got, []uuid.UUID{all[3].Lead.ID}) {
		t.Errorf("by email: got %v, want lead 3", got)
	}
	if got := find("phone_digest", only.Digests(keyring.Lookup, []byte("+442079460000"))); len(got) != 3 {
		t.Errorf("by phone: got %v, want 3 leads", got)
	}
	if done, err := newRotation(p, p.Wrappers).Reseal(t.Context(), next); err != nil || done.Leads != 0 {
		t.Errorf("again: got %+v and error %v, want 0 leads", done, err)
	}
}
