package ratecard

import "testing"

// Partners are sorted by the change in their payouts. The prices offered count only if the payouts changed
// equally.
func TestPartnersAreSortedByPayout(t *testing.T) {
	t.Parallel()
	line := func(pings, leads int64) *ReplayLine {
		return &ReplayLine{Pings: ReplayTotals{NowMinor: pings}, Leads: ReplayTotals{NowMinor: leads}}
	}
	sums := &tally{}
	sums.byPartner = map[lineKey]*ReplayLine{
		{"a", "GBP"}: line(900, 0), {"b", "GBP"}: line(100, 500), {"c", "GBP"}: line(-950, 0), {"d", "GBP"}: line(0, -700),
	}
	got := ""
	for key, l := range sums.byPartner {
		l.Key, l.Currency = key.key, key.currency
	}
	for _, l := range sums.result().Partners {
		got += l.Key
	}
	if got != "dbca" {
		t.Errorf("got the order %s, want dbca", got)
	}
}
