package leads

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	// rotationBatchSize is the number of leads that are changed with one call to the wrapper and one
	// SQL statement.
	rotationBatchSize = 1024
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
// at any time and run again. After each batch, it pauses for as long as the batch took, so that it does
// not slow down posts too much.
type KeyRotation struct {
	Leads      *Store
	Wrappers   *envelope.Wrappers
	Clock      clock.Clock
	OnProgress func(RotationProgress) // called after each batch
}

// Rewrap encrypts all lead keys again, with the newest version of the current wrapping key. It does not
// change the contact records. While Rewrap runs, nodes may store leads with the previous version, so
// Rewrap repeats until there are no such leads.
func (m *KeyRotation) Rewrap(ctx context.Context) (RotationProgress, error) {
	var done RotationProgress
	current := KeyUse{}
	var err error
	if current.Wrapper, current.Version, err = m.Wrappers.CurrentKeyVersion(ctx); err != nil {
		return done, err
	}
	for {
		uses, err := m.Leads.Keys(ctx)
		if err != nil || !slices.ContainsFunc(uses, func(u KeyUse) bool { return u != current }) {
			return done, err
		}
		before := done.Leads
		done.Failed = 0 // the leads that failed before are tried again
		err = m.run(ctx, &done, func(ctx context.Context, ids idBatch) (uuid.UUID, RotationProgress, error) {
			return m.rewrap(ctx, ids, current)
		})
		if err != nil || done.Leads == before {
			return done, err
		}
	}
}

// Reseal replaces the lookup digests that were not made with the first platform key. It decrypts the
// leads' contact records, because a digest cannot be converted from one key to another.
func (m *KeyRotation) Reseal(ctx context.Context, keys *keyring.Keys) (RotationProgress, error) {
	var done RotationProgress
	err := m.run(ctx, &done, func(ctx context.Context, ids idBatch) (uuid.UUID, RotationProgress, error) {
		return m.reseal(ctx, ids, keys)
	})
	return done, err
}

// idBatch selects a batch: the first rotationBatchSize leads with ids greater than after and smaller
// than end.
type idBatch struct{ after, end uuid.UUID }

// run changes leads in batches, partition by partition. The function change changes one batch. It
// returns the last id of the batch, or uuid.Nil if the batch is empty.
func (m *KeyRotation) run(
	ctx context.Context, done *RotationProgress,
	change func(context.Context, idBatch) (uuid.UUID, RotationProgress, error),
) error {
	partitions, err := postgres.Partitions(ctx, m.Leads.pool, "lead_keys", postgres.Period{})
	if err != nil {
		return postgres.Translate(err)
	}
	for _, p := range slices.Backward(partitions) {
		for ids := (idBatch{id.First(p.From), id.First(p.Until)}); ; {
			start := m.Clock.Now()
			last, changed, err := m.withRetry(ctx, func() (uuid.UUID, RotationProgress, error) { return change(ctx, ids) })
			done.Leads += changed.Leads
			done.Failed += changed.Failed
			if changed.Cause != nil {
				done.Cause = changed.Cause
			}
			if err != nil {
				return err
			}
			if last == uuid.Nil {
				break
			}
			ids.after = last
			m.OnProgress(*done)
			if err := clock.Sleep(ctx, m.Clock.Now().Sub(start)); err != nil {
				return err
			}
		}
	}
	return nil
}

// withRetry calls change again if the whole batch failed, for example because the wrapper or the
// database was briefly unavailable.
func (m *KeyRotation) withRetry(
	ctx context.Context, change func() (uuid.UUID, RotationProgress, error),
) (last uuid.UUID, changed RotationProgress, err error) {
	for tries := 1; ; tries++ {
		last, changed, err = change()
		if err == nil || tries == maxTries {
			return last, changed, err
		}
		if err := clock.Sleep(ctx, retryWait); err != nil {
			return last, changed, err
		}
	}
}
