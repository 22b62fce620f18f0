package payouts_test

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
)

// Whoever reads slowly keeps no statement waiting: what is fetched is taken whole before
// the first of it is handed on. And each holds a connection, so that only a few may.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at, note)
		SELECT $1, $2, 'adjustment', 'ad_' || n, n, 'GBP', $3, repeat('x', 20000) FROM generate_series(1, 1000) n`, tr.Required.ID, tr.Required.Accounts[0].ID, testkit.Began())
	err := tr.Stream(t.Context(), scope.Everywhere, payouts.Filter{}, func(*payouts.Entry) error {
		testkit.Eventually(t, time.Minute, "no statement is under way", func() bool {
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
		for range 20 { // more than may be under way, whatever the pool
			all.Go(func() {
				_, err := tr.CSV(t.Context(), scope.Everywhere, payouts.Filter{},
					writer(func(p []byte) (int, error) { <-read; return len(p), nil }), atOnce)
				if errors.Is(err, postgres.ErrDownloads) {
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
		t.Errorf("when the others have ended: %v", err)
	}
}

func atOnce() error { return nil }

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
