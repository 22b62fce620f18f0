package payouts_test

import (
	"errors"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
)

// The CRLF line breaks of browsers are replaced with LF.
func TestTextsWithSeveralLines(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	ctx, d := t.Context(), tr.deliver(t, tr.Required, "GB")
	ret, err := tr.RequestReturn(ctx, scope.Everywhere, d.lead, models.Duplicate, "a\r\nb")
	if err != nil || ret.Evidence != "a\nb" {
		t.Fatalf("got evidence %q and error %v", ret.Evidence, err)
	}
	if err := tr.AcceptReturn(ctx, scope.Everywhere, ret.ID, " a\r\nb\r\n"); err != nil {
		t.Fatal(err)
	}
	if ret, err = tr.Return(ctx, scope.Everywhere, ret.ID); err != nil || ret.DecisionNote != "a\nb" {
		t.Errorf("got answer %q and error %v", ret.DecisionNote, err)
	}
	r, err := tr.BeginRun(ctx, scope.Everywhere, payouts.NewRun{
		Currency: money.GBP,
		Cutoff:   tr.Time.Now(),
		Note:     "a\r\nb",
	})
	if err != nil || r.Note != "a\nb" {
		t.Errorf("got note %q and error %v", r.Note, err)
	}
	var f *apperr.Error
	err = tr.AcceptReturn(ctx, scope.Everywhere, ret.ID, "a\x00b")
	if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Code != apperr.InvalidValue {
		t.Errorf("a control character: got %v, want a field error", err)
	}
}
