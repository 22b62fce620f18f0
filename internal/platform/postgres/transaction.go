package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
)

const (
	// maxAttempts limits how often Transaction runs a transaction. Postgres needs deadlock_timeout, which
	// is a second by default, to detect a deadlock.
	maxAttempts = 4
	// maxRetryPause is the maximum pause before the second attempt. The pauses are random, so that two
	// deadlocked transactions do not conflict again.
	maxRetryPause = 50 * time.Millisecond
)

// Transaction runs fn in a database transaction, and then the transaction's last step. If the database
// rolls the transaction back because of a deadlock, a serialization failure or a changed column, Transaction
// runs both again, up to a total of maxAttempts attempts. fn must therefore not change variables that it
// reads, and it must not make network calls.
func (db *DB) Transaction(ctx context.Context, fn func(tx *gorm.DB) error) error {
	for attempt := 1; ; attempt++ {
		err := db.attempt(ctx, fn)
		if err == nil || attempt == maxAttempts || !retriable(err) || !pauseBefore(ctx, attempt) {
			return db.constraints.Translate(err)
		}
	}
}

func (db *DB) attempt(ctx context.Context, fn func(tx *gorm.DB) error) error {
	end := &ending{}
	return db.Gorm.WithContext(context.WithValue(ctx, endingKey{}, end)).Transaction(func(tx *gorm.DB) error {
		if err := fn(tx); err != nil || end.step == nil {
			return err
		}
		return end.step.Run(tx)
	})
}

// retriable reports whether the database rolled a transaction back because it conflicted with another one, or
// because a migration has changed the columns that one of its queries returns.
func retriable(err error) bool {
	var safe *Err
	return errors.As(Translate(err), &safe) &&
		(safe.SQLState == deadlockDetected || safe.SQLState == serializationFailure || isStale(safe))
}

const (
	deadlockDetected     = "40P01"
	serializationFailure = "40001"
)

// pauseBefore waits before the attempt that follows the given one. It returns false if ctx ends first.
func pauseBefore(ctx context.Context, attempt int) bool {
	pause := time.NewTimer(rand.N(time.Duration(attempt) * maxRetryPause)) //nolint:gosec // need not be unpredictable
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
		return true
	}
}

// LastStep is what a transaction does immediately before it commits.
type LastStep interface {
	Run(tx *gorm.DB) error
}

type endingKey struct{}

// ending contains the last step of a transaction.
type ending struct{ step LastStep }

var errNoTransaction = errors.New("a last step needs a transaction that was started with DB.Transaction")

// LastStepOf returns the last step of a transaction that was started with DB.Transaction. If the
// transaction has none yet, LastStepOf creates it. A transaction can only have one.
func LastStepOf[S LastStep](tx *gorm.DB, create func() S) (step S, err error) {
	end, ok := tx.Statement.Context.Value(endingKey{}).(*ending)
	if !ok {
		return step, errNoTransaction
	}
	if end.step == nil {
		end.step = create()
	}
	step, ok = end.step.(S)
	if !ok {
		return step, errors.New("the transaction already has another last step")
	}
	return step, nil
}
