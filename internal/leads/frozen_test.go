package leads_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
)

// maxResponseTime is the maximum time for a response (decision 27).
const maxResponseTime = 5 * time.Second

// A dead connection does not block a post. The server's timeout error cannot reach the client, so
// the client has its own timeout.
func TestFrozenConnectionTimesOut(t *testing.T) {
	t.Parallel()
	if leads.DeliverTimeout >= maxResponseTime {
		t.Errorf("a delivery may take %s, want less than %s", leads.DeliverTimeout, maxResponseTime)
	}
	t.Run("while storing", func(t *testing.T) {
		t.Parallel()
		p, freeze := frozen(t)
		d := delivery(p, p.Required)
		freeze(d.Lead.ID)
		// The lead was stored before the connection froze. Deliver reads it on a new one.
		receipt, isNew, err := p.Leads.Deliver(t.Context(), d)
		if err != nil || !isNew || receipt.LeadID != d.Lead.ID {
			t.Errorf("got receipt %+v, stored %v and error %v", receipt, isNew, err)
		}
		if got := stored(t, p); got != "1/1/1/1" {
			t.Errorf("stored %s rows, want 1/1/1/1", got)
		}
	})
	t.Run("while finding", func(t *testing.T) {
		t.Parallel()
		p, freeze := frozen(t)
		d := delivery(p, p.Required)
		if _, _, err := p.Leads.Deliver(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		freeze(d.Lead.ID)
		_, err := p.Leads.Find(t.Context(), scope.System, d.Lead.ID)
		expectDatabaseError(t, err)
	})
}

// frozen returns a platform whose database connection freezes when the database sends the id of
// the given lead, until the test ends.
func frozen(t *testing.T) (p *testkit.Platform, freeze func(lead uuid.UUID)) {
	t.Helper()
	db, proxy := testkit.NewDatabaseBehind(t)
	thaw := make(chan struct{})
	t.Cleanup(func() { close(thaw) })
	return testkit.NewPlatformOn(t, db), func(lead uuid.UUID) {
		proxy.DropResponse(string(lead[:]), func() { <-thaw })
	}
}
