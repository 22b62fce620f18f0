package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/jobs"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const soon = 30 * time.Second

// lineQueue is a queue that writes lines into a table of its own.
type lineQueue struct {
	*jobs.Queue
	db    *testkit.Database
	clock *clock.Manual
	by    audit.Actor
}

func newLineQueue(t *testing.T) *lineQueue {
	t.Helper()
	s := &lineQueue{db: testkit.NewDatabase(t), clock: clock.NewManual(testkit.Began())}
	s.by = testkit.Actor(t, s.db, "dmitri@example.com")
	s.Queue = s.queue(t)
	return s
}

// queue is another node's, on the same database.
func (s *lineQueue) queue(t *testing.T) *jobs.Queue {
	t.Helper()
	return jobs.NewQueue(s.db.DB, s.clock, slog.New(slog.DiscardHandler))
}

// runs has a queue work until the test ends, or until stop is called.
func runs(t *testing.T, d *jobs.Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { d.Run(ctx) })
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

func (s *lineQueue) ask(t *testing.T, partner uuid.UUID) models.Work {
	t.Helper()
	var w models.Work
	err := s.db.Transaction(t.Context(), func(tx *gorm.DB) (err error) {
		w, err = s.Enqueue(tx, s.by, models.WorkExport, uuid.New(), partner)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (s *lineQueue) get(t *testing.T, w models.Work) models.Work {
	t.Helper()
	now, err := s.Get(t.Context(), scope.Everywhere, uuid.Nil, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (s *lineQueue) becomes(t *testing.T, w models.Work, state models.WorkState) models.Work {
	t.Helper()
	testkit.Eventually(t, soon, "the work is "+string(state), func() bool { return s.get(t, w).State == state })
	return s.get(t, w)
}

// wrote is how many lines the work has written: rows of exports, which has no rules.
func (s *lineQueue) wrote(t *testing.T) int64 {
	return testkit.Value[int64](t, s.db, `SELECT count(*) FROM exports`)
}

func line(tx *gorm.DB) error {
	return tx.Create(&models.Export{ID: uuid.New(), StaffID: uuid.New(), Filter: "{}", MadeAt: testkit.Began()}).Error
}

func TestWorkIsDone(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	s.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error {
		r.Progress("writing lines", 7, 9)
		return r.Commit(ctx, line)
	}})
	runs(t, s.Queue)
	w := s.becomes(t, s.ask(t, uuid.Nil), models.WorkDone)
	if w.Phase != "writing lines" || w.Done != 7 || w.Total != 9 || w.Attempt != 1 || w.EndedAt == nil ||
		w.AskedBy != s.by.Name || *w.StaffID != s.by.Staff {
		t.Errorf("%+v", w)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// What is asked for in a transaction that does not commit is not done.
func TestWorkIsAskedForWithItsTransaction(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	begun := make(chan int64, 2)
	s.Handle(models.WorkExport, jobs.Handler{Do: func(ctx context.Context, r *jobs.Run) error {
		begun <- r.ID
		return r.Commit(ctx, func(*gorm.DB) error { return nil })
	}})
	var lost models.Work
	err := s.db.Transaction(t.Context(), func(tx *gorm.DB) (err error) {
		if lost, err = s.Enqueue(tx, s.by, models.WorkExport, uuid.New(), uuid.Nil); err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	if err == nil || lost.ID == 0 {
		t.Fatalf("%v, work %d", err, lost.ID)
	}
	runs(t, s.Queue)
	w := s.ask(t, uuid.Nil)
	if got := <-begun; got != w.ID {
		t.Errorf("work %d was begun, and %d was asked for", got, w.ID)
	}
}

// A failure on our side is tried again, from where the last try got to; a fault is final
// and is told; what failed for good is undone.
func TestWorkThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(r *jobs.Run) error
		state models.WorkState
		tries int
		told  string
		lines int64
	}{
		"once": {func(r *jobs.Run) error { return onTry(r, 1, errors.New("the network")) }, models.WorkDone, 2, "", 2},
		"by a fault": {func(*jobs.Run) error { return apperr.New(apperr.Invalid, "file", "This is no CSV file.") },
			models.WorkFailed, 1, "This is no CSV file.", 0},
		"by panicking": {func(r *jobs.Run) error { return onTry(r, 1, nil) }, models.WorkDone, 2, "", 2},
		"again, always": {func(*jobs.Run) error { return errors.New("a password in clear") }, models.WorkFailed, 5,
			"It failed 5 times, the last time for a reason on our side", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineQueue(t)
			s.Handle(models.WorkExport, jobs.Handler{
				Do: func(ctx context.Context, r *jobs.Run) error {
					if r.Attempt == 1 && c.lines > 0 {
						if err := r.Step(ctx, line); err != nil {
							return err
						}
					}
					if err := c.do(r); err != nil {
						return err
					}
					return r.Commit(ctx, line)
				},
				Undo: func(tx *gorm.DB, w models.Work) error { return tx.Exec(`DELETE FROM exports`).Error },
			})
			runs(t, s.Queue)
			w := s.ask(t, uuid.Nil)
			testkit.Eventually(t, 2*soon, "it ends", func() bool { return s.get(t, w).EndedAt != nil })
			if w = s.get(t, w); w.State != c.state || w.Attempt != c.tries ||
				!strings.HasPrefix(w.Failure, c.told) || (c.told == "" && w.Failure != "") {
				t.Errorf("%s after %d tries: %q", w.State, w.Attempt, w.Failure)
			}
			if n := s.wrote(t); n != c.lines {
				t.Errorf("%d lines, want %d", n, c.lines)
			}
			if n := testkit.Value[int64](t, s.db, `SELECT count(*) FROM audit_events WHERE action = 'work.fail' AND reason = $1`, w.Failure); (n == 1) != (c.state == models.WorkFailed) {
				t.Errorf("%d events in the audit trail", n)
			}
			failed := w.Attempt
			if c.state == models.WorkDone {
				failed--
			}
			testkit.Eventually(t, soon, "River has an error for each attempt that failed", func() bool {
				return testkit.Value[int](t, s.db, `SELECT coalesce(sum(cardinality(errors)), 0) FROM river.river_job`) == failed
			})
			if strings.Contains(testkit.Value[string](t, s.db, `SELECT coalesce(string_agg(river_job::text, ' '), '') FROM river.river_job`), "password") {
				t.Error("the queue keeps what failed in the words of the program")
			}
		})
	}
}

// onTry fails a try, by panicking where err is nil.
func onTry(r *jobs.Run, try int, err error) error {
	if r.Attempt != try {
		return nil
	}
	if err == nil {
		panic("out of cheese")
	}
	return err
}

func TestWhoSeesWork(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	mine, theirs := uuid.New(), uuid.New()
	one, two, whole := s.ask(t, mine), s.ask(t, theirs), s.ask(t, uuid.Nil)
	for name, c := range map[string]struct {
		sc    scope.Scope
		staff uuid.UUID
		want  []int64
	}{
		"everywhere":              {scope.Everywhere, uuid.New(), []int64{whole.ID, two.ID, one.ID}},
		"one partner":             {scope.Partners(mine), uuid.New(), []int64{one.ID}},
		"whoever asked":           {scope.Partners(), s.by.Staff, []int64{whole.ID, two.ID, one.ID}},
		"somebody without a part": {scope.Partners(uuid.New()), uuid.New(), nil},
	} {
		all, _, _, err := s.List(t.Context(), c.sc, c.staff, postgres.Page{Size: 10})
		var got []int64
		for _, w := range all {
			got = append(got, w.ID)
		}
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
	s.db.Exec(t, `UPDATE work SET state = 'done', ended_at = $1 WHERE id = $2`, testkit.Began().Add(-40*24*time.Hour), one.ID)
	if n, err := s.DeleteExpired(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were forgotten: %v", n, err)
	}
}
