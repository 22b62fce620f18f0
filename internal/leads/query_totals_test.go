package leads_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/csvcell"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
)

// TestTotalsAndCSV checks that the totals and the file contain the leads that the list shows.
func TestTotalsAndCSV(t *testing.T) {
	t.Parallel()
	o := newLeadReader(t)
	o.add(t, "a", o.Required, nil)
	o.add(t, "b", o.Required, func(d *leads.Delivery) { d.Lead.Industry = "roofer" })
	o.add(t, "c", o.Off, func(d *leads.Delivery) { d.Lead.Currency = "EUR" })
	o.add(t, "d", o.Off, func(d *leads.Delivery) { d.Lead.Sandbox = true })
	o.erase(t, o.add(t, "e", o.Required, nil))
	price := func(n int64, currency money.Currency) money.Amount {
		return money.Amount{Minor: n * 4560, Currency: currency}
	}
	for name, c := range map[string]struct {
		sc    scope.Scope
		q     leads.Query
		count int64
		sums  []money.Amount
	}{
		"all":               {scope.Everywhere, leads.Query{}, 5, []money.Amount{price(3, money.GBP), price(1, money.EUR)}},
		"an industry":       {scope.Everywhere, leads.Query{Industry: "roofer"}, 1, []money.Amount{price(1, money.GBP)}},
		"a state":           {scope.Everywhere, leads.Query{State: leads.StateSandbox}, 1, nil},
		"a partner":         {scope.Everywhere, leads.Query{Partner: o.Off.ID}, 2, []money.Amount{price(1, money.EUR)}},
		"a scope":           {scope.Partners(o.Required.ID), leads.Query{}, 3, []money.Amount{price(3, money.GBP)}},
		"two partners":      {scope.Partners(o.Required.ID, o.Off.ID), leads.Query{State: leads.StateErased}, 1, []money.Amount{price(1, money.GBP)}},
		"an empty scope":    {scope.Scope{}, leads.Query{}, 0, nil},
		"another scope":     {scope.Partners(o.Required.ID), leads.Query{Partner: o.Off.ID}, 0, nil},
		"no match":          {scope.Everywhere, leads.Query{Country: "FR"}, 0, nil},
		"a later page":      {scope.Everywhere, leads.Query{Size: 1, After: leads.Cursor{ReceivedAt: o.Time.Now().AddDate(-1, 0, 0), ID: uuid.New()}}, 5, []money.Amount{price(3, money.GBP), price(1, money.EUR)}},
		"a later reception": {scope.Everywhere, leads.Query{From: o.Time.Now().AddDate(1, 0, 0)}, 0, nil},
	} {
		got, err := o.Totals(t.Context(), c.sc, c.q)
		if err != nil || got.Count != c.count || got.More || !slices.Equal(got.Sums, c.sums) {
			t.Errorf("%s: got %+v and error %v, want %d leads and %v", name, got, err, c.count, c.sums)
		}
		var file bytes.Buffer
		begun := false
		priced := func(partner uuid.UUID) bool { return partner == o.Required.ID }
		err = o.CSV(t.Context(), c.sc, c.q, priced, &file, func() error { begun = true; return nil })
		records, readErr := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.String(), csvcell.ByteOrderMark))).ReadAll()
		if err != nil || readErr != nil || !begun || int64(len(records)) != c.count+1 || !slices.Equal(records[0], leads.Columns) {
			t.Errorf("%s: got the file %v and errors %v, %v, want %d leads", name, records, err, readErr, c.count)
			continue
		}
		for _, r := range records[1:] {
			if known := strings.HasPrefix(r[3], "harbour-leads"); (r[6] == "45.60") != known {
				t.Errorf("%s: got the row %v, want a price only for one partner", name, r)
			}
		}
	}
}
