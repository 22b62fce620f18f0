package erasure_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/models"
)

// TestErasureKeepsUnrelatedLedgerExports checks that an erasure deletes only the prepared exports of the
// ledger that can contain a text about the lead: a note on an entry, or the partner's reference and subId.
func TestErasureKeepsUnrelatedLedgerExports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare  func(r rig, t *testing.T, lead uuid.UUID)
		accruals bool // whether the accrual contains a text
		returns  bool // whether the return contains a text
	}{
		"a note": {func(r rig, t *testing.T, lead uuid.UUID) { r.AddNotes(t, lead) }, false, true},
		"a subId": {func(r rig, t *testing.T, lead uuid.UUID) {
			r.DB.Exec(t, `UPDATE leads SET sub_id = 'ada-byron' WHERE id = $1`, lead)
		}, true, false},
		"no text": {func(rig, *testing.T, uuid.UUID) {}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := rig{leadkit.New(t)}
			lead := r.Deliver(t, leadkit.Contact)
			r.DB.Exec(t, `UPDATE leads SET partner_reference = '', sub_id = '' WHERE id = $1`, lead)
			c.prepare(r, t, lead)
			partner := testkit.Value[uuid.UUID](t, r.DB, `SELECT partner_id FROM leads WHERE id = $1`, lead)
			account := testkit.Value[uuid.UUID](t, r.DB, `SELECT account_id FROM leads WHERE id = $1`, lead)
			at := testkit.Value[time.Time](t, r.DB, `SELECT received_at FROM leads WHERE id = $1`, lead)
			code := testkit.Value[string](t, r.DB, `SELECT currency::text FROM leads WHERE id = $1`, lead)
			currency, err := money.ParseCurrency(code)
			if err != nil {
				t.Fatal(err)
			}
			text := c.accruals || c.returns
			type expected struct {
				what     string
				filter   payouts.Filter
				partners []uuid.UUID
				contains bool
			}
			exports := map[uuid.UUID]expected{}
			for _, e := range []expected{
				{"everything", payouts.Filter{}, nil, text},
				{"only open entries", payouts.Filter{Open: true}, nil, text},
				{"the partner", payouts.Filter{Partner: partner}, nil, text},
				{"the account", payouts.Filter{Account: account}, nil, text},
				{"the lead", payouts.Filter{Lead: lead}, nil, text},
				{"the currency", payouts.Filter{Currency: currency}, nil, text},
				{"the period", payouts.Filter{From: at, To: at.Add(time.Second)}, nil, text},
				{"accruals", payouts.Filter{Kind: models.EntryAccrual}, nil, c.accruals},
				{"returns", payouts.Filter{Kind: models.EntryReturn}, nil, c.returns},
				{"a user of the partner", payouts.Filter{}, []uuid.UUID{uuid.New(), partner}, text},
				{"a user of another partner", payouts.Filter{}, []uuid.UUID{uuid.New()}, false},
				{"another partner", payouts.Filter{Partner: uuid.New()}, nil, false},
				{"another account", payouts.Filter{Account: uuid.New()}, nil, false},
				{"another lead", payouts.Filter{Lead: uuid.New()}, nil, false},
				{"a run without the account", payouts.Filter{Run: uuid.New()}, nil, false},
				{"another currency", payouts.Filter{Currency: currency%money.AUD + 1}, nil, false},
				{"an earlier period", payouts.Filter{To: at}, nil, false},
				{"a later period", payouts.Filter{From: at.Add(time.Millisecond)}, nil, false},
				{"payments", payouts.Filter{Kind: models.EntryPayment}, nil, false},
			} {
				exports[r.AddLedgerExport(t, e.filter, e.partners)] = e
			}
			if _, err := r.Erase(t, lead); err != nil {
				t.Fatal(err)
			}
			for file, e := range exports {
				kept := testkit.Value[int](t, r.DB, `SELECT count(*) FROM files WHERE id = $1`, file) == 1
				if kept == e.contains {
					t.Errorf("export of %s: kept = %t, want %t", e.what, kept, !e.contains)
				}
			}
		})
	}
}

// prepareExports runs jobs until the test ends. The returned function requests an export of the whole ledger. It
// returns a function that waits for the file and returns its text, or "" if the file was deleted afterwards.
func (r rig) prepareExports(t *testing.T) (request func() (await func() string)) {
	t.Helper()
	log, _ := testkit.NewLog()
	queue := jobs.NewQueue(r.DB.DB, r.Time, log)
	s := payouts.NewService(r.DB.DB, r.Time, queue, blobstore.NewStore(r.DB.DB, r.Keys, r.Time),
		payouts.Policy{ExportRetention: 24 * time.Hour}).By(r.User)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); queue.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return func() func() string {
		t.Helper()
		e, err := s.RequestExport(ctx, scope.Everywhere, payouts.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return func() string {
			t.Helper()
			testkit.Eventually(t, time.Minute, "the export is written", func() bool {
				return testkit.Value[string](t, r.DB, `SELECT state FROM jobs WHERE object_id = $1`, e.ID) == "done"
			})
			if e, err = s.Export(ctx, e.ID); err != nil || e.FileID == nil {
				return ""
			}
			file, err := s.OpenExport(ctx, scope.Everywhere, e)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(file)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

// A ledger export does not contain a text that was redacted or erased while the export was written.
func TestTextIsRemovedWhileLedgerExportIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(r rig, t *testing.T, lead uuid.UUID) (remove func() error)
		paused  string // what the export does when the text is removed
	}{
		"redaction":                {redactText, "INSERT ON file_parts"},
		"redaction, already begun": {redactText, "UPDATE ON ledger_notes"},
		"erasure":                  {eraseText, "INSERT ON file_parts"},
		"erasure, already begun":   {eraseText, "UPDATE ON leads"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig{leadkit.New(t)}
			lead := r.Deliver(t, leadkit.Contact)
			remove := c.prepare(r, t, lead)
			request := r.prepareExports(t)
			if text := request()(); !strings.Contains(text, "byron") {
				t.Fatalf("the export does not contain the text: %s", text)
			}
			resume := r.PauseAfter(t, c.paused)
			var all sync.WaitGroup
			removed := make(chan struct{})
			start := func() {
				all.Go(func() {
					defer close(removed)
					if err := remove(); err != nil {
						t.Error(err)
					}
				})
			}
			var await func() string
			if c.paused == "INSERT ON file_parts" {
				await = request()
				r.AwaitWaiting(t, 1) // the ledger has been read
				start()
				testkit.Eventually(t, time.Minute, "the text is removed, or the removal waits for the export", func() bool {
					select {
					case <-removed:
						return true
					default:
						return r.waitingForLocks(t) == 2
					}
				})
			} else {
				start()
				r.AwaitWaiting(t, 1)
				await = request()
				testkit.Eventually(t, time.Minute, "the export is written, or waits for the removal", func() bool {
					return r.waitingForLocks(t) == 2 || testkit.Value[bool](t, r.DB,
						`SELECT NOT EXISTS (SELECT FROM jobs WHERE state <> 'done')`)
				})
			}
			resume()
			all.Wait()
			if text := await(); strings.Contains(text, "byron") {
				t.Errorf("the export contains the text: %s", text)
			}
			if text := request()(); strings.Contains(text, "byron") || !strings.Contains(text, "lead_id") {
				t.Errorf("the next export is %s", text)
			}
		})
	}
}

func redactText(r rig, t *testing.T, _ uuid.UUID) func() error {
	t.Helper()
	entry := r.AddLedgerEntry(t, models.EntryAdjustment, "ad_1", "refund for byron", nil)
	return func() error { return r.Notes.Redact(t.Context(), scope.Everywhere, entry) }
}

func eraseText(r rig, t *testing.T, lead uuid.UUID) func() error {
	t.Helper()
	r.DB.Exec(t, `UPDATE leads SET sub_id = 'byron' WHERE id = $1`, lead)
	return func() error { _, err := r.Erase(t, lead); return err }
}

// waitingForLocks returns the number of transactions that wait for locks.
func (r rig) waitingForLocks(t *testing.T) int {
	t.Helper()
	return testkit.Value[int](t, r.DB,
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
}
