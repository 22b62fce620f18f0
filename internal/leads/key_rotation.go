package leads

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
)

const (
	// rotationBatchSize is the number of leads that are changed with one call to the wrapper and one
	// SQL statement.
	rotationBatchSize = 256
	// A batch that fails is tried up to maxTries times in total, with a pause of retryWait in between.
	retryWait = time.Second
	maxTries  = 30
)

// RotationProgress is the progress of a key rotation.
type RotationProgress struct {
	Leads  int64 // changed
	Failed int64 // could not be changed
	Cause  error // of the latest failure
}

// KeyRotation changes the keys of leads in batches. Each batch is atomic, so a rotation can be stopped
// at any time and run again. After each batch, it pauses for twice as long as the batch took, so that
// it does not slow down posts.
type KeyRotation struct {
	Leads      *Store
	Wrappers   *envelope.Wrappers
	Clock      clock.Clock
	OnProgress func(RotationProgress) // called after each batch
}

// Rewrap encrypts all lead keys again, with the newest key version of the current wrapper. It does not
// change the contact records.
func (m *KeyRotation) Rewrap(ctx context.Context) (RotationProgress, error) {
	var done RotationProgress
	wrapper, version, err := m.Wrappers.CurrentKeyVersion(ctx)
	if err != nil {
		return done, err
	}
	uses, err := m.Leads.Keys(ctx)
	if err != nil {
		return done, err
	}
	for _, use := range uses {
		if use.Wrapper == wrapper && use.Version == version {
			continue
		}
		err := m.run(ctx, &done, func(after uuid.UUID) (*rotationBatch, error) {
			return m.Leads.nextBatch(ctx, `key_wrapper = $3 AND key_version = $4`, after, use.Wrapper, use.Version)
		}, m.rewrap)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// Reseal replaces the lookup digests that were made with any other key than the first platform key. It decrypts the leads' contact records, because a digest cannot be converted from one key to
// another.
func (m *KeyRotation) Reseal(ctx context.Context, keys *keyring.Keys) (RotationProgress, error) {
	var done RotationProgress
	first := keys.IDs()[0]
	err := m.run(ctx, &done, func(after uuid.UUID) (*rotationBatch, error) {
		return m.Leads.nextBatch(ctx, `(substring(email_digest FOR 4) <> $3 OR substring(phone_digest FOR 4) <> $3)`,
			after, first[:])
	}, func(ctx context.Context, b *rotationBatch) (RotationProgress, error) { return m.reseal(ctx, b, keys) })
	return done, err
}

// run gets batches from next, one by one, and changes the leads of each with move.
func (m *KeyRotation) run(
	ctx context.Context, done *RotationProgress,
	next func(after uuid.UUID) (*rotationBatch, error), move func(context.Context, *rotationBatch) (RotationProgress, error),
) error {
	for after := uuid.Nil; ; {
		start := m.Clock.Now()
		b, err := next(after)
		if err != nil || len(b.ids) == 0 {
			return err
		}
		after = b.ids[len(b.ids)-1]
		moved, err := m.withRetry(ctx, func() (RotationProgress, error) { return move(ctx, b) })
		done.Leads += moved.Leads
		done.Failed += moved.Failed
		if moved.Cause != nil {
			done.Cause = moved.Cause
		}
		if err != nil {
			return err
		}
		m.OnProgress(*done)
		if err := sleep(ctx, 2*m.Clock.Now().Sub(start)); err != nil {
			return err
		}
	}
}

// withRetry calls move again if the whole batch failed, for example because the wrapper or the
// database was briefly unavailable.
func (m *KeyRotation) withRetry(ctx context.Context, move func() (RotationProgress, error)) (RotationProgress, error) {
	for tries := 1; ; tries++ {
		moved, err := move()
		if err == nil || tries == maxTries {
			return moved, err
		}
		if err := sleep(ctx, retryWait); err != nil {
			return moved, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// rotationBatch is a batch of leads whose keys are being changed.
type rotationBatch struct {
	ids, partners []uuid.UUID
	envelopes     []envelope.Envelope
}

func (b *rotationBatch) wrapped() [][]byte {
	out := make([][]byte, len(b.envelopes))
	for i := range b.envelopes {
		out[i] = b.envelopes[i].Wrapped
	}
	return out
}

// nextBatch returns the next batch of leads that satisfy condition and have ids greater than after.
func (s *Store) nextBatch(ctx context.Context, condition string, after uuid.UUID, args ...any) (*rotationBatch, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, partner_id, ciphertext, iv, auth_tag, salt, wrapped_key FROM leads
		WHERE id > $1 AND wrapped_key IS NOT NULL AND `+condition+
		` ORDER BY id LIMIT $2`, append([]any{after, rotationBatchSize}, args...)...)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	defer rows.Close()
	b := &rotationBatch{}
	for rows.Next() {
		var lead, partner uuid.UUID
		var e envelope.Envelope
		if err := rows.Scan(&lead, &partner, &e.Ciphertext, &e.IV, &e.AuthTag, &e.Salt, &e.Wrapped); err != nil {
			return nil, postgres.Translate(err)
		}
		b.ids, b.partners, b.envelopes = append(b.ids, lead), append(b.partners, partner), append(b.envelopes, e)
	}
	return b, postgres.Translate(rows.Err())
}
