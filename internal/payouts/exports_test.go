package payouts_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Cells that a spreadsheet would treat as formulas are prefixed with an apostrophe. Amounts are not,
// even if they are negative.
func TestExportEscapesFormulas(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	d := tr.deliver(t, tr.Required, "GB")
	notes := []struct{ entered, exported string }{
		{`=HYPERLINK("http://x")`, `'=HYPERLINK("http://x")`}, {"+1", "'+1"}, {"-1", "'-1"}, {"@x", "'@x"}, {`a "quoted", one`, `a "quoted", one`},
		{"x;=1+1", "x;'=1+1"}, {"x\n=1+1", "x\n'=1+1"}, {"＝1+1", "'＝1+1"}, {"0044", "'0044"},
	}
	for _, note := range notes {
		_, err := tr.Adjust(t.Context(), scope.Everywhere, payouts.NewAdjustment{
			ID:      tr.NewAdjustmentID(),
			Account: tr.Required.Accounts[0].ID,
			Amount:  money.Amount{Minor: -5, Currency: money.GBP},
			Reason:  note.entered,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{}, &file, atOnce); err != nil {
		t.Fatal(err)
	}
	records := testkit.Records(t, file.String())
	if len(records) != 2+len(notes) {
		t.Fatalf("got %v, want %d records", records, 2+len(notes))
	}
	want := []string{id.Format(id.Lead, d.lead), d.transaction, "harbour-leads", "harbour-leads-main", "accrual",
		d.payout.Decimal(), "GBP", "2026-01-02T03:04:05.678Z"}
	if !slices.Equal(records[1][:8], want) {
		t.Errorf("got %v, want %v", records[1][:8], want)
	}
	for i, note := range notes {
		if got := records[i+2]; got[12] != note.exported || got[5] != "-0.05" {
			t.Errorf("got amount %q and note %q, want -0.05 and %q", got[5], got[12], note.exported)
		}
	}
}

// An export keeps only one batch of entries in memory.
func TestExportsAreStreamed(t *testing.T) {
	tr := newPaidLedger(t)
	const entries = 200_000
	tr.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT $1, $2, 'adjustment', 'ad_' || n, n, 'GBP', $3 FROM generate_series(1, $4::int) n`, tr.Required.ID, tr.Required.Accounts[0].ID, testkit.StartTime(), entries)
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
		t.Fatalf("got %d rows in %d writes and error %v, want %d rows", rows, parts, err, entries)
	}
	if grown := int64(most) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes while streaming %d entries, want at most 8 MiB", grown, entries)
	}
}

func TestPreparedExport(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
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
		t.Fatalf("got %+v and error %v, want 1 row", e, err)
	}
	file, err := tr.OpenExport(ctx, sc, e)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err != nil || !strings.Contains(string(text), id.Format(id.Lead, mine.lead)) ||
		strings.Contains(string(text), tr.Off.Slug) {
		t.Errorf("got file %s and error %v", text, err)
	}
	_, err = tr.fay.Export(ctx, e.ID)
	rejected(t, "for another user", err, apperr.NotFound, "export")
	_, err = tr.OpenExport(ctx, scope.Partners(tr.Off.ID), e)
	rejected(t, "for a scope that no longer covers it", err, apperr.NotFound, "export")
	if !tr.ExportAvailable(e) {
		t.Error("ExportAvailable returned false for a new file")
	}
	tr.Time.Advance(8 * 24 * time.Hour)
	if tr.ExportAvailable(e) {
		t.Error("ExportAvailable returned true for an expired file")
	}
	if n, err := tr.DeleteExpiredExports(ctx); n != 1 || err != nil {
		t.Errorf("DeleteExpiredExports returned %d and error %v, want 1", n, err)
	}
}

// A slow reader does not use up the statement timeout, because each batch is read completely before
// it is sent. Downloads occupy connections, so only a few can run at the same time.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.DB.Exec(t, `WITH e AS (
			INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
			SELECT $1, $2, 'adjustment', 'ad_' || n, n, 'GBP', $3 FROM generate_series(1, 1000) n RETURNING id, occurred_at)
		INSERT INTO ledger_notes SELECT id, occurred_at, repeat('x', 20000) FROM e`, tr.Required.ID, tr.Required.Accounts[0].ID, testkit.StartTime())
	err := tr.Stream(t.Context(), scope.Everywhere, payouts.Filter{}, func(*payouts.Entry) error {
		testkit.Eventually(t, time.Minute, "no statement is running", func() bool {
			return testkit.Value[bool](t, tr.DB,
				`SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'FETCH %' AND state = 'idle in transaction')`)
		})
		return io.EOF
	})
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	read, full := make(chan struct{}), make(chan error)
	var all sync.WaitGroup
	_, err = tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{}, writer(func(p []byte) (int, error) {
		var begun sync.Once
		for range 20 { // more than can run at the same time
			all.Go(func() {
				_, err := tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{},
					writer(func(p []byte) (int, error) { <-read; return len(p), nil }), atOnce)
				if errors.Is(err, postgres.ErrTooManyDownloads) {
					begun.Do(func() { full <- err })
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		<-full
		return 0, io.EOF
	}), atOnce)
	close(read)
	all.Wait()
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{}, io.Discard, atOnce); err != nil {
		t.Errorf("after the other downloads have ended: got %v, want nil", err)
	}
}

func atOnce() error { return nil }

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
