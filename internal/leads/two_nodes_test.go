package leads_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
)

// Two nodes store the same three transactions in opposite orders, each as one group. Both wait
// for a lock on the second transaction. After the lock is released, they must not wait for each
// other.
func TestTwoNodesDoNotDeadlock(t *testing.T) {
	t.Parallel()
	p := platform(t)
	nodes := []*leads.Store{p.Leads, leads.NewStore(testkit.Open(t, p.DB.AppURL).Pool)}
	known := delivery(p, p.Required)
	if _, _, err := p.Leads.Deliver(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	transactions := []uuid.UUID{id.New(p.Time.Now()), known.Lead.ID, id.New(p.Time.Now())}
	release := lockLead(t, p, known.Lead.ID)
	ended := make(chan []leads.Result, len(nodes))
	for _, node := range nodes {
		group := make([]*leads.Delivery, len(transactions))
		for i, transaction := range transactions {
			d := delivery(p, p.Required)
			d.Lead.ID = transaction
			group[i] = d
		}
		slices.Reverse(transactions)
		go func() { ended <- node.DeliverTogether(t.Context(), group...) }()
	}
	waitForStoring(t, p, len(nodes))
	release()
	for range nodes {
		for _, r := range <-ended {
			if r.Err != nil {
				t.Error(r.Err)
			}
		}
	}
	if got := stored(t, p); got != "3/3/3/3" {
		t.Errorf("stored %s rows, want 3/3/3/3", got)
	}
}

// lockLead deletes a lead in a transaction, which release rolls back. Until then, inserts of its
// transaction wait.
func lockLead(t *testing.T, p *testkit.Platform, lead uuid.UUID) (release func()) {
	t.Helper()
	conn := testkit.Connect(t, p.DB.RootURL)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("SET session_replication_role = replica") // keep rows that refer to the lead
	exec("BEGIN")
	exec("DELETE FROM leads WHERE id = $1", lead)
	return func() { exec("ROLLBACK") }
}
