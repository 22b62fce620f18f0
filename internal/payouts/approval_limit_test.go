package payouts_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// adjust adjusts a balance in CAD, whose limit is 100.00.
func (tr *paidLedger) adjust(t testing.TB, by financeUser, minor int64) models.Adjustment {
	t.Helper()
	a, err := by.Adjust(t.Context(), scope.Everywhere, tr.correction(minor))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (tr *paidLedger) correction(minor int64) payouts.NewAdjustment {
	return payouts.NewAdjustment{
		ID: tr.NewAdjustmentID(), Account: tr.Required.Accounts[0].ID, Reason: "set-up fee",
		Amount: money.Amount{Minor: minor, Currency: money.CAD},
	}
}

// All adjustments that a user makes on a UTC day count towards the limit together, whatever their sign. Adjustments
// that were rejected, made on another day or by another user, or are in another currency do not count.
func TestAdjustmentsAboveLimitNeedApproval(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	const within, open = models.AdjustmentWithinLimit, models.AdjustmentOpen
	step := func(by financeUser, minor int64, want models.AdjustmentState) models.Adjustment {
		t.Helper()
		a := tr.adjust(t, by, minor)
		if a.State != want {
			t.Errorf("%d by %s: got state %s, want %s", minor, by.who.Name, a.State, want)
		}
		return a
	}
	left := func(want int64) {
		t.Helper()
		all, err := tr.dmitri.Adjustable(ctx)
		if cad := (money.Amount{Minor: want, Currency: money.CAD}); err != nil || all[3] != cad {
			t.Errorf("got %v left and error %v, want %v", all, err, cad)
		}
	}
	step(tr.dmitri, 60_00, within)
	step(tr.dmitri, -40_00, within)
	left(0)
	first := step(tr.dmitri, 1, open)
	step(tr.fay, 100_00, within)
	euro := tr.correction(900_00)
	euro.Amount.Currency = money.EUR
	if a, err := tr.dmitri.Adjust(ctx, scope.Everywhere, euro); err != nil || a.State != within {
		t.Errorf("another currency: got %+v and error %v", a, err)
	}
	if n := testkit.Value[int](t, tr.DB, `SELECT count(*) FROM ledger_entries WHERE kind = 'adjustment'`); n != 4 {
		t.Errorf("got %d adjustments in the ledger, want 4", n)
	}
	approve := func(by *payouts.Service, sc scope.Scope, a models.Adjustment) error {
		return by.ApproveAdjustment(ctx, sc, a.ID)
	}
	rejected(t, "own request", approve(tr.dmitri.Service, scope.Everywhere, first), apperr.Forbidden, "same_person")
	rejected(t, "the command line", approve(tr.By(audit.Operator), scope.Everywhere, first), apperr.Forbidden,
		"same_person")
	rejected(t, "another scope", approve(tr.fay.Service, scope.Partners(tr.Off.ID), first), apperr.NotFound, "adjustment")
	rejected(t, "no reason", tr.fay.RejectAdjustment(ctx, scope.Everywhere, first.ID, " "), apperr.Invalid, "answer")
	tr.Time.Set(testkit.StartTime().Truncate(24 * time.Hour).Add(24 * time.Hour)) // midnight
	left(100_00)
	second := step(tr.dmitri, 100_01, open)
	left(0)
	step(tr.dmitri, 1, open)
	if err := tr.dmitri.RejectAdjustment(ctx, scope.Everywhere, second.ID, "a typing error"); err != nil {
		t.Fatal(err)
	}
	left(99_99)
	rejected(t, "approved after the rejection", approve(tr.fay.Service, scope.Everywhere, second), apperr.Conflict,
		"decided")
	_, err := tr.By(audit.Operator).Adjust(ctx, scope.Everywhere, tr.correction(1))
	rejected(t, "adjustment on the command line", err, apperr.Forbidden, "person")

	if n, err := tr.WaitingAdjustments(ctx, scope.Everywhere, tr.fay.who); n != 2 || err != nil {
		t.Errorf("got %d waiting adjustments and error %v, want 2", n, err)
	}
	if n, _ := tr.WaitingAdjustments(ctx, scope.Everywhere, tr.dmitri.who); n != 0 {
		t.Errorf("got %d waiting for the requester, want 0", n)
	}
	for _, c := range []struct {
		sc   scope.Scope
		q    payouts.AdjustmentQuery
		want int
	}{
		{scope.Everywhere, payouts.AdjustmentQuery{}, 3},
		{scope.Everywhere, payouts.AdjustmentQuery{State: open, Partner: tr.Required.ID, Currency: money.CAD}, 2},
		{scope.Everywhere, payouts.AdjustmentQuery{Currency: money.GBP}, 0},
		{scope.Partners(tr.Off.ID), payouts.AdjustmentQuery{}, 0},
	} {
		c.q.Page.Size = 9
		if all, _, _, err := tr.Adjustments(ctx, c.sc, c.q); err != nil || len(all) != c.want {
			t.Errorf("%+v: got %+v and error %v, want %d", c.q, all, err, c.want)
		}
	}
}

// If two users approve an adjustment at the same time, it is added to the ledger once.
func TestAdjustmentIsApprovedOnce(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	a := tr.adjust(t, tr.dmitri, 250_00)
	tr.Time.Advance(time.Hour)
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = tr.fay.ApproveAdjustment(ctx, scope.Everywhere, a.ID) })
	}
	all.Wait()
	approved := 0
	for _, err := range errs {
		if err == nil {
			approved++
			continue
		}
		rejected(t, "approved twice", err, apperr.Conflict, "decided")
	}
	got, err := tr.Adjustment(ctx, scope.Everywhere, a.ID)
	if err != nil || approved != 1 || got.State != models.AdjustmentApproved || got.Reason != "set-up fee" ||
		*got.DeciderID != tr.fay.who.Staff {
		t.Errorf("got %d successful calls, %+v and error %v", approved, got, err)
	}
	entries, _, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{Currency: money.CAD}, page(10))
	if err != nil || len(entries) != 1 || entries[0].AmountMinor != 250_00 || entries[0].Note != "set-up fee" ||
		entries[0].CreatedBy != tr.fay.who.Name || !entries[0].OccurredAt.Equal(tr.Time.Now()) {
		t.Errorf("got entries %+v and error %v", entries, err)
	}
}

// Adjustments by one user at the same time cannot exceed the limit together.
func TestConcurrentAdjustmentsKeepToTheLimit(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := tr.Adjust(t.Context(), scope.Everywhere, tr.correction(60_00)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := tr.balance(t, tr.Required.ID, money.CAD); got != 60_00 {
		t.Errorf("got %d in the ledger, want one adjustment of 6000", got)
	}
}

// Users can accept the returns that they requested only up to the limit, even if they accept several at the same time.
func TestOwnReturnsAboveLimitNeedAnotherUser(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	var requested []models.Return
	for range 4 {
		r, err := tr.RequestReturn(ctx, scope.Everywhere, tr.deliver(t, tr.Required, "CA").lead, models.Fraud, "x")
		if err != nil {
			t.Fatal(err)
		}
		requested = append(requested, r)
	}
	want := min(3, int(100_00/requested[0].AmountMinor)) // the number within the limit
	errs := make([]error, len(requested))
	var all sync.WaitGroup
	for i, r := range requested {
		all.Go(func() { errs[i] = tr.AcceptReturn(ctx, scope.Everywhere, r.ID, "") })
	}
	all.Wait()
	accepted := 0
	for i, err := range errs {
		if err == nil {
			accepted++
			continue
		}
		rejected(t, "own return", err, apperr.Forbidden, "same_person")
		rejected(t, "check", tr.CheckAccept(ctx, requested[i]), apperr.Forbidden, "same_person")
		if err := tr.fay.AcceptReturn(ctx, scope.Everywhere, requested[i].ID, ""); err != nil {
			t.Errorf("another user: got %v, want nil", err)
		}
	}
	if accepted != want || want == 0 {
		t.Errorf("the requester accepted %d returns, want %d", accepted, want)
	}
	tr.Time.Advance(24 * time.Hour)
	r, err := tr.RequestReturn(ctx, scope.Everywhere, tr.deliver(t, tr.Required, "CA").lead, models.Fraud, "x")
	if err == nil {
		err = tr.AcceptReturn(ctx, scope.Everywhere, r.ID, "")
	}
	if err != nil {
		t.Errorf("the next day: got %v, want nil", err)
	}
}

// The texts of a requested adjustment are erased with its lead, and can be redacted.
func TestTextsOfRequestedAdjustments(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx := t.Context()
	request := func(lead uuid.UUID) models.Adjustment {
		t.Helper()
		a := tr.correction(500_00)
		a.Lead, a.Reason = lead, "refund for Ann"
		made, err := tr.Adjust(ctx, scope.Everywhere, a)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	lead := tr.deliver(t, tr.Required, "CA").lead
	ofLead, other := request(lead), request(uuid.Nil)
	erasures := journal.Folder(t.TempDir())
	services := leadkit.NewServices(tr.DB.DB, tr.Wrappers, tr.Keys, erasures, tr.Time, leadkit.Settings{}).By(tr.fay.who)
	if _, err := services.Erasures.Erase(ctx, scope.System,
		erasure.NewErasure{Lead: lead, Reason: models.EraseForRequest}); err != nil {
		t.Fatal(err)
	}
	if err := tr.fay.RejectAdjustment(ctx, scope.Everywhere, ofLead.ID, "Ann was paid"); err != nil {
		t.Fatal(err)
	}
	found, _, _, err := services.Notes.Notes(ctx, scope.Everywhere, postgres.Page[string]{Size: 9})
	if err != nil || len(found) != 1 || found[0].Kind != notes.AdjustmentRequestNote || found[0].Object != other.ID {
		t.Fatalf("got notes %+v and error %v, want that of %s", found, err, other.ID)
	}
	if err := services.Notes.Redact(ctx, scope.Everywhere, found[0].ID); err != nil {
		t.Fatal(err)
	}
	rejected(t, "redacted twice", services.Notes.Redact(ctx, scope.Everywhere, found[0].ID), apperr.Conflict,
		"note_redacted")
	got, err := tr.Adjustment(ctx, scope.Everywhere, other.ID)
	if diff := cmp.Diff("[redacted]", got.Reason); err != nil || diff != "" {
		t.Errorf("error %v, reason (-want +got):\n%s", err, diff)
	}
	if n := testkit.Value[int](t, tr.DB, `SELECT (SELECT count(*) FROM adjustments a WHERE a::text LIKE '%Ann%')
		+ (SELECT count(*) FROM audit_events e WHERE e::text LIKE '%Ann%')`); n != 0 {
		t.Errorf("got %d rows with the text, want 0", n)
	}
}
