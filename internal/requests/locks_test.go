package requests_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// deadlocks returns the number of deadlocks in the test's database. It closes the pool, because a connection
// reports its statistics when it ends.
func (r rig) deadlocks(t *testing.T) int {
	t.Helper()
	r.DB.Close()
	testkit.Eventually(t, 10*time.Second, "the service's connections end", func() bool {
		return testkit.Value[bool](t, r.DB, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND usename = 'pingpost_app')`)
	})
	return testkit.Value[int](t, r.DB, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
}

// pauseErasure exports the data of an access request, and begins to erase a lead. The erasure pauses after it has
// deleted the export, and continues when finish is called. The function finish waits until the erasure has ended.
func (r rig) pauseErasure(t *testing.T, lead uuid.UUID) (request uuid.UUID, finish func()) {
	t.Helper()
	request = r.Request(t, models.RequestAccess)
	if _, err := r.ExportRequest(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	resume := r.PauseAfter(t, `DELETE ON files`)
	var erasing sync.WaitGroup
	erasing.Go(func() {
		if _, err := r.Erasures.Erase(t.Context(), scope.System,
			erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest}); err != nil {
			t.Errorf("erasing the lead: %v", err)
		}
	})
	r.AwaitWaiting(t, 1)
	return request, func() { resume(); erasing.Wait() }
}

func (r rig) expectNoDeadlocks(t *testing.T) {
	t.Helper()
	if n := r.deadlocks(t); n != 0 {
		t.Errorf("got %d deadlocks, want 0", n)
	}
}

// An erasure deletes the exports of its leads, and a user erases the leads of a request whose data was
// exported. Both lock the leads and the request.
func TestErasureAndRequestLockInTheSameOrder(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead, again := r.Post(t, leadkit.Contact)
	request, finish := r.pauseErasure(t, lead)
	var all sync.WaitGroup
	if _, err := again(); err != nil {
		t.Errorf("sending the post again: %v", err)
	}
	all.Go(func() {
		if err := r.Requests.Erase(t.Context(), request); !leadkit.IsConflict(err) {
			t.Errorf("erasing the leads of an access request: got %v, want a conflict", err)
		}
	})
	r.awaitLocks(t, 2)
	finish()
	all.Wait()
	r.expectNoDeadlocks(t)
}

// An erasure deletes an export while a user changes the leads of its request, or exports the data again.
func TestErasureAndExportLockInTheSameOrder(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead, other := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	request, finish := r.pauseErasure(t, lead)
	var all sync.WaitGroup
	all.Go(func() {
		if err := r.Requests.RemoveLeads(t.Context(), request, []uuid.UUID{other}); err != nil {
			t.Errorf("removing a lead: %v", err)
		}
	})
	all.Go(func() {
		if _, err := r.ExportRequest(t.Context(), request); err != nil && !leadkit.IsConflict(err) {
			t.Errorf("exporting again: %v", err)
		}
	})
	r.awaitLocks(t, 3)
	finish()
	all.Wait()
	r.expectNoDeadlocks(t)
}

// A sandbox lead is erased while the leads of the sandbox are deleted.
func TestErasureAndSandboxLockInTheSameOrder(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.Deliver(t, leadkit.Contact)
	for _, table := range []string{"leads", "consents"} {
		r.DB.Exec(t, `ALTER TABLE `+table+` DISABLE TRIGGER USER`)
		r.DB.Exec(t, `UPDATE `+table+` SET sandbox = true`)
		r.DB.Exec(t, `ALTER TABLE `+table+` ENABLE TRIGGER USER`)
	}
	resume := r.PauseAfter(t, `UPDATE ON leads`)
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := r.Erasures.Erase(t.Context(), scope.System,
			erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest}); err != nil {
			t.Errorf("erasing the lead: %v", err)
		}
	})
	r.AwaitWaiting(t, 1)
	all.Go(func() {
		if n, err := r.Leads.DeleteSandbox(t.Context(), r.Time.Now().Add(time.Hour)); err != nil || n != 1 {
			t.Errorf("deleted %d sandbox leads: %v", n, err)
		}
	})
	r.awaitLocks(t, 2)
	resume()
	all.Wait()
	r.expectNoDeadlocks(t)
}

// awaitLocks waits until n transactions wait for locks of any kind.
func (r rig) awaitLocks(t *testing.T, n int) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, "transactions wait", func() bool {
		return testkit.Value[int](t, r.DB, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) == n
	})
}

// Users and nodes erase, export and hold the same leads at the same time. None of them gets a database
// error.
func TestErasuresAndRequestsAtTheSameTime(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	var ids []uuid.UUID
	for range 4 {
		ids = append(ids, r.Deliver(t, leadkit.Contact))
	}
	access, deletion := r.Request(t, models.RequestAccess), r.Request(t, models.RequestErasure)
	if _, err := r.ExportRequest(t.Context(), access); err != nil {
		t.Fatal(err)
	}
	hold := func(lead uuid.UUID) error {
		h, err := r.Erasures.PlaceHold(t.Context(), scope.System, erasure.NewHold{Lead: lead, Reason: "case 1"})
		if err != nil {
			return err
		}
		return r.Erasures.ReleaseHold(t.Context(), scope.System, h.ID)
	}
	work := []func() error{
		func() error { return r.Requests.Erase(t.Context(), access) },
		func() error { return r.Requests.Erase(t.Context(), deletion) },
		func() error { _, err := r.ExportRequest(t.Context(), access); return err },
		func() error { return r.Erasures.Finish(t.Context()) },
		func() error { return hold(ids[3]) },
	}
	for _, lead := range ids[:3] {
		work = append(work, func() error {
			_, err := r.Erasures.Erase(t.Context(), scope.System, erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest})
			return err
		})
	}
	var all sync.WaitGroup
	for range 2 {
		for i, do := range work {
			all.Go(func() {
				if err := do(); err != nil && apperr.As(err) == nil {
					t.Errorf("work %d: %v", i, err)
				}
			})
		}
	}
	all.Wait()
	if v, err := audit.New(r.DB.DB, r.Time).Verify(t.Context(), ""); err != nil || !v.Intact() {
		t.Errorf("audit log: %+v, %v", v, err)
	}
	r.expectNoDeadlocks(t)
}

// Posts with new disclosure texts are stored while transactions about privacy are open.
func TestPostsDoNotWaitForPrivacyChanges(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	ctx, lead, again := t.Context(), r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.OtherContact)
	request := r.Request(t, models.RequestErasure)
	var hold models.LegalHold
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"PlaceHold", func() (err error) {
			hold, err = r.Erasures.PlaceHold(ctx, scope.System, erasure.NewHold{Lead: lead, Reason: "case 1"})
			return err
		}},
		{"ReleaseHold", func() error { return r.Erasures.ReleaseHold(ctx, scope.System, hold.ID) }},
		{"Reveal", func() error {
			_, err := r.Reveals.Reveal(ctx, scope.System,
				reveal.NewReveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
			return err
		}},
		{"CreateRequest", func() error {
			_, err := r.Requests.Create(ctx,
				requests.NewRequest{Kind: models.RequestAccess, ReceivedOn: r.Day(0), Leads: []uuid.UUID{lead}})
			return err
		}},
		{"Erase", func() error {
			_, err := r.Erasures.Erase(ctx, scope.System, erasure.NewErasure{Lead: again, Reason: models.EraseForRequest})
			return err
		}},
		{"EraseRequest", func() error { return r.Requests.Erase(ctx, request) }},
	} {
		send := r.NewPost(t, "text of "+change.name, leadkit.Contact)
		err := r.DB.CheckDuring(t, change.do, func() {
			if _, err := send(); err != nil {
				t.Errorf("a post with a new text during %s: %v", change.name, err)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", change.name, err)
		}
	}
}
