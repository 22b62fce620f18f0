package leads_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
)

// frozenFor is the longest that an answer may take (decision 27).
const frozenFor = 5 * time.Second

// A connection that has died without a word keeps no post waiting: the server's
// time-out cannot be heard through it, so that the client has one of its own.
func TestFrozenConnectionTimesOut(t *testing.T) {
	t.Parallel()
	t.Run("while it stores", func(t *testing.T) {
		t.Parallel()
		p, freeze := frozen(t)
		d := delivery(p, p.Required)
		freeze(d.Lead.ID)
		givenUp(t, func() {
			// Stored before the connection froze, as a fresh one knows.
			receipt, isNew, err := p.Leads.Deliver(t.Context(), d)
			if err != nil || !isNew || receipt.LeadID != d.Lead.ID {
				t.Errorf("%+v, new %v, %v", receipt, isNew, err)
			}
		})
		if got := stored(t, p); got != "1/1/1/1" {
			t.Errorf("stored %s", got)
		}
	})
	t.Run("while it looks", func(t *testing.T) {
		t.Parallel()
		p, freeze := frozen(t)
		d := delivery(p, p.Required)
		if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		freeze(d.Lead.ID)
		givenUp(t, func() {
			_, err := p.Leads.Find(t.Context(), scope.System, d.Lead.Transaction)
			nobodyToBlame(t, err)
		})
	})
}

// frozen is a platform behind a network that freezes, until the test ends, when
// the database answers with a lead's id.
func frozen(t *testing.T) (p *testkit.Platform, freeze func(lead uuid.UUID)) {
	t.Helper()
	db, proxy := testkit.NewDatabaseBehind(t)
	thaw := make(chan struct{})
	t.Cleanup(func() { close(thaw) })
	return testkit.NewPlatform(t, db), func(lead uuid.UUID) {
		proxy.DropResponse(string(lead[:]), func() { <-thaw })
	}
}

func givenUp(t *testing.T, call func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		call()
	}()
	timer := time.NewTimer(frozenFor)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		t.Fatalf("still waiting after %s", frozenFor)
	}
}
