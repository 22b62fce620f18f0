package payouts_test

import (
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
)

func TestBalancesOmitSandboxLeads(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	if _, err := tr.post(t, tr.Required, 1, tr.sandboxQuote(t)); err != nil {
		t.Fatal(err)
	}
	page, err := tr.Balances(t.Context(), scope.Everywhere, "", "", 10)
	if err != nil || len(page.Balances) != 0 {
		t.Errorf("got %+v and error %v, want no balances", page, err)
	}
}

func TestBalancesPages(t *testing.T) {
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
		t.Fatalf("the first page: got %s, %+v and error %v", slugs(first), first, err)
	}
	next, err := tr.Balances(ctx, scope.Everywhere, first.After, "", 2)
	if err != nil || slugs(next) != "tinker-forms GBP, tinker-forms EUR" &&
		slugs(next) != "tinker-forms EUR, tinker-forms GBP" || next.Before != "tinker-forms" || next.After != "" {
		t.Errorf("the next page: got %s, %+v and error %v", slugs(next), next, err)
	}
	back, err := tr.Balances(ctx, scope.Everywhere, "", next.Before, 2)
	if err != nil || slugs(back) != slugs(first) || back.Before != "" || back.After != "meadow-media" {
		t.Errorf("back to the first page: got %s, %+v and error %v", slugs(back), back, err)
	}
	mine, err := tr.Balances(ctx, scope.Partners(tr.ReportOnly.ID), "", "", 9)
	if err != nil || slugs(mine) != "meadow-media GBP" {
		t.Errorf("one partner: got %s and error %v", slugs(mine), err)
	}
}
