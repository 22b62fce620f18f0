package payouts_test

import (
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

func TestRunIsPreparedApprovedAndPaid(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	one, two, euro := tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.Off, "DE")
	tr.Time.Advance(time.Hour)
	r := tr.run(t, money.GBP, 0)
	total := one.payout.Minor + two.payout.Minor
	if r.State != models.RunPrepared || r.Payouts != 1 || r.Held != 0 || r.Entries != 2 ||
		r.TotalMinor != total || r.PreparedAt == nil {
		t.Fatalf("prepared: got %+v, want 2 leads with a total of %d", r, total)
	}
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != total {
		t.Errorf("got balance %d before payment, want %d", got, total)
	}
	ctx := t.Context()
	rejected(t, "approved by its preparer", tr.dmitri.ApproveRun(ctx, scope.Everywhere, r.ID, r.RowVersion),
		apperr.Forbidden, "same_person")
	rejected(t, "paid before it is approved", tr.dmitri.PayRun(ctx, scope.Everywhere, r.ID, r.RowVersion, "BACS"),
		apperr.Conflict, "stale")
	rejected(t, "approved by a user with one partner",
		tr.fay.ApproveRun(ctx, scope.Partners(tr.Required.ID), r.ID, r.RowVersion), apperr.NotFound, "run")
	rejected(t, "approved on the command line", tr.By(audit.Operator).ApproveRun(ctx, scope.System, r.ID, r.RowVersion),
		apperr.Forbidden, "person")
	rejected(t, "approved with an old version", tr.fay.ApproveRun(ctx, scope.Everywhere, r.ID, r.RowVersion-1), apperr.Conflict, "stale")
	if err := tr.fay.ApproveRun(ctx, scope.Everywhere, r.ID, r.RowVersion); err != nil {
		t.Fatal(err)
	}
	rejected(t, "paid without a reference", tr.dmitri.PayRun(ctx, scope.Everywhere, r.ID, r.RowVersion+1, " "),
		apperr.Invalid, "reference")
	if err := tr.dmitri.PayRun(ctx, scope.Everywhere, r.ID, r.RowVersion+1, "BACS 77"); err != nil {
		t.Fatal(err)
	}
	r = tr.get(t, r)
	if r.State != models.RunPaid || r.Reference != "BACS 77" || r.Approver != tr.fay.who.Name || r.Payer != tr.dmitri.who.Name {
		t.Errorf("paid: got %+v", r)
	}
	for name, err := range map[string]error{
		"paid again": tr.dmitri.PayRun(ctx, scope.Everywhere, r.ID, r.RowVersion, "BACS 78"),
		"cancelled":  tr.dmitri.CancelRun(ctx, scope.Everywhere, r.ID, r.RowVersion, "a mistake"),
	} {
		rejected(t, name, err, apperr.Conflict, "stale")
	}
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != 0 {
		t.Errorf("got balance %d after payment, want 0", got)
	}
	if got := tr.balance(t, tr.Off.ID, money.EUR); got != euro.payout.Minor {
		t.Errorf("got balance %d EUR, want the unchanged %d", got, euro.payout.Minor)
	}
	v, err := tr.PartnerStatement(ctx, scope.Partners(tr.Required.ID), r.ID, tr.Required.ID)
	if err != nil || len(v.Accounts) != 1 || v.Accounts[0].NetMinor != total ||
		v.Accounts[0].Outcome != models.StatementPays || v.Accounts[0].Identifier != "harbour-leads-main" {
		t.Errorf("got statement %+v and error %v", v, err)
	}
	_, err = tr.PartnerStatement(ctx, scope.Partners(tr.Off.ID), r.ID, tr.Required.ID)
	rejected(t, "the statement with another partner's scope", err, apperr.NotFound, "statement")
}

// A run that two users mark as paid at the same time is paid once.
func TestRunIsPaidOnce(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	d := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	r := tr.run(t, money.GBP, 0)
	if err := tr.fay.ApproveRun(t.Context(), scope.Everywhere, r.ID, r.RowVersion); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		user := []financeUser{tr.dmitri, tr.fay}[i%2]
		all.Go(func() { errs[i] = user.PayRun(t.Context(), scope.Everywhere, r.ID, r.RowVersion+1, "BACS 1") })
	}
	all.Wait()
	paid := 0
	for _, err := range errs {
		if err == nil {
			paid++
			continue
		}
		rejected(t, "paid twice", err, apperr.Conflict, "stale")
	}
	sums, err := tr.Sums(t.Context(), scope.Everywhere, payouts.Filter{Run: r.ID})
	if err != nil || paid != 1 || len(sums) != 1 || sums[0].Paid != -d.payout.Minor || sums[0].Owed() != 0 {
		t.Errorf("got %d successful calls, totals %+v and error %v, want 1", paid, sums, err)
	}
}
