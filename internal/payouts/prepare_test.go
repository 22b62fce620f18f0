package payouts_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Accounts with a negative net or a net below the minimum payout are held for a later run. Accounts
// with a net of zero are closed.
func TestRunHoldsAccounts(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	ctx := t.Context()
	small, even, negative := tr.deliver(t, tr.Required, "GB"), tr.deliver(t, tr.ReportOnly, "GB"), tr.deliver(t, tr.Off,
		"GB")
	adjust := func(p testkit.Partner, minor int64) {
		t.Helper()
		_, err := tr.Adjust(ctx, scope.Everywhere, payouts.NewAdjustment{
			ID:      tr.NewAdjustmentID(),
			Account: p.Accounts[0].ID,
			Amount:  money.Amount{Minor: minor, Currency: money.GBP},
			Reason:  "set-up fee",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	adjust(tr.ReportOnly, -even.payout.Minor)
	adjust(tr.Off, -negative.payout.Minor-500)
	tr.Time.Advance(time.Hour)
	r := tr.run(t, money.GBP, small.payout.Minor+1)
	if r.State != models.RunCancelled || r.CancelReason == "" || r.PreparedAt == nil || r.Payouts != 0 ||
		r.Held != 2 || r.TotalMinor != 0 || r.Entries != 2 {
		t.Errorf("got run %+v", r)
	}
	all, _, _, err := tr.Statements(ctx, scope.Everywhere,
		payouts.StatementQuery{Run: r.ID, Page: postgres.Page[string]{Size: 10}})
	got := map[string]models.StatementOutcome{}
	for _, s := range all {
		got[s.Partner] = s.Outcome
	}
	if err != nil || len(got) != 3 || got["harbour-leads"] != models.StatementBelowMinimum ||
		got["meadow-media"] != models.StatementEven || got["tinker-forms"] != models.StatementNegative {
		t.Errorf("got outcomes %v and error %v", got, err)
	}
	rejected(t, "a run without payments", tr.fay.ApproveRun(ctx, scope.Everywhere, r.ID, r.RowVersion), apperr.Conflict,
		"stale")
	adjust(tr.Off, 700)
	tr.Time.Advance(time.Hour)
	r = tr.pay(t, tr.run(t, money.GBP, 0))
	if r.Payouts != 2 || r.TotalMinor != small.payout.Minor+200 {
		t.Errorf("the next run: got %+v, want the held accounts paid", r)
	}
}

// A run includes entries before the cutoff of an earlier run if their transactions had not ended when
// the earlier run was prepared.
func TestRunIncludesLateEntries(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	first := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	cutoff := tr.Time.Now()
	afterCutoff := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	r := tr.pay(t, tr.prepare(t, payouts.NewRun{Currency: money.GBP, Cutoff: cutoff}))
	if r.TotalMinor != first.payout.Minor {
		t.Errorf("got total %d, want %d for the lead before the cutoff", r.TotalMinor, first.payout.Minor)
	}
	// This entry is dated before the cutoff, but is committed only now.
	late := models.LedgerEntry{
		PartnerID:   tr.Required.ID,
		AccountID:   tr.Required.Accounts[0].ID,
		Kind:        models.EntryAdjustment,
		Reference:   "ad_late",
		AmountMinor: 123,
		Currency:    "GBP",
		OccurredAt:  cutoff.Add(-time.Minute),
		Note:        "late",
	}
	if err := tr.DB.Gorm.Create(&late).Error; err != nil {
		t.Fatal(err)
	}
	if r = tr.pay(t, tr.run(t, money.GBP, 0)); r.TotalMinor != afterCutoff.payout.Minor+123 {
		t.Errorf("got total %d, want %d for the later lead and the late entry", r.TotalMinor, afterCutoff.payout.Minor+123)
	}
}

// A run without entries ends automatically and does not block the next run.
func TestRunWithoutEntriesEnds(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	r := tr.run(t, money.GBP, 0)
	if r.State != models.RunCancelled || r.PreparedAt == nil || r.Entries != 0 || r.Payouts != 0 || r.Held != 0 {
		t.Errorf("got run %+v, want cancelled and empty", r)
	}
	if waiting, err := tr.WaitingRuns(t.Context(), scope.Everywhere, tr.fay.who); err != nil || len(waiting) != 0 {
		t.Errorf("got %d runs waiting for approval and error %v, want 0", len(waiting), err)
	}
	d := tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	if r = tr.pay(t, tr.run(t, money.GBP, 0)); r.State != models.RunPaid || r.TotalMinor != d.payout.Minor {
		t.Errorf("the next run: got %+v, want paid", r)
	}
}

// The error about an open run has the id of that run.
func TestBeginRunErrorNamesOpenRun(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.runJobs(t)
	tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	first := tr.run(t, money.GBP, 0)
	_, err := tr.dmitri.BeginRun(t.Context(), scope.Everywhere, payouts.NewRun{Currency: money.GBP, Cutoff: tr.Time.Now()})
	rejected(t, "a second run", err, apperr.Conflict, "open_run")
	if f := apperr.As(err); f == nil || f.Object != payouts.RunID(first.ID) || !strings.Contains(f.Message, f.Object) {
		t.Errorf("got %+v, want an error about run %s", f, payouts.RunID(first.ID))
	}
}

func TestOneOpenRunPerCurrency(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	tr.deliver(t, tr.Required, "GB")
	tr.Time.Advance(time.Hour)
	n := payouts.NewRun{Currency: money.GBP, Cutoff: tr.Time.Now()}
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = tr.dmitri.BeginRun(t.Context(), scope.Everywhere, n) })
	}
	all.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		rejected(t, "a second run", err, apperr.Conflict, "open_run")
	}
	if made != 1 {
		t.Errorf("got %d runs, want 1", made)
	}
	n.Currency = money.EUR
	if _, err := tr.dmitri.BeginRun(t.Context(), scope.Everywhere, n); err != nil {
		t.Errorf("a run in another currency: got %v, want nil", err)
	}
}

func TestBeginRunRejectsInvalidInput(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	good := payouts.NewRun{Currency: money.GBP, Cutoff: tr.Time.Now()}
	for name, c := range map[string]struct {
		change func(*payouts.NewRun)
		reason string
	}{
		"no currency":      {func(n *payouts.NewRun) { n.Currency = 0 }, "currency"},
		"no cutoff":        {func(n *payouts.NewRun) { n.Cutoff = time.Time{} }, "cutoff"},
		"future cutoff":    {func(n *payouts.NewRun) { n.Cutoff = tr.Time.Now().Add(time.Second) }, "cutoff"},
		"minimum below 0":  {func(n *payouts.NewRun) { n.Minimum = -1 }, "minimum"},
		"minimum too high": {func(n *payouts.NewRun) { n.Minimum = payouts.MaxMinimum + 1 }, "minimum"},
		"note too long":    {func(n *payouts.NewRun) { n.Note = string(make([]byte, plaintext.MaxNote+1)) }, "note"},
		"U+0000":           {func(n *payouts.NewRun) { n.Note = "a\x00b" }, "note"},
	} {
		n := good
		c.change(&n)
		_, err := tr.dmitri.BeginRun(t.Context(), scope.Everywhere, n)
		rejected(t, name, err, apperr.Invalid, c.reason)
	}
	_, err := tr.dmitri.BeginRun(t.Context(), scope.Partners(tr.Required.ID), good)
	rejected(t, "a user with one partner", err, apperr.NotFound, "run")
	_, err = tr.FindRun(t.Context(), scope.Everywhere, uuid.New())
	rejected(t, "a run that does not exist", err, apperr.NotFound, "run")
}

// The size of a step depends on the number of entries that the last step claimed.
func TestStepSize(t *testing.T) {
	for _, c := range []struct {
		took    int
		claimed int64
		want    int
	}{
		{8, 0, 16},
		{8, 8_000, 16},
		{8, 80_000, 2},
		{2, 1_000_000, 1},
		{1, 1_000_000, 1},
		{1, 20_000, 1},
		{1, 7_000, 2},
		{200, 20_000, 200},
	} {
		if got := payouts.AccountsNext(c.took, c.claimed); got != c.want {
			t.Errorf("after %d accounts with %d entries: got %d, want %d", c.took, c.claimed, got, c.want)
		}
	}
}
