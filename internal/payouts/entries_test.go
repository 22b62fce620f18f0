package payouts_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

func page(size int) postgres.Page[int64] { return postgres.Page[int64]{Size: size} }

func TestEntriesFilters(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	ctx := t.Context()
	a := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	b := tr.deliver(t, tr.Off, "DE")
	tr.Time.Advance(time.Hour)
	r := tr.pay(t, tr.run(t, money.GBP, 0))
	c := tr.deliver(t, tr.Required, "GB")
	tr.DB.Exec(t, `UPDATE leads SET partner_reference = '=click', sub_id = 'mail' WHERE id = $1`, a.lead)
	began := testkit.StartTime()
	lead := func(d delivered) string { return id.Format(id.Lead, d.lead) }
	for name, test := range map[string]struct {
		sc   scope.Scope
		f    payouts.Filter
		want []string // leads, or kinds of entries without one, newest first
	}{
		"all entries": {scope.Everywhere, payouts.Filter{}, []string{lead(c), "payment", lead(b), lead(a)}},
		"a partner":   {scope.Everywhere, payouts.Filter{Partner: tr.Off.ID}, []string{lead(b)}},
		"an account": {
			scope.Everywhere, payouts.Filter{Account: tr.Required.Accounts[0].ID}, []string{lead(c), "payment", lead(a)},
		},
		"a currency":      {scope.Everywhere, payouts.Filter{Currency: money.EUR}, []string{lead(b)}},
		"a kind":          {scope.Everywhere, payouts.Filter{Kind: models.EntryPayment}, []string{"payment"}},
		"an unknown kind": {scope.Everywhere, payouts.Filter{Kind: "x' OR true --"}, nil},
		"a lead":          {scope.Everywhere, payouts.Filter{Lead: b.lead}, []string{lead(b)}},
		"a run":           {scope.Everywhere, payouts.Filter{Run: r.ID}, []string{"payment", lead(a)}},
		"not in a run":    {scope.Everywhere, payouts.Filter{Open: true}, []string{lead(c), lead(b)}},
		"from (inclusive)": {
			scope.Everywhere, payouts.Filter{From: began.Add(time.Hour)}, []string{lead(c), "payment", lead(b)},
		},
		"to (exclusive)":         {scope.Everywhere, payouts.Filter{To: began.Add(time.Hour)}, []string{lead(a)}},
		"a scope":                {scope.Partners(tr.Off.ID), payouts.Filter{}, []string{lead(b)}},
		"a partner out of scope": {scope.Partners(tr.Off.ID), payouts.Filter{Partner: tr.Required.ID}, nil},
		"an empty scope":         {scope.Partners(), payouts.Filter{}, nil},
		"another partner's run":  {scope.Partners(tr.Off.ID), payouts.Filter{Run: r.ID}, nil},
	} {
		all, newer, older, err := tr.Entries(ctx, test.sc, test.f, page(10))
		var got []string
		for _, e := range all {
			if e.LeadID == nil {
				got = append(got, string(e.Kind))
				continue
			}
			got = append(got, id.Format(id.Lead, *e.LeadID))
		}
		if err != nil || newer || older || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v and error %v, want %v", name, got, err, test.want)
		}
		if n, more, err := tr.Count(ctx, test.sc, test.f, 100); err != nil || more || n != int64(len(test.want)) {
			t.Errorf("%s: Count returned %d and error %v, want %d", name, n, err, len(test.want))
		}
		var streamed []string
		var file bytes.Buffer
		if rows, err := tr.CSV(ctx, test.sc, test.f, &file, atOnce); err != nil || rows != int64(len(test.want)) {
			t.Errorf("%s: CSV returned %d and error %v, want %d", name, rows, err, len(test.want))
		}
		records := testkit.Records(t, file.String())
		if !slices.Equal(records[0], payouts.Columns) {
			t.Fatalf("%s: got columns %v", name, records[0])
		}
		for _, record := range records[1:] {
			if streamed = append(streamed, record[0]); record[0] == "" {
				streamed[len(streamed)-1] = record[4]
			}
			tags := record[slices.Index(payouts.Columns, "partner_reference"):]
			if record[0] == lead(a) && (tags[0] != "'=click" || tags[1] != "mail") {
				t.Errorf("%s: exported %v", name, record)
			}
		}
		slices.Reverse(streamed)
		if !slices.Equal(streamed, test.want) {
			t.Errorf("%s: exported %v, want %v", name, streamed, test.want)
		}
	}
	if n, more, err := tr.Count(ctx, scope.Everywhere, payouts.Filter{}, 2); n != 2 || !more || err != nil {
		t.Errorf("Count with bound 2: got %d, more %t and error %v, want 2 and more", n, more, err)
	}
	first, _, older, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{}, page(2))
	if err != nil || len(first) != 2 || !older {
		t.Fatalf("the first page: got %v and error %v", first, err)
	}
	next, newer, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{},
		postgres.Page[int64]{Size: 2, After: first[1].ID})
	if err != nil || len(next) != 2 || !newer || *next[1].LeadID != a.lead ||
		next[1].TransactionID != a.transaction || next[1].PartnerReference != "=click" || next[1].SubID != "mail" || next[1].Run != r.ID || next[1].RunState != models.RunPaid {
		t.Errorf("the next page: got %+v and error %v", next, err)
	}
	back, _, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{},
		postgres.Page[int64]{Size: 2, Before: next[0].ID})
	if err != nil || len(back) != 2 || back[0].ID != first[0].ID {
		t.Errorf("back to the first page: got %+v and error %v", back, err)
	}
}
