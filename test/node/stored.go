package node

import (
	"context"
	"testing"
)

// Stored is how much of what a post leaves behind there is.
type Stored struct{ Leads, Consents, Entries, Events int }

// Nothing is what a rejected request stores, OneLead what a delivered one does.
var (
	Nothing = Stored{}
	OneLead = Stored{Leads: 1, Consents: 1, Entries: 1, Events: 1}
)

// Stored counts what is stored.
func (n *Node) Stored(t testing.TB) Stored {
	t.Helper()
	var s Stored
	err := n.Root.QueryRow(context.Background(), `SELECT (SELECT count(*) FROM leads), (SELECT count(*) FROM consents),
		(SELECT count(*) FROM ledger_entries), (SELECT count(*) FROM lead_events)`).Scan(&s.Leads, &s.Consents, &s.Entries, &s.Events)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Stores runs what a test does and checks how much more there is afterwards.
func (n *Node) Stores(t testing.TB, want Stored, do func()) {
	t.Helper()
	before := n.Stored(t)
	do()
	after := n.Stored(t)
	got := Stored{
		Leads: after.Leads - before.Leads, Consents: after.Consents - before.Consents,
		Entries: after.Entries - before.Entries, Events: after.Events - before.Events,
	}
	if got != want {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}

// StoredLeads is what this many delivered leads leave behind.
func StoredLeads(leads int) Stored { return Stored{leads, leads, leads, leads} }
