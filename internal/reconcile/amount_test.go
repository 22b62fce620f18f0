package reconcile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

func TestAmounts(t *testing.T) {
	t.Parallel()
	const no = -1 << 62
	for _, c := range []struct {
		text       string
		dot, comma int64
		problem    string // "" if one of the formats can read the text
	}{
		{"1234.56", 123456, no, ""},
		{"1234,56", no, 123456, ""},
		{"1,234.56", 123456, no, ""},
		{"1.234,56", no, 123456, ""},
		{"1,234,567", 123456700, no, ""},
		{"1.234.567,8", no, 123456780, ""},
		{"1,234", 123400, no, ""},
		{"1.234", no, 123400, ""},
		{"0,123", no, no, ""}, // three decimals, or not valid
		{"1 234,56", no, 123456, ""},
		{"1\u00a0234,56", no, 123456, ""},
		{"1\u202f234.56", 123456, no, ""},
		{"1'234.56", 123456, no, ""},
		{"1’234", 123400, 123400, ""},
		{" 12 ", 1200, 1200, ""},
		{"0", 0, 0, ""},
		{"000.50", 50, no, ""},
		{".5", 50, no, ""},
		{"(12.00)", -1200, no, ""},
		{"-12.00", -1200, no, ""},
		{"12.00-", -1200, no, ""},
		{"\u221212.00", -1200, no, ""},
		{"+12.00", 1200, no, ""},
		{"£12.00", 1200, no, ""},
		{"-£12.00", -1200, no, ""},
		{"£-12.00", -1200, no, ""},
		{"(£12.00)", -1200, no, ""},
		{"12,50 €", no, 1250, ""},
		{"12.50 gbp", 1250, no, ""},
		{"EUR 12,50", no, 1250, ""},
		{"A$3", 300, 300, ""},
		{"12.345", no, 1234500, ""},
		{"12.3456", no, no, problemDecimals},
		{"12,34,567", no, no, problemAmount},
		{"1,23.45", no, no, problemAmount},
		{"1.2.3", no, no, problemAmount},
		{"12.", no, no, problemAmount},
		{"--12", no, no, problemFormula},
		{"(-12)", no, no, problemAmount},
		{"£12 €", no, no, problemAmount},
		{"1e3", no, no, problemAmount},
		{"12a", no, no, problemAmount},
		{"£", no, no, problemAmount},
		{"()", no, no, problemAmount},
		{"", no, no, problemNoAmount},
		{"=1+1", no, no, problemFormula},
		{"-A1", no, no, problemFormula},
		{"123456789012.00", no, no, problemLarge},
	} {
		for i, form := range NumberForms {
			want := []int64{c.dot, c.comma}[i]
			got, problem := parseAmount(c.text, form)
			if want == no && problem == "" || want != no && (problem != "" || got.minor != want) {
				t.Errorf("parseAmount(%q, %s) = %d, problem %q, want %d", c.text, form, got.minor, problem, want)
			}
			if i == 0 && c.problem != "" && problem != c.problem {
				t.Errorf("%q: problem %q, want %q", c.text, problem, c.problem)
			}
		}
	}
}

func TestSigns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]money.Currency{
		"£1":    {money.GBP},
		"1 €":   {money.EUR},
		"$1":    {money.USD, money.CAD, money.AUD},
		"US$1":  {money.USD},
		"CA$1":  {money.CAD},
		"C$1":   {money.CAD},
		"AU$1":  {money.AUD},
		"1 A$":  {money.AUD},
		"CAD 1": {money.CAD},
		"1":     money.Currencies[:],
	} {
		a, problem := parseAmount(text, DotDecimal)
		for _, c := range money.Currencies {
			if problem != "" || a.signed.allows(c) != slices.Contains(want, c) {
				t.Errorf("parseAmount(%q) allows %s: %t (problem %q)", text, c, a.signed.allows(c), problem)
			}
		}
	}
}

// An amount in any notation is read correctly. Reading it in the other format returns the same
// amount or an error.
func TestAmountRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		minor := r.Int64N(1_000_000_000_000) >> r.IntN(40)
		whole, cents := fmt.Sprint(minor/100), fmt.Sprintf("%02d", minor%100)
		form := NumberForms[r.IntN(2)]
		decimal, group := form.marks()
		mark := append([]string{"", string(group)}, blanks...)[r.IntN(2+len(blanks))]
		for i := len(whole) - 3; i > 0 && mark != ""; i -= 3 {
			whole = whole[:i] + mark + whole[i:]
		}
		text, want := whole, minor-minor%100
		if r.IntN(3) > 0 {
			text, want = whole+string(decimal)+cents, minor
		}
		if r.IntN(2) == 0 {
			text = []string{"£" + text, text + " EUR", "USD" + text, "$ " + text}[r.IntN(4)]
		}
		if r.IntN(3) == 0 {
			text, want = []string{"-" + text, text + "-", "(" + text + ")", "\u2212" + text}[r.IntN(4)], -want
		}
		if got, problem := parseAmount(text, form); got.minor != want || problem != "" {
			t.Fatalf("parseAmount(%q, %s) = %d, problem %q, want %d", text, form, got.minor, problem, want)
		}
		other := NumberForms[0]
		if form == other {
			other = NumberForms[1]
		}
		if got, problem := parseAmount(text, other); problem == "" && got.minor != want {
			t.Fatalf("parseAmount(%q, %s) = %d, want %d or a problem", text, other, got.minor, want)
		}
	}
}

func FuzzAmount(f *testing.F) {
	for _, text := range []string{"1,234.56", "(£1'234)", "12,50 €-", "--", "1.2.3", "\u2212$"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range NumberForms {
			a, problem := parseAmount(text, form)
			if problem == "" && (a.minor > 1e13 || a.minor < -1e13 || !strings.ContainsAny(text, "0123456789")) {
				t.Errorf("parseAmount(%q) = %d, want a problem, because it is out of range or has no digits", text, a.minor)
			}
			if problem != "" && ProblemText(problem) == problem {
				t.Errorf("parseAmount(%q): problem %q has no text", text, problem)
			}
		}
	})
}
