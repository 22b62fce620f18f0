package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

var inColumns = reconcile.Mapping{
	LeadID:   "leadId",
	Amount:   "amount",
	Currency: "currency",
	Numbers:  reconcile.DotDecimal,
}

// comparison is what a list came to.
type comparison struct {
	reconcile.Reconciliation
	lines []reconcile.Line
}

// compare has a list compared over the first days of January.
func (o *reconcilePlatform) compare(t testing.TB, r reconcile.Reconciliation, m reconcile.Mapping, last int) comparison {
	t.Helper()
	err := o.CompareNow(t.Context(), scope.Everywhere, r.ID, r.RowVersion, m, january(1), january(last),
		func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return comparison{o.get(t, r.ID), o.lines(t, scope.Everywhere, r.ID)}
}

func (o *reconcilePlatform) lines(t testing.TB, sc scope.Scope, r uuid.UUID) []reconcile.Line {
	t.Helper()
	all, _, _, err := o.Lines(t.Context(), sc, reconcile.LineQuery{Reconciliation: r, Size: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func january(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }

func decimal(minor int64) string { return money.Amount{Minor: minor, Currency: money.GBP}.Decimal() }

// write puts an entry into the ledger.
func (o *reconcilePlatform) write(t testing.TB, e models.LedgerEntry) {
	t.Helper()
	if err := o.DB.Gorm.Create(&e).Error; err != nil {
		t.Fatal(err)
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired, partners.NewAccount{Identifier: "acme-1", Name: "1"}, partners.NewAccount{
		Identifier: "acme-s",
		Name:       "s",
		Sandbox:    true,
	})
	beta := o.AddPartner(t, "beta", models.SigningRequired)
	late, price := o.deliver(t, acme, 0) // the 2nd
	sandbox, _ := o.deliver(t, acme, 1)
	theirs, _ := o.deliver(t, beta, 0)
	even, _ := o.deliver(t, acme, 0)
	less, _ := o.deliver(t, acme, 0)
	foreign, _ := o.deliver(t, acme, 0)
	returned, _ := o.deliver(t, acme, 0)
	adjusted, _ := o.deliver(t, acme, 0)
	broken, _ := o.deliver(t, acme, 0)
	missing, _ := o.deliver(t, acme, 0)
	o.Time.Advance(24 * time.Hour)
	outside, _ := o.deliver(t, acme, 0) // the 3rd
	account := acme.Accounts[0].ID
	o.write(t, ledger.Return(models.Return{
		PartnerID:   acme.ID,
		AccountID:   account,
		LeadID:      returned,
		AmountMinor: price,
		Currency:    "GBP",
	}, "x", o.Time.Now()))
	o.write(t,
		ledger.Adjustment(acme.ID, account, &adjusted, money.Amount{Minor: -100, Currency: money.GBP}, uuid.New(), "x",
			"x", o.Time.Now()))

	nobodys := uuid.New()
	row := func(lead uuid.UUID, minor int64, currency string) string {
		return leadID(lead) + "," + decimal(minor) + "," + currency
	}
	got := o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency",
		row(even, price, "GBP"),                                // 2 matched
		"  "+strings.ToLower(row(even, price-1, "gbp")),        // 3 duplicate
		row(less, price-250, "GBP"),                            // 4 amount_differs
		"",                                                     // 5 blank
		row(foreign, price, "EUR"),                             // 6 amount_differs, currency
		row(returned, price, "GBP"),                            // 7 amount_differs: ours is 0
		row(adjusted, price-100, "GBP"),                        // 8 matched
		row(nobodys, 100, "GBP"),                               // 9 unknown
		row(nobodys, 100, "GBP"),                               // 10 duplicate
		row(theirs, price, "GBP"),                              // 11 unknown, another's
		row(sandbox, price, "GBP"),                             // 12 unknown
		row(outside, price, "GBP"),                             // 13 outside_period
		leadID(broken)+",12.345,GBP",                           // 14 unreadable, but named
		leadID(broken)[:20]+",12.34,GBP",                       // 15 unreadable
		row(late, price, "XYZ"),                                // 16 unreadable
		row(late, price, "GBP"),                                // 17 matched: the row before does not count
		"=cmd(),1,GBP", leadID(late)+",£1,EUR", "Total,12,GBP", // 18 to 20 unreadable
	), inColumns, 2)
	want := []string{
		"2 matched", "3 duplicate of 2", "4 amount_differs", "6 amount_differs currency", "7 amount_differs", "8 matched", "9 unknown", "10 duplicate of 9",
		"11 unknown beta", "12 unknown", "13 outside_period", "14 unreadable amount_decimals", "15 unreadable lead_id_length", "16 unreadable currency_unknown", "17 matched",
		"18 unreadable formula", "19 unreadable amount_currency", "20 unreadable lead_id_prefix", "missing",
	}
	var said []string
	for i, l := range got.lines {
		if l.Line != i+1 {
			t.Errorf("line %d is numbered %d", i+1, l.Line)
		}
		said = append(said, told(l))
	}
	if !slices.Equal(said, want) {
		t.Errorf("found:\n%s\nwant:\n%s", strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	last := got.lines[len(got.lines)-1]
	if *last.LeadID != missing || *last.OursMinor != price || last.Account != "acme-1" ||
		!last.ReceivedAt.Equal(testkit.StartTime()) {
		t.Errorf("missing: %+v", last)
	}
	if l := got.lines[4]; *l.OursMinor != 0 || *l.TheirsMinor != price {
		t.Errorf("the returned one: %+v", l)
	}
	tallies := fmt.Sprint(got.Result.Tallies)
	wantTallies := fmt.Sprint([]reconcile.Tally{
		{"amount_differs", "GBP", 2, 2*price - 250, 2 * price},
		{"amount_differs", "EUR", 1, price, 0},
		{"unknown", "GBP", 3, 100 + 2*price, 0},
		{"duplicate", "GBP", 2, price - 1 + 100, 0},
		{"missing", "GBP", 1, 0, price},
		{"outside_period", "GBP", 1, price, price},
		{"unreadable", "", 6, 0, 0},
		{"matched", "GBP", 3, 3*price - 100, 3*price - 100},
	})
	if tallies != wantTallies || got.Result.Rows != 18 || got.State != models.ReconciliationCompared ||
		!got.AsOf.Equal(o.Time.Now()) {
		t.Errorf("tallies\n%s, want\n%s; %d rows, %s", tallies, wantTallies, got.Result.Rows, got.State)
	}
	for _, l := range o.lines(t, scope.Partners(acme.ID), got.ID) {
		if l.OtherPartner != "" || l.ReconciliationLine.OtherPartner != nil {
			t.Errorf("who may not see beta sees that it is theirs: %+v", l)
		}
	}
}

func told(l reconcile.Line) string {
	var b strings.Builder
	if l.FileRow != nil {
		fmt.Fprintf(&b, "%d ", *l.FileRow)
	}
	b.WriteString(string(l.Finding))
	if l.FirstRow != nil {
		fmt.Fprintf(&b, " of %d", *l.FirstRow)
	}
	for _, more := range []string{l.Problem, l.OtherPartner} {
		if more != "" {
			b.WriteString(" " + more)
		}
	}
	return b.String()
}

// Two errors that cancel out are two findings.
func TestErrorsThatCancelOut(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	one, price := o.deliver(t, acme, 0)
	two, _ := o.deliver(t, acme, 0)
	got := o.compare(t, o.upload(t, acme.ID, "leadId;amount",
		leadID(one)+";"+strings.ReplaceAll(decimal(price+5), ".", ","),
		leadID(two)+";"+strings.ReplaceAll(decimal(price-5), ".", ",")),
		reconcile.Mapping{LeadID: "leadId", Amount: "amount", Fixed: money.GBP, Numbers: reconcile.CommaDecimal}, 2)
	if len(got.Result.Tallies) != 1 || got.Result.Tallies[0] != (reconcile.Tally{Finding: models.AmountDiffers, Currency: "GBP", Lines: 2, Theirs: 2 * price, Ours: 2 * price}) {
		t.Errorf("%+v", got.Result.Tallies)
	}
}

func TestMappingsThatAreRejected(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme, beta := o.AddPartner(t, "acme", models.SigningRequired), o.AddPartner(t, "beta", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency,date", leadID(uuid.New())+",1,GBP,2026-01-01")
	good := inColumns
	with := func(change func(*reconcile.Mapping)) reconcile.Mapping { m := good; change(&m); return m }
	for name, c := range map[string]struct {
		m        reconcile.Mapping
		from, to time.Time
		fields   string
	}{
		"nothing":        {fields: "lead_id amount currency numbers from to"},
		"another column": {with(func(m *reconcile.Mapping) { m.LeadID = "id" }), january(1), january(2), "lead_id"},
		"amounts, too":   {with(func(m *reconcile.Mapping) { m.Currency = "amount" }), january(1), january(2), "currency"},
		"leadIds, too":   {with(func(m *reconcile.Mapping) { m.Currency = "leadId" }), january(1), january(2), "currency"},
		"one column":     {with(func(m *reconcile.Mapping) { m.Amount = "leadId" }), january(1), january(2), "amount"},
		"two currencies": {with(func(m *reconcile.Mapping) { m.Fixed = money.GBP }), january(1), january(2), "fixed"},
		"no currency":    {with(func(m *reconcile.Mapping) { m.Currency, m.Fixed = "", 9 }), january(1), january(2), "fixed"},
		"no form":        {with(func(m *reconcile.Mapping) { m.Numbers = "1" }), january(1), january(2), "numbers"},
		"no form of day": {with(func(m *reconcile.Mapping) { m.Date = "date" }), january(1), january(2), "dates"},
		"no such date":   {with(func(m *reconcile.Mapping) { m.Date = "day" }), january(1), january(2), "date"},
		"no end":         {good, january(1), time.Time{}, "to"},
		"backwards":      {good, january(2), january(1), "to"},
	} {
		var fields []string
		f := apperr.As(o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, c.m, c.from, c.to))
		if f != nil {
			for _, field := range f.Fields {
				fields = append(fields, field.Path[0])
			}
		}
		if f == nil || strings.Join(fields, " ") != c.fields {
			t.Errorf("%s: %v, want %s", name, fields, c.fields)
		}
	}
	for name, c := range map[string]struct {
		err  error
		code apperr.Code
	}{
		"in another's scope": {o.Compare(t.Context(), scope.Partners(beta.ID), r.ID, r.RowVersion, good, january(1),
			january(2)), apperr.NotFound},
		"what is not": {o.Compare(t.Context(), scope.Everywhere, uuid.New(), 1, good, january(1), january(2)), apperr.NotFound},
		"stale": {o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion+1, good, january(1),
			january(2)), apperr.Conflict},
		"not compared": {o.Save(t.Context(), scope.Everywhere, r.ID, r.RowVersion), apperr.Conflict},
	} {
		if f := apperr.As(c.err); f == nil || f.Code != c.code {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if got := o.get(t, r.ID); got.State != models.ReconciliationUploaded || got.RowVersion != r.RowVersion {
		t.Errorf("%s, version %d", got.State, got.RowVersion)
	}
}

// From a dry run to the result: compared twice, kept, and then as it is for good.
func TestUploadCompareSave(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	one, price := o.deliver(t, acme, 0)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(one)+","+decimal(price)+",GBP", leadID(uuid.New())+",1,GBP")
	o.works(t)
	if err := o.Compare(t.Context(), scope.Partners(acme.ID), r.ID, r.RowVersion, inColumns, january(1), january(31)); err != nil {
		t.Fatal(err)
	}
	if err := o.Compare(t.Context(), scope.Partners(acme.ID), r.ID, r.RowVersion, inColumns, january(1), january(31)); apperr.As(err) == nil {
		t.Errorf("twice at once: %v", err)
	}
	compared := func() bool { return o.get(t, r.ID).State == models.ReconciliationCompared }
	testkit.Eventually(t, time.Minute, "it is compared", compared)
	first := o.get(t, r.ID)
	if err := o.Compare(t.Context(), scope.Partners(acme.ID), r.ID, first.RowVersion, inColumns, january(3), january(31)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "it is compared again", compared)
	r = o.get(t, r.ID)
	if lines := o.lines(t, scope.Everywhere, r.ID); len(lines) != 2 || lines[0].Finding != models.OutsidePeriod {
		t.Errorf("the second comparison: %+v", lines)
	}
	if err := o.Save(t.Context(), scope.Everywhere, r.ID, r.RowVersion); err != nil {
		t.Fatal(err)
	}
	r = o.get(t, r.ID)
	if r.State != models.ReconciliationKept || r.Keeper != o.who.Name || r.FileID != nil ||
		testkit.Value[int64](t, o.DB, `SELECT count(*) FROM files`) != 0 {
		t.Errorf("%+v", r)
	}
	for name, err := range map[string]error{
		"compared":  o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2)),
		"kept":      o.Save(t.Context(), scope.Everywhere, r.ID, r.RowVersion),
		"discarded": o.Discard(t.Context(), scope.Everywhere, r.ID, r.RowVersion),
	} {
		if f := apperr.As(err); f == nil || f.Code != apperr.Conflict {
			t.Errorf("%s once kept: %v", name, err)
		}
	}
	next := o.upload(t, acme.ID, "leadId,amount,currency", leadID(one)+",1,GBP")
	if s, err := o.Suggest(t.Context(), next); err != nil || !s.Remembered || s.Mapping != inColumns {
		t.Errorf("the next list: %+v, %v", s, err)
	}
	if other := o.upload(t, acme.ID, "leadId,amount,ccy", leadID(one)+",1,GBP"); second(o.Suggest(t.Context(), other)) != nil || first2(o.Suggest(t.Context(), other)).Remembered {
		t.Error("a list of other columns remembers it")
	}
}

func first2[T any](v T, _ error) T { return v }

func TestDiscard(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme, beta := o.AddPartner(t, "acme", models.SigningRequired), o.AddPartner(t, "beta", models.SigningRequired)
	got := o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP"), inColumns, 2)
	if f := apperr.As(o.Discard(t.Context(), scope.Partners(beta.ID), got.ID, got.RowVersion)); f == nil ||
		f.Code != apperr.NotFound {
		t.Errorf("another's: %v", f)
	}
	if err := o.Discard(t.Context(), scope.Everywhere, got.ID, got.RowVersion); err != nil {
		t.Fatal(err)
	}
	if got = (comparison{o.get(t, got.ID), o.lines(t, scope.Everywhere, got.ID)}); got.State != models.ReconciliationDiscarded || len(got.lines) != 0 || got.FileID != nil || got.Result != nil || got.Mapping != nil {
		t.Errorf("%+v", got)
	}
}

// A file that has gone is told as such, and the list can be given again.
func TestFileThatHasGone(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	r := o.upload(t, acme.ID, "leadId,amount,currency", leadID(uuid.New())+",1,GBP")
	o.Time.Advance(8 * 24 * time.Hour)
	compare := func() *apperr.Error {
		r = o.get(t, r.ID)
		return apperr.As(o.CompareNow(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1),
			january(2), func(string, int64, int64) {}))
	}
	if f := compare(); f == nil || f.Reason != "file_gone" {
		t.Errorf("expired: %v", f)
	}
	if _, err := o.cab.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := compare(); f == nil || f.Reason != "file_gone" || o.get(t, r.ID).State != models.ReconciliationUploaded {
		t.Errorf("deleted: %v, %s", f, o.get(t, r.ID).State)
	}
}
