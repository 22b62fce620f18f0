package payouts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/payouts"
)

func TestBalancesOmitSandboxLeads(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	if _, err := tr.post(t, tr.Required, 1, tr.sandboxQuote(t)); err != nil {
		t.Fatal(err)
	}
	if all, err := tr.Balances(t.Context(), scope.Everywhere, payouts.BalanceFilter{}); err != nil || len(all) != 0 {
		t.Errorf("got %+v and error %v, want no balances", all, err)
	}
}

func TestBalancesPages(t *testing.T) {
	t.Parallel()
	tr := newPaidLedger(t)
	for _, by := range []testkit.Partner{tr.Required, tr.ReportOnly, tr.Off} {
		tr.deliver(t, by, "GB")
	}
	tr.deliver(t, tr.Off, "DE")
	reversed := tr.deliver(t, tr.Off, "US")
	adjust := func(c money.Currency, minor int64) {
		t.Helper()
		_, err := tr.Adjust(t.Context(), scope.Everywhere, payouts.NewAdjustment{
			ID: tr.NewAdjustmentID(), Account: tr.Off.Accounts[0].ID, Reason: "x",
			Amount: money.Amount{Minor: minor, Currency: c},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	adjust(money.EUR, -999_99)
	adjust(money.USD, -reversed.payout.Minor)
	list := func(all []payouts.Balance) string {
		var names []string
		for _, b := range all {
			names = append(names, b.Partner+" "+b.Currency.String())
		}
		return strings.Join(names, ", ")
	}
	read := func(sc scope.Scope, f payouts.BalanceFilter) []payouts.Balance {
		t.Helper()
		all, err := tr.Balances(t.Context(), sc, f)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := read(scope.Everywhere, payouts.BalanceFilter{})
	const firstTwo, last = "harbour-leads GBP, meadow-media GBP", "tinker-forms GBP, tinker-forms EUR, tinker-forms USD"
	for name, c := range map[string]struct{ after, before, want, wantBefore, wantAfter string }{
		"first page":             {"", "", firstTwo, "", "meadow-media"},
		"next page":              {"meadow-media", "", last, "tinker-forms", ""},
		"previous page":          {"", "tinker-forms", firstTwo, "", "meadow-media"},
		"after an unknown slug":  {"i", "", "meadow-media GBP, " + last, "meadow-media", ""},
		"before an unknown slug": {"", "n", firstTwo, "", "meadow-media"},
		"past the end":           {"zzz", "", "", "", ""},
	} {
		p := payouts.PageOfBalances(all, c.after, c.before, 2)
		if list(p.Balances) != c.want || p.Before != c.wantBefore || p.After != c.wantAfter {
			t.Errorf("%s: got %s, before %q, after %q", name, list(p.Balances), p.Before, p.After)
		}
	}
	for _, c := range []struct {
		sc   scope.Scope
		f    payouts.BalanceFilter
		want string
	}{
		{scope.Partners(tr.ReportOnly.ID), payouts.BalanceFilter{}, "meadow-media GBP"},
		{scope.Partners(tr.ReportOnly.ID), payouts.BalanceFilter{Partner: tr.Off.ID}, ""},
		{scope.Everywhere, payouts.BalanceFilter{Partner: tr.Off.ID, Sign: payouts.OwedToPartner}, "tinker-forms GBP"},
		{scope.Everywhere, payouts.BalanceFilter{Sign: payouts.OwedByPartner}, "tinker-forms EUR"},
		{scope.Everywhere, payouts.BalanceFilter{Sign: payouts.ZeroBalance}, "tinker-forms USD"},
		{scope.Everywhere, payouts.BalanceFilter{Currency: money.EUR}, "tinker-forms EUR"},
		{scope.Everywhere, payouts.BalanceFilter{Sign: "x"}, ""},
	} {
		if got := list(read(c.sc, c.f)); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.f, got, c.want)
		}
	}
	sums, err := tr.Sums(t.Context(), scope.Everywhere, payouts.Filter{})
	if got := payouts.SumBalances(all); err != nil || !slices.Equal(got, sums) {
		t.Errorf("got totals %+v and error %v, want %+v", got, err, sums)
	}
}
