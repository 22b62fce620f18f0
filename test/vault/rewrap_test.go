package vault

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/test/node"
)

// TestRewrapUnderLoad rotates the key and rewraps the leads while posts arrive. It interrupts the rewrap
// twice. When the rewrap is complete, it disables the old key version. No post may fail, and all leads
// must be readable.
func TestRewrapUnderLoad(t *testing.T) {
	t.Parallel()
	n := startWithVault(t)
	l := n.load(t)
	testkit.Eventually(t, time.Minute, "there are leads for more than two batches", func() bool { return l.stored.Load() > 2500 })
	if err := n.vault.Wrapper(t, devvault.Rotate).Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 90*time.Second, "the node uses the new version", func() bool {
		return testkit.Value[bool](t, n.DB, `SELECT EXISTS (SELECT FROM lead_keys WHERE key_version = 'v2')`)
	})
	wrappers := envelope.NewWrappers(n.vault.Wrapper(t, devvault.Rewrap))
	store := leads.NewStore(n.DB.DB.Pool)
	rewrap := func(ctx context.Context, onProgress func(leads.RotationProgress)) error {
		done, err := (&leads.KeyRotation{
			Leads:      store,
			Wrappers:   wrappers,
			Clock:      clock.System{},
			OnProgress: onProgress,
		}).Rewrap(ctx)
		if done.Failed > 0 {
			t.Errorf("%d leads were not rewrapped: %v", done.Failed, done.Cause)
		}
		return err
	}
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		if err := rewrap(ctx, func(leads.RotationProgress) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v after cancelling the rewrap", err)
		}
	}
	testkit.Eventually(t, 60*time.Second, "all leads use the new version", func() bool {
		if err := rewrap(t.Context(), func(leads.RotationProgress) {}); err != nil {
			t.Fatal(err)
		}
		uses, err := store.KeyUses(t.Context())
		return err == nil && len(uses) == 1 && uses[0].Version == "v2"
	})
	n.vault.Write(t, devvault.Mount+"/keys/"+devvault.Key+"/config", map[string]any{
		"min_decryption_version": 2,
		"min_encryption_version": 2,
	})
	after := l.stored.Load()
	testkit.Eventually(t, time.Minute, "further posts are stored", func() bool { return l.stored.Load() > after+100 })
	l.end(t)
	if l.rejected.Load() > 0 {
		t.Errorf("got %d rejected posts, want 0", l.rejected.Load())
	}
	n.checkReadable(t, wrappers, l.stored.Load())
}

// checkReadable decrypts all stored leads.
func (n *vaultNode) checkReadable(t *testing.T, w *envelope.Wrappers, want int64) {
	t.Helper()
	rows, err := n.Root.Query(t.Context(), `SELECT id, partner_id, ciphertext, iv, auth_tag, salt, wrapped_key FROM leads JOIN lead_keys ON lead_id = id`)
	if err != nil {
		t.Fatal(err)
	}
	type stored struct {
		ID, Partner uuid.UUID
		envelope.Envelope
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s stored, err error) {
		return s, row.Scan(&s.ID, &s.Partner, &s.Ciphertext, &s.IV, &s.AuthTag, &s.Salt, &s.Wrapped)
	})
	if err != nil || int64(len(all)) != want {
		t.Fatalf("got %d leads, want %d: %v", len(all), want, err)
	}
	for len(all) > 0 {
		batch := all[:min(256, len(all))]
		all = all[len(batch):]
		wrapped := make([][]byte, len(batch))
		for i, s := range batch {
			wrapped[i] = s.Wrapped
		}
		for i, result := range w.Unwrap(t.Context(), wrapped) {
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			plain, err := envelope.Open(batch[i].Envelope, result.Key, batch[i].ID, batch[i].Partner)
			if err != nil || !bytes.Contains(plain, []byte(node.PersonEmail)) {
				t.Fatalf("a decrypted lead differs from its post: %v", err)
			}
		}
	}
}
