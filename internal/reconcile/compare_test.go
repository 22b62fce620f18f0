package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ledger"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

var inColumns = reconcile.Mapping{
	LeadID:   "leadId",
	Amount:   "amount",
	Currency: "currency",
	Numbers:  reconcile.DotDecimal,
}

// comparison is a reconciliation with its lines.
type comparison struct {
	reconcile.Reconciliation
	lines []reconcile.Line
}

// compare compares a file with the leads in the period from 1 January to the given day of January.
func (o *reconcilePlatform) compare(
	t testing.TB, r reconcile.Reconciliation, m reconcile.Mapping, last int,
) comparison {
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
	all, _, _, err := o.Lines(t.Context(), sc,
		reconcile.LineQuery{Reconciliation: r, Page: postgres.Page[int]{Size: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func january(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }

func decimal(minor int64) string { return money.Amount{Minor: minor, Currency: money.GBP}.Decimal() }

// write writes a ledger entry.
func (o *reconcilePlatform) write(t testing.TB, e models.LedgerEntry) {
	t.Helper()
	if err := o.DB.Gorm.Create(&e).Error; err != nil {
		t.Fatal(err)
	}
}

// A file can contain the partner's references instead of leadIds, including references in the form that exports
// contain.
func TestReferencesInsteadOfLeadIDs(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired, partners.NewAccount{Identifier: "acme-1", Name: "1"})
	beta := o.AddPartner(t, "beta", models.SigningRequired, partners.NewAccount{Identifier: "beta-1", Name: "1"})
	refer := func(by testkit.Partner, reference string) (uuid.UUID, int64) {
		lead, price := o.deliver(t, by, 0)
		o.DB.Exec(t, `UPDATE leads SET partner_reference = $2 WHERE id = $1`, lead, reference)
		return lead, price
	}
	delivered, price := refer(acme, `a\"b`)
	two, _ := refer(acme, "007")
	refer(acme, "same")
	refer(acme, "same")
	refer(beta, "of-beta")
	got := o.compare(t, o.upload(t, acme.ID, "\ufeffleadId,amount,currency",
		`"a\""b",`+decimal(price)+",GBP", " '007 ,1,GBP", leadID(two)+",1,GBP", "same,1,GBP", "of-beta,1,GBP", "007,x,GBP"), inColumns, 2)
	var lines []string
	for _, l := range got.lines {
		if l.FileRow != nil {
			lines = append(lines, fmt.Sprintf("%d %s %s", *l.FileRow, l.Finding, l.Problem))
		}
	}
	want := []string{
		"2 matched ", "3 amount_differs ", "4 duplicate ", "5 unreadable reference_repeated", "6 unreadable lead_id_prefix", "7 unreadable amount",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	if l := got.lines[0]; *l.LeadID != delivered || l.Lead.PartnerReference != `a\"b` {
		t.Errorf("got line %+v", l)
	}
}

// A file can contain transactionIds instead of leadIds.
func TestTransactionIDsInsteadOfLeadIDs(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired, partners.NewAccount{Identifier: "acme-1", Name: "1"})
	delivered, price := o.deliver(t, acme, 0)
	two, _ := o.deliver(t, acme, 0)
	transaction := func(lead uuid.UUID) string {
		return testkit.Value[string](t, o.DB, `SELECT transaction_id FROM leads WHERE id = $1`, lead)
	}
	mapping := inColumns
	mapping.LeadID = "transactionId"
	got := o.compare(t, o.upload(t, acme.ID, "transactionId,amount,currency",
		transaction(delivered)+","+decimal(price)+",GBP",
		" "+transaction(two)+",1,GBP"), mapping, 2)
	var lines []string
	for _, l := range got.lines {
		lines = append(lines, fmt.Sprintf("%d %s %s", *l.FileRow, l.Finding, leadID(*l.LeadID)))
	}
	if want := []string{"2 matched " + leadID(delivered), "3 amount_differs " + leadID(two)}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
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
	late, price := o.deliver(t, acme, 0) // 2 January
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
	outside, _ := o.deliver(t, acme, 0) // 3 January
	account := acme.Accounts[0].ID
	o.write(t, ledger.Return(models.Return{
		PartnerID:   acme.ID,
		AccountID:   account,
		LeadID:      returned,
		AmountMinor: price,
		Currency:    "GBP",
	}, "x", o.Time.Now()))
	o.write(t, ledger.Adjustment(models.Adjustment{
		ID:          uuid.New(),
		PartnerID:   acme.ID,
		AccountID:   account,
		LeadID:      &adjusted,
		AmountMinor: -100,
		Currency:    "GBP",
	}, "x", "x", o.Time.Now()))

	unknown := uuid.New()
	row := func(lead uuid.UUID, minor int64, currency string) string {
		return leadID(lead) + "," + decimal(minor) + "," + currency
	}
	got := o.compare(t, o.upload(t, acme.ID, "leadId,amount,currency",
		row(even, price, "GBP"),                                // 2 matched
		"  "+strings.ToLower(row(even, price, "gbp")),          // 3 duplicate
		row(less, price-250, "GBP"),                            // 4 amount_differs
		"",                                                     // 5 blank
		row(foreign, price, "EUR"),                             // 6 amount_differs, currency
		row(returned, price, "GBP"),                            // 7 amount_differs: ours is 0
		row(adjusted, price-100, "GBP"),                        // 8 matched
		row(unknown, 100, "GBP"),                               // 9 unknown
		row(unknown, 100, "GBP"),                               // 10 duplicate
		row(theirs, price, "GBP"),                              // 11 unknown, of another partner
		row(sandbox, price, "GBP"),                             // 12 unknown
		row(outside, price, "GBP"),                             // 13 outside_period
		leadID(broken)+",12.345,GBP",                           // 14 unreadable, with a readable leadId
		leadID(broken)[:20]+",12.34,GBP",                       // 15 unreadable
		row(late, price, "XYZ"),                                // 16 unreadable
		row(late, price, "GBP"),                                // 17 matched, because row 16 is unreadable
		"=cmd(),1,GBP", leadID(late)+",£1,EUR", "Total,12,GBP", // 18 to 20 unreadable
	), inColumns, 2)
	want := []string{
		"2 matched", "3 duplicate of 2", "4 amount_differs", "6 amount_differs currency", "7 amount_differs", "8 matched", "9 unknown", "10 duplicate of 9",
		"11 unknown beta", "12 unknown", "13 outside_period", "14 unreadable amount_decimals", "15 unreadable lead_id_length", "16 unreadable currency_unknown", "17 matched",
		"18 unreadable formula", "19 unreadable amount_currency", "20 unreadable lead_id_prefix", "missing",
	}
	var findings []string
	for i, l := range got.lines {
		if l.Line != i+1 {
			t.Errorf("line %d has number %d", i+1, l.Line)
		}
		findings = append(findings, findingText(l))
	}
	if !slices.Equal(findings, want) {
		t.Errorf("findings:\n%s\nwant:\n%s", strings.Join(findings, "\n"), strings.Join(want, "\n"))
	}
	last := got.lines[len(got.lines)-1]
	if *last.LeadID != missing || *last.LedgerMinor != price || last.Account != "acme-1" ||
		!last.ReceivedAt.Equal(testkit.StartTime()) {
		t.Errorf("line of the missing lead: %+v", last)
	}
	if l := got.lines[4]; *l.LedgerMinor != 0 || *l.FileMinor != price {
		t.Errorf("line of the returned lead: %+v", l)
	}
	tallies := fmt.Sprint(got.Result.Tallies)
	wantTallies := fmt.Sprint([]reconcile.Tally{
		{"amount_differs", "GBP", 2, 2*price - 250, 2 * price},
		{"amount_differs", "EUR", 1, price, 0},
		{"unknown", "GBP", 3, 100 + 2*price, 0},
		{"duplicate", "GBP", 2, price + 100, 0},
		{"missing", "GBP", 1, 0, price},
		{"outside_period", "GBP", 1, price, price},
		{"unreadable", "", 6, 0, 0},
		{"matched", "GBP", 3, 3*price - 100, 3*price - 100},
	})
	if tallies != wantTallies || got.Result.Rows != 18 || got.State != models.ReconciliationCompared ||
		!got.AsOf.Equal(o.Time.Now()) {
		t.Errorf("tallies\n%s, want\n%s; got %d rows, state %s", tallies, wantTallies, got.Result.Rows, got.State)
	}
	for _, l := range o.lines(t, scope.Partners(acme.ID), got.ID) {
		if l.OtherPartner != "" || l.ReconciliationLine.OtherPartner != nil {
			t.Errorf("a scope without beta shows that beta owns the lead: %+v", l)
		}
	}
}

// The amounts of a lead's rows are added. Rows with the same amount or another currency are duplicates.
func TestSeveralRowsOfALead(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	lead, price := o.deliver(t, acme, 0)
	returned, _ := o.deliver(t, acme, 0)
	o.write(t, ledger.Return(models.Return{
		PartnerID: acme.ID, AccountID: acme.Accounts[0].ID, LeadID: returned, AmountMinor: price, Currency: "GBP",
	}, "x", o.Time.Now()))
	unknown := uuid.New()
	row := func(lead uuid.UUID, minor int64, currency string) string {
		return leadID(lead) + "," + decimal(minor) + "," + currency
	}
	for name, c := range map[string]struct {
		rows, findings []string
		matched        int64 // the file's total of matched lines
	}{
		"payout and reversal": {
			[]string{row(lead, price, "GBP"), row(returned, price, "GBP"), row(returned, -price, "GBP")},
			[]string{"2 matched", "3 matched sum_of_rows", "4 not_compared of 3 part_of_sum"}, price,
		},
		"reversal first": {
			[]string{row(returned, -price, "GBP"), row(lead, price, "GBP"), row(returned, price, "GBP")},
			[]string{"2 matched sum_of_rows", "3 matched", "4 not_compared of 2 part_of_sum"}, price,
		},
		"the same amount twice": {
			[]string{row(lead, price, "GBP"), row(returned, 0, "GBP"), row(lead, price, "GBP"), row(lead, price, "GBP")},
			[]string{"2 matched", "3 matched", "4 duplicate of 2", "5 duplicate of 2"}, price,
		},
		"parts and a repeated part": {
			[]string{row(lead, price-10, "GBP"), row(lead, 10, "GBP"), row(lead, 10, "GBP"), row(returned, 0, "GBP")},
			[]string{"2 matched sum_of_rows", "3 not_compared of 2 part_of_sum", "4 duplicate of 3", "5 matched"}, price,
		},
		"another currency": {
			[]string{row(lead, price, "GBP"), row(lead, -price, "EUR"), row(returned, 0, "GBP")},
			[]string{"2 matched", "3 duplicate of 2", "4 matched"}, price,
		},
		"a wrong sum": {
			[]string{
				row(lead, price, "GBP"), row(lead, -1, "GBP"), row(returned, 0, "GBP"), row(unknown, 5, "GBP"),
				row(unknown, -5, "GBP"),
			},
			[]string{
				"2 amount_differs sum_of_rows", "3 not_compared of 2 part_of_sum", "4 matched",
				"5 unknown sum_of_rows", "6 not_compared of 5 part_of_sum",
			}, 0,
		},
	} {
		got := o.compare(t, o.upload(t, acme.ID, append([]string{"leadId,amount,currency"}, c.rows...)...), inColumns, 2)
		var findings []string
		for _, l := range got.lines {
			findings = append(findings, findingText(l))
		}
		if !slices.Equal(findings, c.findings) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(findings, "\n"), strings.Join(c.findings, "\n"))
		}
		for _, tally := range got.Result.Tallies {
			if tally.Finding == models.Matched && (tally.FileAmount != c.matched || tally.LedgerAmount != c.matched) {
				t.Errorf("%s: got matched totals %d and %d, want %d", name, tally.FileAmount, tally.LedgerAmount, c.matched)
			}
		}
	}
}

// A row without a lead is unreadable, unless the file is an export of the ledger.
func TestLedgerEntriesWithoutLead(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	lead, price := o.deliver(t, acme, 0)
	for name, c := range map[string]struct{ head, entry, want string }{
		"export": {
			"leadId,amount,currency,kind,occurred_at,entry", "x,x,17", "3 not_compared entry_without_lead",
		},
		"export without number": {"leadId,amount,currency,kind,occurred_at,entry", "x,x,", "3 unreadable lead_id_missing"},
		"other columns":         {"leadId,amount,currency,kind,at,entry", "x,x,17", "3 unreadable lead_id_missing"},
	} {
		got := o.compare(t,
			o.upload(t, acme.ID, c.head, leadID(lead)+","+decimal(price)+",GBP,x,x,16", ",-5.00,EUR,"+c.entry), inColumns, 2)
		if len(got.lines) != 2 || findingText(got.lines[0]) != "2 matched" || findingText(got.lines[1]) != c.want {
			t.Errorf("%s: got %v, want %s", name, got.lines, c.want)
		}
		if covered := got.Result.Covered.Currencies; !slices.Equal(covered, []string{"GBP"}) {
			t.Errorf("%s: got the currencies %v, want GBP", name, covered)
		}
	}
}

// findingText formats the row, the finding and the reason of a line.
func findingText(l reconcile.Line) string {
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

// Two wrong amounts result in two findings, even if their total is correct.
func TestReportsErrorsThatCancelOut(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	lead, price := o.deliver(t, acme, 0)
	two, _ := o.deliver(t, acme, 0)
	got := o.compare(t, o.upload(t, acme.ID, "leadId;amount",
		leadID(lead)+";"+strings.ReplaceAll(decimal(price+5), ".", ","),
		leadID(two)+";"+strings.ReplaceAll(decimal(price-5), ".", ",")),
		reconcile.Mapping{LeadID: "leadId", Amount: "amount", Fixed: money.GBP, Numbers: reconcile.CommaDecimal}, 2)
	if len(got.Result.Tallies) != 1 || got.Result.Tallies[0] != (reconcile.Tally{Finding: models.AmountDiffers, Currency: "GBP", Lines: 2, FileAmount: 2 * price, LedgerAmount: 2 * price}) {
		t.Errorf("tallies = %+v", got.Result.Tallies)
	}
}

func TestCompareRejectsInvalidMappings(t *testing.T) {
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
		"empty": {fields: "lead_id amount currency numbers from to"},
		"unknown column": {
			with(func(m *reconcile.Mapping) { m.LeadID = "id" }), january(1), january(2), "lead_id",
		},
		"amount column as currency": {
			with(func(m *reconcile.Mapping) { m.Currency = "amount" }), january(1), january(2), "currency",
		},
		"lead ID column as currency": {
			with(func(m *reconcile.Mapping) { m.Currency = "leadId" }), january(1), january(2), "currency",
		},
		"same column twice": {
			with(func(m *reconcile.Mapping) { m.Amount = "leadId" }), january(1), january(2), "amount",
		},
		"two currencies": {
			with(func(m *reconcile.Mapping) { m.Fixed = money.GBP }), january(1), january(2), "fixed",
		},
		"invalid currency": {
			with(func(m *reconcile.Mapping) { m.Currency, m.Fixed = "", 9 }), january(1), january(2), "fixed",
		},
		"invalid amount format": {
			with(func(m *reconcile.Mapping) { m.Numbers = "1" }), january(1), january(2), "numbers",
		},
		"no date format":            {with(func(m *reconcile.Mapping) { m.Date = "date" }), january(1), january(2), "dates"},
		"unknown date column":       {with(func(m *reconcile.Mapping) { m.Date = "day" }), january(1), january(2), "date"},
		"no last day":               {good, january(1), time.Time{}, "to"},
		"last day before first day": {good, january(2), january(1), "to"},
	} {
		var fields []string
		f := apperr.As(o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, c.m, c.from, c.to))
		if f != nil {
			for _, field := range f.Fields {
				fields = append(fields, field.Path[0])
			}
		}
		if f == nil || strings.Join(fields, " ") != c.fields {
			t.Errorf("%s: got errors for fields %v, want %s", name, fields, c.fields)
		}
	}
	for name, c := range map[string]struct {
		err  error
		code apperr.Code
	}{
		"other scope": {o.Compare(t.Context(), scope.Partners(beta.ID), r.ID, r.RowVersion, good, january(1),
			january(2)), apperr.NotFound},
		"unknown id": {
			o.Compare(t.Context(), scope.Everywhere, uuid.New(), 1, good, january(1), january(2)), apperr.NotFound,
		},
		"stale version": {o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion+1, good, january(1),
			january(2)), apperr.Conflict},
		"save before comparing": {o.Save(t.Context(), scope.Everywhere, r.ID, r.RowVersion), apperr.Conflict},
	} {
		if f := apperr.As(c.err); f == nil || f.Code != c.code {
			t.Errorf("%s: got %v, want %s", name, c.err, c.code)
		}
	}
	if got := o.get(t, r.ID); got.State != models.ReconciliationUploaded || got.RowVersion != r.RowVersion {
		t.Errorf("after rejected changes: got state %s and version %d, want uploaded and %d", got.State, got.RowVersion,
			r.RowVersion)
	}
}

// Users see the same message when a reconciliation or a payout run is stale.
func TestStaleMessageMatchesPayouts(t *testing.T) {
	t.Parallel()
	got := reconcile.Constraints()["reconciliations_immutable"].Message
	if want := strings.ReplaceAll(payouts.ErrStaleRun.Message, "payout run", "reconciliation"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A file can be compared several times until the result is saved. A saved result cannot be changed.
func TestUploadCompareSave(t *testing.T) {
	t.Parallel()
	o := newReconcilePlatform(t)
	acme := o.AddPartner(t, "acme", models.SigningRequired)
	lead, price := o.deliver(t, acme, 0)
	r := o.upload(t, acme.ID, "leadId,amount,currency",
		leadID(lead)+","+decimal(price)+",GBP", leadID(uuid.New())+",1,GBP")
	o.works(t)
	if err := o.Compare(t.Context(), scope.Partners(acme.ID), r.ID, r.RowVersion, inColumns, january(1),
		january(31)); err != nil {
		t.Fatal(err)
	}
	if err := o.Compare(t.Context(), scope.Partners(acme.ID), r.ID, r.RowVersion, inColumns, january(1),
		january(31)); apperr.As(err) == nil {
		t.Errorf("comparing while a comparison runs: got %v, want an error", err)
	}
	compared := func() bool { return o.get(t, r.ID).State == models.ReconciliationCompared }
	testkit.Eventually(t, time.Minute, "first comparison", compared)
	first := o.get(t, r.ID)
	if err := o.Compare(t.Context(), scope.Partners(acme.ID), r.ID, first.RowVersion, inColumns, january(3),
		january(31)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "second comparison", compared)
	r = o.get(t, r.ID)
	if lines := o.lines(t, scope.Everywhere, r.ID); len(lines) != 2 || lines[0].Finding != models.OutsidePeriod {
		t.Errorf("lines of the second comparison: %+v", lines)
	}
	if err := o.Save(t.Context(), scope.Everywhere, r.ID, r.RowVersion); err != nil {
		t.Fatal(err)
	}
	r = o.get(t, r.ID)
	if r.State != models.ReconciliationSaved || r.SavedBy != o.who.Name || r.FileID != nil ||
		testkit.Value[int64](t, o.DB, `SELECT count(*) FROM files`) != 0 {
		t.Errorf("after saving: %+v", r)
	}
	for name, err := range map[string]error{
		"compare": o.Compare(t.Context(), scope.Everywhere, r.ID, r.RowVersion, inColumns, january(1), january(2)),
		"save":    o.Save(t.Context(), scope.Everywhere, r.ID, r.RowVersion),
		"discard": o.Discard(t.Context(), scope.Everywhere, r.ID, r.RowVersion),
	} {
		if f := apperr.As(err); f == nil || f.Code != apperr.Conflict {
			t.Errorf("%s a saved reconciliation: got %v, want a conflict", name, err)
		}
	}
	next := o.upload(t, acme.ID, "leadId,amount,currency", leadID(lead)+",1,GBP")
	if s, err := o.Suggest(t.Context(), next); err != nil || !s.Remembered || s.Mapping != inColumns {
		t.Errorf("suggestion for a file with the same columns: %+v, %v", s, err)
	}
	if other := o.upload(t, acme.ID, "leadId,amount,ccy", leadID(lead)+",1,GBP"); second(o.Suggest(t.Context(), other)) != nil || first2(o.Suggest(t.Context(), other)).Remembered {
		t.Error("the mapping is suggested for a file with other columns")
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
		t.Errorf("discarding with another scope: got %v, want not found", f)
	}
	if err := o.Discard(t.Context(), scope.Everywhere, got.ID, got.RowVersion); err != nil {
		t.Fatal(err)
	}
	if got = (comparison{o.get(t, got.ID), o.lines(t, scope.Everywhere, got.ID)}); got.State != models.ReconciliationDiscarded || len(got.lines) != 0 || got.FileID != nil || got.Result != nil || got.Mapping != nil ||
		len(got.Profile.Columns) != 0 || got.Profile.Rows != 1 {
		t.Errorf("after discarding: %+v", got)
	}
}

func TestCompareReportsExpiredFile(t *testing.T) {
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
		t.Errorf("expired file: got %v, want file_gone", f)
	}
	if _, err := o.files.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := compare(); f == nil || f.Reason != "file_gone" || o.get(t, r.ID).State != models.ReconciliationUploaded {
		t.Errorf("deleted file: got %v and state %s, want file_gone", f, o.get(t, r.ID).State)
	}
}
