package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// What a list shows is taken, what it leaves open is not, and what is given goes before both.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	one := leadID(uuid.New())
	dot := reconcile.DotDecimal
	for name, c := range map[string]struct {
		list  []string
		given reconcile.Mapping
		want  reconcile.Mapping
		days  string
	}{
		"another column's currency": {[]string{"leadId,amount_gbp,eur", one + ",1.5,2.5"}, reconcile.Mapping{Amount: "eur"}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "eur",
			Fixed:   money.EUR,
			Numbers: dot,
		}, ""},
		"a column without a currency": {[]string{"leadId,amount_gbp,net", one + ",1.5,2.5"}, reconcile.Mapping{Amount: "net"}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "net",
			Numbers: dot,
		}, ""},
		"a currency that is given": {[]string{"leadId,amount_gbp,net", one + ",1.5,2.5"}, reconcile.Mapping{Amount: "net", Fixed: money.CAD}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "net",
			Fixed:   money.CAD,
			Numbers: dot,
		}, ""},
		"a column of currencies": {[]string{"leadId,amount_gbp,net,ccy", one + ",1.5,2.5,EUR"}, reconcile.Mapping{Amount: "net"}, reconcile.Mapping{
			LeadID:   "leadId",
			Amount:   "net",
			Currency: "ccy",
			Numbers:  dot,
		}, ""},
		"two columns of amounts": {[]string{"leadId,price,payout", one + ",1.5,2.5"}, reconcile.Mapping{},
			reconcile.Mapping{LeadID: "leadId"}, ""},
		"one of numbers, one of money": {[]string{"leadId,age,lead price", one + ",15,2.5"}, reconcile.Mapping{}, reconcile.Mapping{
			LeadID:  "leadId",
			Amount:  "lead price",
			Numbers: dot,
		}, ""},
		"numbers that are not of money": {[]string{"leadId,age", one + ",15"}, reconcile.Mapping{},
			reconcile.Mapping{LeadID: "leadId"}, ""},
		"a date that is open": {[]string{"leadId,amount,date", one + ",1.5,02/03/2026", one + ",1.5,03/04/2026"}, reconcile.Mapping{},
			reconcile.Mapping{LeadID: "leadId", Amount: "amount", Date: "date", Numbers: dot}, ""},
		"the day first": {[]string{"leadId,amount,date", one + ",1.5,02/03/2026", one + ",1.5,03/04/2026"}, reconcile.Mapping{Dates: reconcile.DayFirst},
			reconcile.Mapping{
				LeadID:  "leadId",
				Amount:  "amount",
				Date:    "date",
				Numbers: dot,
				Dates:   reconcile.DayFirst,
			}, "2026-03-02..2026-04-03"},
		"the month first": {[]string{"leadId,amount,date", one + ",1.5,02/03/2026", one + ",1.5,03/04/2026"}, reconcile.Mapping{Dates: reconcile.MonthFirst},
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
			t.Errorf("%s: %+v, %s, %v", name, s.Mapping, days, err)
		}
	}
}

// A list with the same columns is read as the last one was, whatever their order; what
// was said of one column is not said of another.
func TestMappingIsRemembered(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	one := leadID(uuid.New())
	m := reconcile.Mapping{LeadID: "leadId", Amount: "net", Fixed: money.GBP, Numbers: reconcile.CommaDecimal}
	o.compare(t, o.upload(t, acme.ID, "leadId;net;gross", one+";1.234;1.234"), m, 2)
	next := o.upload(t, acme.ID, "gross;leadId;net", "1.234;"+one+";1.234")
	if s, err := o.Suggest(t.Context(), next); err != nil || !s.Remembered || s.Mapping != m {
		t.Errorf("in another order: %+v, %v", s, err)
	}
	s, err := o.SuggestWith(t.Context(), next, reconcile.Mapping{Amount: "gross"})
	if want := (reconcile.Mapping{LeadID: "leadId", Amount: "gross"}); err != nil || s.Mapping != want {
		t.Errorf("of another column: %+v, %v", s.Mapping, err)
	}
}
