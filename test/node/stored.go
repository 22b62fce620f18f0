package node

import (
	"context"
	"testing"
)

// Stored is the number of rows in each of the tables in which posts are stored.
type Stored struct{ Leads, Consents, Entries, Events int }

// Nothing is the number of rows that a rejected request stores, and OneLead is the number that a
// delivered post stores.
var (
	Nothing = Stored{}
	OneLead = Stored{Leads: 1, Consents: 1, Entries: 1, Events: 1}
)

// Stored counts the rows in the tables in which posts are stored.
func (n *Node) Stored(t testing.TB) Stored {
	t.Helper()
	var s Stored
	err := n.Root.QueryRow(context.Background(), `SELECT (SELECT count(*) FROM leads), (SELECT count(*) FROM consents),
		(SELECT count(*) FROM ledger_entries), (SELECT count(*)
			FROM lead_events)`).Scan(&s.Leads, &s.Consents, &s.Entries, &s.Events)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Stores calls a function and fails the test unless the function adds exactly the wanted number of rows
// to each table.
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

// StoredLeads returns the number of rows that the given number of delivered leads adds to each
// table.
func StoredLeads(leads int) Stored { return Stored{leads, leads, leads, leads} }
