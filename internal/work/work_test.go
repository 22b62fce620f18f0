package work_test

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

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/internal/work"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const soon = 30 * time.Second

// shop is a desk that writes lines into a table of its own.
type shop struct {
	*work.Desk
	db    *testkit.Database
	clock *clock.Manual
	by    audit.Actor
}

func open(t *testing.T) *shop {
	t.Helper()
	s := &shop{db: testkit.NewDatabase(t), clock: clock.NewManual(testkit.Began())}
	s.by = testkit.Actor(t, s.db, "dmitri@example.com")
	s.Desk = s.desk(t)
	return s
}

// desk is another node's, on the same database.
func (s *shop) desk(t *testing.T) *work.Desk {
	t.Helper()
	d, err := work.NewDesk(s.db.DB, s.clock, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// runs has a desk work until the test ends, or until stop is called.
func runs(t *testing.T, d *work.Desk) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var done sync.WaitGroup
	done.Go(func() { d.Work(ctx) })
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

func (s *shop) ask(t *testing.T, partner uuid.UUID) models.Work {
	t.Helper()
	var w models.Work
	err := s.db.Transaction(t.Context(), func(tx *gorm.DB) (err error) {
		w, err = s.Ask(tx, s.by, models.WorkExport, uuid.New(), partner)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (s *shop) get(t *testing.T, w models.Work) models.Work {
	t.Helper()
	now, err := s.Get(t.Context(), scope.Everywhere, uuid.Nil, w.ID)
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func (s *shop) becomes(t *testing.T, w models.Work, state models.WorkState) models.Work {
	t.Helper()
	testkit.Eventually(t, soon, "the work is "+string(state), func() bool { return s.get(t, w).State == state })
	return s.get(t, w)
}

// wrote is how many lines the work has written: rows of exports, which has no rules.
func (s *shop) wrote(t *testing.T) int64 {
	return testkit.Value[int64](t, s.db, `SELECT count(*) FROM exports`)
}

func line(tx *gorm.DB) error {
	return tx.Create(&models.Export{ID: uuid.New(), StaffID: uuid.New(), Filter: "{}", MadeAt: testkit.Began()}).Error
}

func TestWorkIsDone(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.Handle(models.WorkExport, work.Doer{Do: func(ctx context.Context, r *work.Run) error {
		r.Progress("writing lines", 7, 9)
		return r.Commit(ctx, line)
	}})
	runs(t, s.Desk)
	w := s.becomes(t, s.ask(t, uuid.Nil), models.WorkDone)
	if w.Phase != "writing lines" || w.Done != 7 || w.Total != 9 || w.Attempt != 1 || w.EndedAt == nil || w.AskedBy != s.by.Name || *w.StaffID != s.by.Staff {
		t.Errorf("%+v", w)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// What is asked for in a transaction that does not commit is not done.
func TestWorkIsAskedForWithItsTransaction(t *testing.T) {
	t.Parallel()
	s := open(t)
	begun := make(chan int64, 2)
	s.Handle(models.WorkExport, work.Doer{Do: func(ctx context.Context, r *work.Run) error {
		begun <- r.ID
		return r.Commit(ctx, func(*gorm.DB) error { return nil })
	}})
	var lost models.Work
	err := s.db.Transaction(t.Context(), func(tx *gorm.DB) (err error) {
		if lost, err = s.Ask(tx, s.by, models.WorkExport, uuid.New(), uuid.Nil); err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	if err == nil || lost.ID == 0 {
		t.Fatalf("%v, work %d", err, lost.ID)
	}
	runs(t, s.Desk)
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
		do    func(r *work.Run) error
		state models.WorkState
		tries int
		told  string
		lines int64
	}{
		"once":          {func(r *work.Run) error { return onTry(r, 1, errors.New("the network")) }, models.WorkDone, 2, "", 2},
		"by a fault":    {func(*work.Run) error { return fault.New(fault.Invalid, "file", "This is no CSV file.") }, models.WorkFailed, 1, "This is no CSV file.", 0},
		"by panicking":  {func(r *work.Run) error { return onTry(r, 1, nil) }, models.WorkDone, 2, "", 2},
		"again, always": {func(*work.Run) error { return errors.New("a password in clear") }, models.WorkFailed, 5, "It failed 5 times, the last time for a reason on our side", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			s.Handle(models.WorkExport, work.Doer{
				Do: func(ctx context.Context, r *work.Run) error {
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
			runs(t, s.Desk)
			w := s.ask(t, uuid.Nil)
			testkit.Eventually(t, 2*soon, "it ends", func() bool { return s.get(t, w).EndedAt != nil })
			if w = s.get(t, w); w.State != c.state || w.Attempt != c.tries || !strings.HasPrefix(w.Failure, c.told) || (c.told == "" && w.Failure != "") {
				t.Errorf("%s after %d tries: %q", w.State, w.Attempt, w.Failure)
			}
			if n := s.wrote(t); n != c.lines {
				t.Errorf("%d lines, want %d", n, c.lines)
			}
			if strings.Contains(testkit.Value[string](t, s.db, `SELECT coalesce(string_agg(river_job::text, ' '), '') FROM river.river_job`), "password") {
				t.Error("the queue keeps what failed in the words of the program")
			}
		})
	}
}

// onTry fails a try, by panicking where err is nil.
func onTry(r *work.Run, try int, err error) error {
	if r.Attempt != try {
		return nil
	}
	if err == nil {
		panic("out of cheese")
	}
	return err
}

// Whoever cancels stops what is under way; its next write comes to nothing, and what it
// wrote before is undone.
func TestWorkIsCancelled(t *testing.T) {
	t.Parallel()
	s := open(t)
	written, ended := make(chan struct{}), make(chan error, 1)
	s.Handle(models.WorkExport, work.Doer{
		Do: func(ctx context.Context, r *work.Run) error {
			if err := r.Step(ctx, line); err != nil {
				return err
			}
			close(written)
			<-ctx.Done()
			ended <- r.Commit(context.WithoutCancel(ctx), line)
			return ctx.Err()
		},
		Undo: func(tx *gorm.DB, w models.Work) error { return tx.Exec(`DELETE FROM exports`).Error },
	})
	runs(t, s.Desk)
	w := s.ask(t, uuid.Nil)
	<-written
	if err := s.Cancel(t.Context(), scope.Partners(uuid.New()), audit.Actor{Name: "another", Staff: uuid.New()}, w.ID); fault.As(err) == nil || fault.As(err).Code != fault.NotFound {
		t.Errorf("somebody who may not see it: %v", err)
	}
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, work.ErrLost) {
		t.Errorf("its commit: %v", err)
	}
	if w = s.get(t, w); w.State != models.WorkCancelled || !strings.Contains(w.Failure, s.by.Name) || s.wrote(t) != 0 {
		t.Errorf("%s, %q, %d lines", w.State, w.Failure, s.wrote(t))
	}
	if err := s.Cancel(t.Context(), scope.Everywhere, s.by, w.ID); fault.As(err) == nil || fault.As(err).Code != fault.Conflict {
		t.Errorf("again: %v", err)
	}
}

// A worker that is not heard of loses its work to another node, and cannot write any
// more, though it lives.
func TestWorkOfASilentWorkerIsTakenUp(t *testing.T) {
	t.Parallel()
	s := open(t)
	first, late := make(chan *work.Run, 1), make(chan struct{})
	doer := work.Doer{Do: func(ctx context.Context, r *work.Run) error {
		if r.Attempt > 1 { // on either node
			return r.Commit(ctx, line)
		}
		first <- r
		<-late // it does not notice anything
		return r.Commit(context.WithoutCancel(ctx), line)
	}}
	s.Handle(models.WorkExport, doer)
	runs(t, s.Desk)
	w := s.ask(t, uuid.Nil)
	silent := <-first

	another := s.desk(t)
	another.Handle(models.WorkExport, doer)
	runs(t, another)
	// The first one's heart goes on beating, and what it says is overwritten: it is as if
	// it were not heard.
	testkit.Eventually(t, soon, "it is taken up", func() bool {
		s.db.Exec(t, `UPDATE work SET beat_at = $1 WHERE id = $2 AND attempt = 1`, testkit.Began().Add(-time.Hour), w.ID)
		return s.get(t, w).Attempt == 2
	})
	s.becomes(t, w, models.WorkDone)
	close(late)
	if err := silent.Commit(t.Context(), line); !errors.Is(err, work.ErrLost) {
		t.Errorf("the first worker's commit: %v", err)
	}
	if n := s.wrote(t); n != 1 {
		t.Errorf("%d lines, want the second worker's", n)
	}
}

// A node that stops hands on what it was doing, and that is no failed try.
func TestWorkOutlivesANode(t *testing.T) {
	t.Parallel()
	s := open(t)
	begun := make(chan struct{}, 1)
	s.Handle(models.WorkExport, work.Doer{Do: func(ctx context.Context, r *work.Run) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}})
	stop := runs(t, s.Desk)
	w := s.ask(t, uuid.Nil)
	<-begun
	stop()
	if w = s.get(t, w); w.State != models.WorkWaiting || w.Attempt != 0 {
		t.Errorf("%s after try %d", w.State, w.Attempt)
	}
	next := s.desk(t)
	next.Handle(models.WorkExport, work.Doer{Do: func(ctx context.Context, r *work.Run) error { return r.Commit(ctx, line) }})
	runs(t, next)
	s.becomes(t, w, models.WorkDone)
}

func TestWhoSeesWork(t *testing.T) {
	t.Parallel()
	s := open(t)
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
		all, _, _, err := s.List(t.Context(), c.sc, c.staff, store.Page{Size: 10})
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
	if n, err := s.Forget(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were forgotten: %v", n, err)
	}
}
