package leads_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// expectDatabaseError checks that err is a database error that is safe to log, and not a
// rejection. After such an error, the same post can be sent again.
func expectDatabaseError(t *testing.T, err error) {
	t.Helper()
	var safe *postgres.Err
	if !errors.As(err, &safe) || apperr.As(err) != nil {
		t.Errorf("got %v, want a database error", err)
	}
}

// lock locks a table until release is called, so that no post can be stored.
func lock(t *testing.T, p *testkit.Platform, table string) (release func()) {
	t.Helper()
	conn := testkit.Connect(t, p.DB.RootURL)
	for _, sql := range []string{"BEGIN", "LOCK TABLE " + table} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
	}
}

const storing = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%WITH post AS%'`

func waitForStoring(t *testing.T, p *testkit.Platform, n int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "posts wait in the database", func() bool {
		return testkit.Value[int](t, p.DB, `SELECT count(*) `+storing) == n
	})
}

func TestKilledBackendStoresNothing(t *testing.T) {
	t.Parallel()
	p := platform(t)
	d := delivery(p, p.Required)
	release := lock(t, p, "consents")
	ended := make(chan error, 1)
	go func() {
		_, _, err := p.Leads.Deliver(t.Context(), d)
		ended <- err
	}()
	waitForStoring(t, p, 1)
	p.DB.Exec(t, `SELECT pg_terminate_backend(pid) `+storing)
	expectDatabaseError(t, <-ended)
	release()
	if got := stored(t, p); got != "0/0/0/0" {
		t.Errorf("stored %s rows, want 0/0/0/0", got)
	}
	if receipt, isNew, err := p.Leads.Deliver(t.Context(), d); err != nil || !isNew || receipt.LeadID != d.Lead.ID {
		t.Errorf("the same post again: got receipt %+v, stored %v and error %v", receipt, isNew, err)
	}
}

// If the database's response is lost, the transaction may already have had a lead from another
// post.
func TestReadBackFindsLeadOfAnotherPost(t *testing.T) {
	t.Parallel()
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatformOn(t, db)
	first, second := delivery(p, p.Required), delivery(p, p.Required)
	second.Lead.ID = first.Lead.ID
	want, _, err := p.Leads.Deliver(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	proxy.DropResponse("SELECT 0\x00", nil)
	got, isNew, err := p.Leads.Deliver(t.Context(), second)
	if err != nil || isNew || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, stored %v and error %v, want %+v", got, isNew, err, want)
	}
}

// If the read-back also fails, Deliver returns an error. When the post is sent again, it gets the
// result.
func TestLostAnswerWithFailedReadBack(t *testing.T) {
	t.Parallel()
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatformOn(t, db)
	d := delivery(p, p.Required)
	proxy.DropResponse(string(d.Lead.AttemptID[:]), proxy.Down)
	_, isNew, err := p.Leads.Deliver(t.Context(), d)
	if isNew {
		t.Error("Deliver reported a lead as stored, want an error")
	}
	expectDatabaseError(t, err)
	proxy.Up()
	again := delivery(p, p.Required)
	again.Lead.ID = d.Lead.ID
	if receipt, isNew, err := p.Leads.Deliver(t.Context(), again); err != nil || isNew || receipt.LeadID != d.Lead.ID {
		t.Errorf("the same post again: got receipt %+v, stored %v and error %v", receipt, isNew, err)
	}
	if got := stored(t, p); got != "1/1/1/1" {
		t.Errorf("stored %s rows, want 1/1/1/1", got)
	}
}

// If the database's response for a group is lost, each post in the group still gets its own
// result.
func TestLostAnswerForGroup(t *testing.T) {
	t.Parallel()
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatformOn(t, db)
	const posts = 100
	all := make([]*leads.Delivery, posts)
	for i := range all {
		all[i] = delivery(p, p.Required)
	}
	proxy.DropResponse(string(all[posts/2].Lead.AttemptID[:]), nil)
	inParallel(t, posts, func(i int) error {
		receipt, isNew, err := p.Leads.Deliver(t.Context(), all[i])
		if err == nil && (!isNew || receipt.LeadID != all[i].Lead.ID) {
			err = errors.New("got the result of another post")
		}
		return err
	})
	if got := stored(t, p); got != "100/100/100/100" {
		t.Errorf("stored %s rows, want 100/100/100/100", got)
	}
}

// A post that gets no slot in time gets an error, and nothing is stored. Posts with a slot are not
// affected.
func TestDeliverTimesOutWithoutSlot(t *testing.T) {
	t.Parallel()
	p := platform(t)
	release := lock(t, p, "consents")
	var early sync.WaitGroup
	for i := range 2 { // all slots
		early.Go(func() {
			if _, isNew, err := p.Leads.Deliver(t.Context(), delivery(p, p.Required)); err != nil || !isNew {
				t.Errorf("early post: got stored %v and error %v", isNew, err)
			}
		})
		waitForStoring(t, p, i+1)
	}
	late := delivery(p, p.Required)
	ctx, cancel := context.WithTimeout(t.Context(), leads.DeliverTimeout/4) // while the early posts are still waiting
	defer cancel()
	_, isNew, err := p.Leads.Deliver(ctx, late)
	if f := apperr.As(err); isNew || f == nil || f.Code != apperr.Unavailable {
		t.Errorf("late post: got stored %v and error %v, want Unavailable", isNew, err)
	}
	release()
	early.Wait()
	if got := stored(t, p); got != "2/2/2/2" {
		t.Errorf("stored %s rows, want 2/2/2/2", got)
	}
	if _, isNew, err := p.Leads.Deliver(t.Context(), late); err != nil || !isNew {
		t.Errorf("late post again: got stored %v and error %v", isNew, err)
	}
}

// Deliver stores nothing if its context has already ended.
func TestDeliverWithEndedContextStoresNothing(t *testing.T) {
	t.Parallel()
	p := platform(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, isNew, err := p.Leads.Deliver(ctx, delivery(p, p.Required)); err == nil || isNew {
		t.Errorf("got stored %v and error %v, want an error", isNew, err)
	}
	if got := stored(t, p); got != "0/0/0/0" {
		t.Errorf("stored %s rows, want 0/0/0/0", got)
	}
}
