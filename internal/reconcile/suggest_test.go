package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// Suggestions contain the given fields, and fields that can be derived from the file. Ambiguous
// fields are empty.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	lead := leadID(uuid.New())
	dot := reconcile.DotDecimal
	for name, c := range map[string]struct {
		list  []string
		given reconcile.Mapping
		want  reconcile.Mapping
		days  string
	}{
		"currency in the name of another column": {[]string{"leadId,amount_gbp,eur", lead + ",1.5,2.5"}, reconcile.Mapping{Amount: "eur"}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "eur",
			Fixed:   money.EUR,
			Numbers: dot,
		}, ""},
		"column without a currency": {[]string{"leadId,amount_gbp,net", lead + ",1.5,2.5"}, reconcile.Mapping{Amount: "net"}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "net",
			Numbers: dot,
		}, ""},
		"given currency": {[]string{"leadId,amount_gbp,net", lead + ",1.5,2.5"}, reconcile.Mapping{Amount: "net", Fixed: money.CAD}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "net",
			Fixed:   money.CAD,
			Numbers: dot,
		}, ""},
		"currency column": {[]string{"leadId,amount_gbp,net,ccy", lead + ",1.5,2.5,EUR"}, reconcile.Mapping{Amount: "net"}, reconcile.Mapping{
			LeadID:   "leadId",
			Amount:   "net",
			Currency: "ccy",
			Numbers:  dot,
		}, ""},
		"two amount columns": {[]string{"leadId,price,payout", lead + ",1.5,2.5"}, reconcile.Mapping{},
			reconcile.Mapping{LeadID: "leadId"}, ""},
		"number column and amount column": {[]string{"leadId,age,lead price", lead + ",15,2.5"}, reconcile.Mapping{}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "lead price",
			Numbers: dot,
		}, ""},
		"numbers that are not amounts": {[]string{"leadId,age", lead + ",15"}, reconcile.Mapping{},
			reconcile.Mapping{LeadID: "leadId"}, ""},
		"ambiguous dates": {[]string{"leadId,amount,date", lead + ",1.5,02/03/2026", lead + ",1.5,03/04/2026"}, reconcile.Mapping{},
			reconcile.Mapping{LeadID: "leadId", Amount: "amount", Date: "date", Numbers: dot}, ""},
		"day first": {[]string{"leadId,amount,date", lead + ",1.5,02/03/2026", lead + ",1.5,03/04/2026"}, reconcile.Mapping{Dates: reconcile.DayFirst},
			reconcile.Mapping{
				LeadID:  "leadId",
				Amount:  "amount",
				Date:    "date",
				Numbers: dot,
				Dates:   reconcile.DayFirst,
			}, "2026-03-02..2026-04-03"},
		"month first": {[]string{"leadId,amount,date", lead + ",1.5,02/03/2026", lead + ",1.5,03/04/2026"}, reconcile.Mapping{Dates: reconcile.MonthFirst},
			reconcile.Mapping{
				LeadID:  "leadId",
				Amount:  "amount",
				Date:    "date",
				Numbers: dot,
				Dates:   reconcile.MonthFirst,
			}, "2026-02-03..2026-03-04"},
	} {
		s, err := o.SuggestWith(t.Context(), o.upload(t, acme.ID, c.list...), c.given)
		days := ""
		if !s.From.IsZero() {
			days = s.From.Format(time.DateOnly) + ".." + s.To.Format(time.DateOnly)
		}
		if err != nil || s.Mapping != c.want || days != c.days {
			t.Errorf("%s: suggested %+v, days %q, %v, want %+v, %q", name, s.Mapping, days, err, c.want, c.days)
		}
	}
}

// The last mapping is suggested for a file with the same columns in any order. Its formats are not
// suggested for other columns.
func TestMappingIsRemembered(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	lead := leadID(uuid.New())
	m := reconcile.Mapping{LeadID: "leadId", Amount: "net", Fixed: money.GBP, Numbers: reconcile.CommaDecimal}
	o.compare(t, o.upload(t, acme.ID, "leadId;net;gross", lead+";1.234;1.234"), m, 2)
	next := o.upload(t, acme.ID, "gross;leadId;net", "1.234;"+lead+";1.234")
	if s, err := o.Suggest(t.Context(), next); err != nil || !s.Remembered || s.Mapping != m {
		t.Errorf("columns in another order: %+v, %v", s, err)
	}
	s, err := o.SuggestWith(t.Context(), next, reconcile.Mapping{Amount: "gross"})
	if want := (reconcile.Mapping{LeadID: "leadId", Amount: "gross"}); err != nil || s.Mapping != want {
		t.Errorf("another amount column: %+v, %v, want %+v", s.Mapping, err, want)
	}
}
