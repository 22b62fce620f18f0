package leads_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/testkit"
)

// nobodyToBlame checks a failure after which the same post may be sent again: no
// fault that a partner would be told, and safe to log.
func nobodyToBlame(t *testing.T, err error) {
	t.Helper()
	var safe *postgres.Err
	if !errors.As(err, &safe) || apperr.As(err) != nil {
		t.Errorf("%v, want a failure of the database", err)
	}
}

// lock keeps every post from storing until it is released.
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
	testkit.Eventually(t, 10*time.Second, "posts are at the database", func() bool {
		return testkit.Value[int](t, p.DB, `SELECT count(*) `+storing) == n
	})
}

func TestABackendKilledHalfwayStoresNothing(t *testing.T) {
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
	nobodyToBlame(t, <-ended)
	release()
	if got := stored(t, p); got != "0/0/0/0" {
		t.Errorf("stored %s", got)
	}
	if receipt, isNew, err := p.Leads.Deliver(t.Context(), d); err != nil || !isNew || receipt.LeadID != d.Lead.ID {
		t.Errorf("the same post again: %+v, new %v, %v", receipt, isNew, err)
	}
}

// The answer that was lost may have said that the transaction holds another lead.
func TestAnotherPostsLeadIsReadBack(t *testing.T) {
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatform(t, db)
	first, second := delivery(p, p.Required), delivery(p, p.Required)
	second.Lead.Transaction = first.Lead.Transaction
	want, _, err := p.Leads.Deliver(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	proxy.DropResponse("SELECT 0\x00", nil)
	got, isNew, err := p.Leads.Deliver(t.Context(), second)
	if err != nil || isNew || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, new %v, %v, want %+v", got, isNew, err, want)
	}
}

// When nothing can be read back either, nothing is claimed, and the same post
// again gives the truth.
func TestALostAnswerAndNoWayToReadItBack(t *testing.T) {
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatform(t, db)
	d := delivery(p, p.Required)
	proxy.DropResponse(string(d.Lead.ID[:]), proxy.Down)
	_, isNew, err := p.Leads.Deliver(t.Context(), d)
	if isNew {
		t.Error("a lead was claimed that nobody could see")
	}
	nobodyToBlame(t, err)
	proxy.Up()
	again := delivery(p, p.Required)
	again.Lead.Transaction = d.Lead.Transaction
	if receipt, isNew, err := p.Leads.Deliver(t.Context(), again); err != nil || isNew || receipt.LeadID != d.Lead.ID {
		t.Errorf("the truth is %+v, new %v, %v", receipt, isNew, err)
	}
	if got := stored(t, p); got != "1/1/1/1" {
		t.Errorf("stored %s", got)
	}
}

// A group whose answer is lost gets it post by post.
func TestALostAnswerOfAGroup(t *testing.T) {
	db, proxy := testkit.NewDatabaseBehind(t)
	p := testkit.NewPlatform(t, db)
	const posts = 100
	all := make([]*leads.Delivery, posts)
	for i := range all {
		all[i] = delivery(p, p.Required)
	}
	proxy.DropResponse(string(all[posts/2].Lead.ID[:]), nil)
	inParallel(t, posts, func(i int) error {
		receipt, isNew, err := p.Leads.Deliver(t.Context(), all[i])
		if err == nil && (!isNew || receipt.LeadID != all[i].Lead.ID) {
			err = errors.New("another's answer")
		}
		return err
	})
	if got := stored(t, p); got != "100/100/100/100" {
		t.Errorf("stored %s", got)
	}
}

// Who finds no place at the database in time is sent away with nothing stored;
// who has one is not disturbed.
func TestDeliverTimesOutWithoutSlot(t *testing.T) {
	p := platform(t)
	release := lock(t, p, "consents")
	var early sync.WaitGroup
	for i := range 2 { // as many as write at once
		early.Go(func() {
			if _, isNew, err := p.Leads.Deliver(t.Context(), delivery(p, p.Required)); err != nil || !isNew {
				t.Errorf("early: new %v, %v", isNew, err)
			}
		})
		waitForStoring(t, p, i+1)
	}
	late := delivery(p, p.Required)
	ctx, cancel := context.WithTimeout(t.Context(), leads.DeliverTimeout/2)
	defer cancel()
	_, isNew, err := p.Leads.Deliver(ctx, late)
	if f := apperr.As(err); isNew || f == nil || f.Code != apperr.Unavailable {
		t.Errorf("late: new %v, %v, want to hear that it is unavailable", isNew, err)
	}
	release()
	early.Wait()
	if got := stored(t, p); got != "2/2/2/2" {
		t.Errorf("stored %s", got)
	}
	if _, isNew, err := p.Leads.Deliver(t.Context(), late); err != nil || !isNew {
		t.Errorf("late, once more: new %v, %v", isNew, err)
	}
}

// A client that hangs up does not undo a commit: the caller passes a context
// that outlives it, and one that has ended stores nothing.
func TestAContextThatHasEndedStoresNothing(t *testing.T) {
	p := platform(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, isNew, err := p.Leads.Deliver(ctx, delivery(p, p.Required)); err == nil || isNew {
		t.Errorf("new %v, %v", isNew, err)
	}
	if got := stored(t, p); got != "0/0/0/0" {
		t.Errorf("stored %s", got)
	}
}
