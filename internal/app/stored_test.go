package app_test

import (
	"context"
	"testing"
)

// stored is how much of what a post leaves behind there is.
type stored struct{ leads, consents, entries, events int }

// nothing is what a refused request stores, oneLead what a delivered one does.
var (
	nothing = stored{}
	oneLead = stored{leads: 1, consents: 1, entries: 1, events: 1}
)

func (n *node) stored(t testing.TB) stored {
	t.Helper()
	var s stored
	err := n.root.QueryRow(context.Background(), `SELECT (SELECT count(*) FROM leads), (SELECT count(*) FROM consents),
		(SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM lead_events)`).Scan(&s.leads, &s.consents, &s.entries, &s.events)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stores runs what a test does and checks how much more there is afterwards.
func (n *node) stores(t testing.TB, want stored, do func()) {
	t.Helper()
	before := n.stored(t)
	do()
	after := n.stored(t)
	got := stored{
		leads: after.leads - before.leads, consents: after.consents - before.consents,
		entries: after.entries - before.entries, events: after.events - before.events,
	}
	if got != want {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}
