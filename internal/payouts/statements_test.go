package payouts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// The statements of a run whose preparation was cancelled are not shown, because they are incomplete.
func TestCancelledPreparationShowsNoStatements(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.deliver(t, tr.Required, "GB")
	ctx := t.Context()
	r, err := tr.dmitri.BeginRun(ctx, scope.Everywhere, payouts.NewRun{Currency: money.GBP, Cutoff: tr.Time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	tr.DB.Exec(t, `INSERT INTO statements (run_id, account_id, partner_id, outcome, entries, accrued_minor, returned_minor, adjusted_minor, net_minor)
		VALUES ($1, $2, $3, 'pays', 1, 5, 0, 0, 5)`, r.ID, tr.Required.Accounts[0].ID, tr.Required.ID)
	w, _, err := tr.queue.Latest(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.queue.Cancel(ctx, scope.Everywhere, tr.dmitri.who, w.ID); err != nil {
		t.Fatal(err)
	}
	if got := tr.get(t, r).State; got != models.RunCancelled {
		t.Fatalf("got state %s, want cancelled", got)
	}
	if all, _, _, err := tr.Statements(ctx, scope.Everywhere,
		payouts.StatementQuery{Run: r.ID, Page: postgres.Page[string]{Size: 10}}); err != nil || len(all) != 0 {
		t.Errorf("got statements %+v and error %v, want none", all, err)
	}
	_, err = tr.PartnerStatement(ctx, scope.Everywhere, r.ID, tr.Required.ID)
	rejected(t, "the partner's statement", err, apperr.NotFound, "statement")
	if all, err := tr.RunsOf(ctx, scope.Everywhere, tr.Required.ID, 10); err != nil || len(all) != 0 {
		t.Errorf("got runs %v for the partner and error %v, want none", all, err)
	}
}

// RunsOf lists each run once for a partner with several accounts, and omits cancelled runs.
func TestRunsOf(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	ctx := t.Context()
	tr.DB.Exec(t, `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
		SELECT gen_random_uuid(), $1, 'many-' || n, 'Many', false, false, 'active', 'inherit', now(), now() FROM generate_series(1, 5) n`, tr.Required.ID)
	var paid []uuid.UUID
	for run := range 3 {
		tr.DB.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, kind, reference, amount_minor, currency, occurred_at)
			SELECT partner_id, id, 'adjustment', identifier || '/' || $1::int, 5, 'GBP', $2 FROM accounts WHERE name = 'Many'`, run, tr.Time.Now())
		tr.Time.Advance(time.Hour)
		r := tr.run(t, money.GBP, 0)
		if run == 1 {
			if err := tr.dmitri.CancelRun(ctx, scope.Everywhere, r.ID, r.RowVersion, "a mistake"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		paid = append([]uuid.UUID{tr.pay(t, r).ID}, paid...)
	}
	if all, err := tr.RunsOf(ctx, scope.Partners(tr.Required.ID), tr.Required.ID, 2); err != nil ||
		!slices.Equal(all, paid) {
		t.Errorf("got %v and error %v, want %v", all, err, paid)
	}
	_, err := tr.RunsOf(ctx, scope.Partners(tr.Off.ID), tr.Required.ID, 2)
	rejected(t, "with another partner's scope", err, apperr.NotFound, "statement")
}
