package payouts_test

import (
	"bytes"
	"encoding/csv"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func page(size int) postgres.Page { return postgres.Page{Size: size} }

// sandboxQuote is a quote of the sandbox account of the partner that signatures are
// required of.
func (tr *paidLedger) sandboxQuote(t testing.TB) string {
	t.Helper()
	r, err := tr.in.Ping(intake.PingRequest{
		ID:   uuid.New(),
		Slug: tr.Required.Slug,
		Body: []byte(`{"industry":"plumber","postcode":"SW1A 1AA"}`),
	})
	if err != nil || !r.Accepted {
		t.Fatalf("a ping: %+v, %v", r, err)
	}
	return string(r.TransactionID)
}

func TestTheLedgerByFilter(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.works(t)
	ctx := t.Context()
	a := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	b := tr.deliver(t, tr.Off, "DE")
	tr.Time.Advance(time.Hour)
	r := tr.pays(t, tr.run(t, money.GBP, 0))
	c := tr.deliver(t, tr.Required, "GB")
	began := testkit.Began()
	lead := func(d delivered) string { return id.Format(id.Lead, d.lead) }
	for name, one := range map[string]struct {
		sc   scope.Scope
		f    payouts.Filter
		want []string // leads, or kinds, the newest first
	}{
		"everything":            {scope.Everywhere, payouts.Filter{}, []string{lead(c), "payment", lead(b), lead(a)}},
		"a partner":             {scope.Everywhere, payouts.Filter{Partner: tr.Off.ID}, []string{lead(b)}},
		"an account":            {scope.Everywhere, payouts.Filter{Account: tr.Required.Accounts[0].ID}, []string{lead(c), "payment", lead(a)}},
		"a currency":            {scope.Everywhere, payouts.Filter{Currency: money.EUR}, []string{lead(b)}},
		"a kind":                {scope.Everywhere, payouts.Filter{Kind: models.EntryPayment}, []string{"payment"}},
		"a kind that is none":   {scope.Everywhere, payouts.Filter{Kind: "x' OR true --"}, nil},
		"a lead":                {scope.Everywhere, payouts.Filter{Lead: b.lead}, []string{lead(b)}},
		"a run":                 {scope.Everywhere, payouts.Filter{Run: r.ID}, []string{"payment", lead(a)}},
		"in no run":             {scope.Everywhere, payouts.Filter{Open: true}, []string{lead(c), lead(b)}},
		"from, which is in":     {scope.Everywhere, payouts.Filter{From: began.Add(time.Hour)}, []string{lead(c), "payment", lead(b)}},
		"to, which is not":      {scope.Everywhere, payouts.Filter{To: began.Add(time.Hour)}, []string{lead(a)}},
		"the scope":             {scope.Partners(tr.Off.ID), payouts.Filter{}, []string{lead(b)}},
		"what is not in scope":  {scope.Partners(tr.Off.ID), payouts.Filter{Partner: tr.Required.ID}, nil},
		"a scope of nobody":     {scope.Partners(), payouts.Filter{}, nil},
		"another partner's run": {scope.Partners(tr.Off.ID), payouts.Filter{Run: r.ID}, nil},
	} {
		all, newer, older, err := tr.Entries(ctx, one.sc, one.f, page(10))
		var got []string
		for _, e := range all {
			if e.LeadID == nil {
				got = append(got, string(e.Kind))
				continue
			}
			got = append(got, id.Format(id.Lead, *e.LeadID))
		}
		if err != nil || newer || older || !slices.Equal(got, one.want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, one.want)
		}
		if n, more, err := tr.Count(ctx, one.sc, one.f, 100); err != nil || more || n != int64(len(one.want)) {
			t.Errorf("%s: counted as %d (%v)", name, n, err)
		}
		var streamed []string
		var file bytes.Buffer
		if rows, err := tr.CSV(ctx, one.sc, one.f, &file, atOnce); err != nil || rows != int64(len(one.want)) {
			t.Errorf("%s: %d rows are exported (%v)", name, rows, err)
		}
		records, err := csv.NewReader(&file).ReadAll()
		if err != nil || !slices.Equal(records[0], payouts.Columns) {
			t.Fatalf("%s: %v (%v)", name, records, err)
		}
		for _, record := range records[1:] {
			if streamed = append(streamed, record[0]); record[0] == "" {
				streamed[len(streamed)-1] = record[4]
			}
		}
		slices.Reverse(streamed)
		if !slices.Equal(streamed, one.want) {
			t.Errorf("%s: exported as %v", name, streamed)
		}
	}
	if n, more, err := tr.Count(ctx, scope.Everywhere, payouts.Filter{}, 2); n != 2 || !more || err != nil {
		t.Errorf("counted up to 2: %d, %t (%v)", n, more, err)
	}
	first, _, older, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{}, page(2))
	if err != nil || len(first) != 2 || !older {
		t.Fatalf("%v %v", first, err)
	}
	next, newer, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{}, postgres.Page{Size: 2, OlderThan: first[1].ID})
	if err != nil || len(next) != 2 || !newer || *next[1].LeadID != a.lead ||
		next[1].TransactionID != a.transaction || next[1].Run != r.ID || next[1].RunState != models.RunPaid {
		t.Errorf("the next page: %+v (%v)", next, err)
	}
	back, _, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{}, postgres.Page{Size: 2, NewerThan: next[0].ID})
	if err != nil || len(back) != 2 || back[0].ID != first[0].ID {
		t.Errorf("and back: %+v (%v)", back, err)
	}
}

func TestSandboxLeadsAreInNoBalance(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	if _, err := tr.post(t, tr.Required, 1, tr.sandboxQuote(t)); err != nil {
		t.Fatal(err)
	}
	page, err := tr.Balances(t.Context(), scope.Everywhere, "", "", 10)
	if err != nil || len(page.Balances) != 0 {
		t.Errorf("%+v (%v)", page, err)
	}
}

func TestBalancesByPage(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	for _, by := range []testkit.Partner{tr.Required, tr.ReportOnly, tr.Off} {
		tr.deliver(t, by, "GB")
	}
	tr.deliver(t, tr.Off, "DE")
	ctx := t.Context()
	slugs := func(p payouts.BalancePage) string {
		var all []string
		for _, b := range p.Balances {
			all = append(all, b.Partner+" "+b.Currency.String())
		}
		return strings.Join(all, ", ")
	}
	first, err := tr.Balances(ctx, scope.Everywhere, "", "", 2)
	if err != nil || slugs(first) != "harbour-leads GBP, meadow-media GBP" || first.Before != "" ||
		first.After != "meadow-media" {
		t.Fatalf("%s, %+v (%v)", slugs(first), first, err)
	}
	next, err := tr.Balances(ctx, scope.Everywhere, first.After, "", 2)
	if err != nil || slugs(next) != "tinker-forms GBP, tinker-forms EUR" &&
		slugs(next) != "tinker-forms EUR, tinker-forms GBP" || next.Before != "tinker-forms" || next.After != "" {
		t.Errorf("%s, %+v (%v)", slugs(next), next, err)
	}
	back, err := tr.Balances(ctx, scope.Everywhere, "", next.Before, 2)
	if err != nil || slugs(back) != slugs(first) || back.Before != "" || back.After != "meadow-media" {
		t.Errorf("%s, %+v (%v)", slugs(back), back, err)
	}
	mine, err := tr.Balances(ctx, scope.Partners(tr.ReportOnly.ID), "", "", 9)
	if err != nil || slugs(mine) != "meadow-media GBP" {
		t.Errorf("%s (%v)", slugs(mine), err)
	}
}

// Cells that a spreadsheet would take for formulas are led by an apostrophe; amounts are
// numbers, whatever their sign.
func TestExportedCells(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	d := tr.deliver(t, tr.Required, "GB")
	for _, why := range []string{`=HYPERLINK("http://x")`, "+1", "-1", "@x", `a "quoted", one`} {
		_, err := tr.Adjust(t.Context(), scope.Everywhere, payouts.NewAdjustment{
			Own:     tr.NewAdjustmentID(),
			Account: tr.Required.Accounts[0].ID,
			Amount:  money.Amount{Minor: -5, Currency: money.GBP},
			Why:     why,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{}, &file, atOnce); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&file).ReadAll()
	if err != nil || len(records) != 7 {
		t.Fatalf("%v (%v)", records, err)
	}
	want := []string{id.Format(id.Lead, d.lead), d.transaction, "harbour-leads", "harbour-leads-main", "accrual",
		d.payout.Decimal(), "GBP", "2026-01-02T03:04:05.678Z"}
	if !slices.Equal(records[1][:8], want) {
		t.Errorf("%v, want %v", records[1][:8], want)
	}
	for i, note := range []string{`'=HYPERLINK("http://x")`, "'+1", "'-1", "'@x", `a "quoted", one`} {
		if got := records[i+2]; got[12] != note || got[5] != "-0.05" {
			t.Errorf("%q, %q, want %q", got[5], got[12], note)
		}
	}
}

// An export holds some thousand entries at a time, whatever there are.
func TestExportsAreStreamed(t *testing.T) {
	tr := newPaidLedger(t)
	const entries = 200_000
	tr.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT $1, $2, 'adjustment', 'ad_' || n, n, 'GBP', $3 FROM generate_series(1, $4::int) n`, tr.Required.ID, tr.Required.Accounts[0].ID, testkit.Began(), entries)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	parts := 0
	rows, err := tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{}, writer(func(p []byte) (int, error) {
		if parts++; parts%50 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return len(p), nil
	}), atOnce)
	if err != nil || rows != entries || most == 0 {
		t.Fatalf("%d rows in %d parts (%v)", rows, parts, err)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes more are held while %d entries are streamed", grown, entries)
	}
}

func TestAPreparedExport(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.works(t)
	ctx := t.Context()
	mine, _ := tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.Off, "GB")
	sc := scope.Partners(tr.Required.ID)
	e, err := tr.dmitri.RequestExport(ctx, sc, payouts.Filter{Currency: money.GBP})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "the export is written", func() bool {
		e, err = tr.dmitri.Export(ctx, e.ID)
		return err != nil || e.FileID != nil
	})
	if err != nil || e.Rows != 1 {
		t.Fatalf("%+v (%v)", e, err)
	}
	file, err := tr.OpenExport(ctx, sc, e)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil || !strings.Contains(string(text), id.Format(id.Lead, mine.lead)) ||
		strings.Contains(string(text), tr.Off.Slug) {
		t.Errorf("%s (%v)", text, err)
	}
	_, err = tr.fay.Export(ctx, e.ID)
	refused(t, "for somebody else", err, apperr.NotFound, "export")
	_, err = tr.OpenExport(ctx, scope.Partners(tr.Off.ID), e)
	refused(t, "for who may not see it any more", err, apperr.NotFound, "export")
	if !tr.ExportAvailable(e) {
		t.Error("the file is said not to be kept")
	}
	tr.Time.Advance(8 * 24 * time.Hour)
	if tr.ExportAvailable(e) {
		t.Error("the file is said to be kept for ever")
	}
	if n, err := tr.DeleteExpiredExports(ctx); n != 1 || err != nil {
		t.Errorf("%d went (%v)", n, err)
	}
}
