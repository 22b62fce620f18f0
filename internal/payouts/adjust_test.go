package payouts_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
)

func TestAdjustments(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx, d := t.Context(), tr.deliver(t, tr.Required, "GB")
	good := payouts.NewAdjustment{
		ID:      tr.NewAdjustmentID(),
		Account: tr.Required.Accounts[0].ID,
		Lead:    d.lead,
		Amount:  money.Amount{Minor: -120, Currency: money.GBP},
		Reason:  "agreed by telephone",
	}
	for name, c := range map[string]struct {
		change func(*payouts.NewAdjustment)
		sc     scope.Scope
		want   string
	}{
		"zero amount": {func(a *payouts.NewAdjustment) { a.Amount.Minor = 0 }, scope.Everywhere, "amount"},
		"amount too high": {func(a *payouts.NewAdjustment) {
			a.Amount.Minor = payouts.MaxAdjustment + 1
		}, scope.Everywhere, "amount"},
		"amount too low": {func(a *payouts.NewAdjustment) {
			a.Amount.Minor = -payouts.MaxAdjustment - 1
		}, scope.Everywhere, "amount"},
		"no currency": {func(a *payouts.NewAdjustment) { a.Amount.Currency = 0 }, scope.Everywhere, "currency"},
		"not the lead's currency": {func(a *payouts.NewAdjustment) {
			a.Amount.Currency = money.EUR
		}, scope.Everywhere, "currency"},
		"unknown account": {func(a *payouts.NewAdjustment) { a.Account = uuid.New() }, scope.Everywhere, "account"},
		"sandbox account": {func(a *payouts.NewAdjustment) {
			a.Account = tr.Required.Accounts[1].ID
		}, scope.Everywhere, "account"},
		"account out of scope": {func(*payouts.NewAdjustment) {}, scope.Partners(tr.Off.ID), "account"},
		"another account's lead": {func(a *payouts.NewAdjustment) {
			a.Account = tr.Off.Accounts[0].ID
		}, scope.Everywhere, "lead"},
		"unknown lead":      {func(a *payouts.NewAdjustment) { a.Lead = uuid.New() }, scope.Everywhere, "lead"},
		"no reason":         {func(a *payouts.NewAdjustment) { a.Reason = "" }, scope.Everywhere, "why"},
		"control character": {func(a *payouts.NewAdjustment) { a.Reason = "a\x1bb" }, scope.Everywhere, "why"},
	} {
		a := good
		c.change(&a)
		_, err := tr.Adjust(ctx, c.sc, a)
		rejected(t, name, err, apperr.Invalid, c.want)
	}
	made, err := tr.Adjust(ctx, scope.Partners(tr.Required.ID), good)
	if err != nil || made.State != models.AdjustmentWithinLimit || made.Reason != "" {
		t.Fatalf("got %+v and error %v", made, err)
	}
	entries, _, _, err := tr.Entries(ctx, scope.Everywhere, payouts.Filter{Kind: models.EntryAdjustment}, page(10))
	if err != nil || len(entries) != 1 {
		t.Fatalf("got entries %+v and error %v, want 1", entries, err)
	}
	e := entries[0]
	if e.AmountMinor != -120 || *e.LeadID != d.lead || e.Note != good.Reason || e.CreatedBy != tr.dmitri.who.Name {
		t.Errorf("got %+v", e)
	}
	const amount = `SELECT after->>'amount' FROM audit_events WHERE action = 'ledger.adjust'`
	if got := testkit.Value[string](t, tr.DB, amount); got != "-1.20 GBP" {
		t.Errorf("the audit log contains the amount %q, want -1.20 GBP", got)
	}
	_, err = tr.Adjust(ctx, scope.Everywhere, good)
	rejected(t, "the same adjustment again", err, apperr.Conflict, "adjusted")
	if got := tr.balance(t, tr.Required.ID, money.GBP); got != d.payout.Minor-120 {
		t.Errorf("got balance %d, want %d", got, d.payout.Minor-120)
	}
}
