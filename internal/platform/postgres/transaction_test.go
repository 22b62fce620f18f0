package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const createCounters = `CREATE TABLE counters (id integer PRIMARY KEY, n integer NOT NULL);
	INSERT INTO counters VALUES (1, 0), (2, 0); GRANT SELECT, INSERT, UPDATE ON counters TO pingpost_app`

func increment(tx *gorm.DB, id int) error {
	return tx.Exec(`UPDATE counters SET n = n + 1 WHERE id = ?`, id).Error
}

// Each of two transactions locks the row that the other one needs next.
func TestTransactionRunsAgainAfterDeadlock(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	d.Exec(t, createCounters)
	var locked, all sync.WaitGroup
	var attempts atomic.Int32
	locked.Add(2)
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		all.Go(func() {
			first := true
			err := d.Transaction(t.Context(), func(tx *gorm.DB) error {
				attempts.Add(1)
				if err := increment(tx, order[0]); err != nil {
					return err
				}
				if first {
					first = false
					locked.Done()
					locked.Wait()
				}
				return increment(tx, order[1])
			})
			if err != nil {
				t.Errorf("%v: %v", order, err)
			}
		})
	}
	all.Wait()
	if got := attempts.Load(); got < 3 { // more if the transaction that runs again is faster than the one that waits
		t.Errorf("got %d attempts, want at least 3", got)
	}
	if got := testkit.Value[string](t, d, `SELECT string_agg(n::text, ',' ORDER BY id) FROM counters`); got != "2,2" {
		t.Errorf("got counters %s, want 2,2", got)
	}
}

// fail returns a statement that fails with an SQLSTATE.
func fail(state string) string {
	return fmt.Sprintf(`DO $$ BEGIN RAISE EXCEPTION 'canary' USING ERRCODE = '%s'; END $$`, state)
}

func TestTransactionAttempts(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		state string
		fails int
		want  int
		ok    bool
	}{
		"deadlock":              {t.Context(), "40P01", 1, 2, true},
		"serialization failure": {t.Context(), "40001", 3, 4, true},
		"too many":              {t.Context(), "40001", 9, 4, false},
		"constraint":            {t.Context(), "23505", 1, 1, false},
		"disk full":             {t.Context(), "53100", 1, 1, false},
		"cancelled":             {cancelled, "40P01", 9, 1, false},
	} {
		attempts, steps := 0, 0
		err := d.Transaction(c.ctx, func(tx *gorm.DB) error {
			attempts++
			step, err := postgres.LastStepOf(tx, func() *countedStep { return &countedStep{done: &steps} })
			if err != nil {
				return err
			}
			step.calls++
			if attempts <= c.fails {
				err := tx.Exec(fail(c.state)).Error
				if c.ctx == cancelled {
					cancel()
				}
				return err
			}
			return nil
		})
		var safe *postgres.Err
		switch {
		case attempts != c.want || (err == nil) != c.ok:
			t.Errorf("%s: got %d attempts and error %v, want %d", name, attempts, err, c.want)
		case c.ok && steps != 1:
			t.Errorf("%s: the last step ran %d times, want once", name, steps)
		case !c.ok && (!errors.As(err, &safe) || safe.SQLState != c.state || steps != 0):
			t.Errorf("%s: got error %v and %d last steps, want %s", name, err, steps, c.state)
		}
	}
}

// countedStep fails if it still contains calls from an earlier attempt.
type countedStep struct {
	calls int
	done  *int
}

func (s *countedStep) Run(tx *gorm.DB) error {
	if s.calls != 1 {
		return fmt.Errorf("got %d calls in one attempt, want 1", s.calls)
	}
	*s.done++
	return tx.Exec(`SELECT 1`).Error
}

func TestLastStep(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	d.Exec(t, createCounters)
	steps := 0
	wrong := apperr.New(apperr.Conflict, "wrong", "Wrong.")
	err := d.Transaction(t.Context(), func(tx *gorm.DB) error {
		if _, err := postgres.LastStepOf(tx, func() *countedStep { return &countedStep{1, &steps} }); err != nil {
			return err
		}
		return errors.Join(increment(tx, 1), wrong)
	})
	if !errors.Is(err, wrong) || steps != 0 {
		t.Errorf("got error %v and %d steps of a transaction that is rolled back, want none", err, steps)
	}
	err = d.Transaction(t.Context(), func(tx *gorm.DB) error {
		if _, err := postgres.LastStepOf(tx, func() *countedStep { return &countedStep{2, &steps} }); err != nil {
			return err
		}
		return increment(tx, 1)
	})
	if n := testkit.Value[int](t, d, `SELECT n FROM counters WHERE id = 1`); err == nil || n != 0 {
		t.Errorf("a last step fails: got error %v and counter %d, want a rollback", err, n)
	}
	if _, err := postgres.LastStepOf(d.Gorm.WithContext(t.Context()),
		func() *countedStep { return &countedStep{1, &steps} }); err == nil {
		t.Error("a last step outside a transaction is accepted")
	}
}
