package money

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendDecimal(t *testing.T) {
	for minor, want := range map[int64]string{
		4560: "45.6", 4500: "45", 4501: "45.01", 5: "0.05", 50: "0.5", 0: "0",
		-4560: "-45.6", -5: "-0.05", math.MinInt64: "-92233720368547758.08",
	} {
		if got := string(AppendDecimal(nil, minor)); got != want {
			t.Errorf("AppendDecimal(%d) = %s, want %s", minor, got, want)
		}
	}
}

func TestDecimalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.Int64Range(math.MinInt64+1, math.MaxInt64).Draw(t, "minor")
		got, err := ParseDecimal(string(AppendDecimal(nil, minor)))
		if err != nil || got != minor {
			t.Fatalf("got %[2]d, %[3]v, want %[1]d", minor, got, err)
		}
	})
}

func TestParseDecimalRejects(t *testing.T) {
	for _, s := range []string{"", "-", ".5", "5.", "1.234", "1e3", "1,5", " 1", "+1", "0x1", "NaN", "99999999999999999999"} {
		if got, err := ParseDecimal(s); err == nil {
			t.Errorf("ParseDecimal(%q) = %d, want an error", s, got)
		}
	}
}

func TestParseDecimalExplainsTheProblem(t *testing.T) {
	for s, want := range map[string]string{
		"":                     "the amount is missing; enter a number such as 45.6",
		"1,5":                  `"1,5" has a comma; use a decimal point and no thousands separators, as in 1045.6`,
		"1.234":                `"1.234" has more than two decimals; use at most two, such as 45.6`,
		"forty":                `"forty" is not an amount; use digits with at most two decimals, such as 45.6`,
		"99999999999999999999": `"99999999999999999999" is too large; enter a smaller amount`,
	} {
		if _, err := ParseDecimal(s); err == nil || err.Error() != want {
			t.Errorf("ParseDecimal(%q): got error %v, want %s", s, err, want)
		}
	}
}

func TestParseTyped(t *testing.T) {
	for s, want := range map[string]int64{
		"1,234.56": 123456, "-1,234.5": -123450, "12,345,678": 1234567800, "999": 99900, "1234.56": 123456, "0.5": 50,
	} {
		if got, err := ParseTyped(s); err != nil || got != want {
			t.Errorf("ParseTyped(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"1,5", "1,23", "12,34.56", "1234,567", ",123", "1,,234", "1,2345", "1,234.567", "1.234,56", "1,234,"} {
		if got, err := ParseTyped(s); err == nil {
			t.Errorf("ParseTyped(%q) = %d, want an error", s, got)
		}
	}
}

func TestAmountString(t *testing.T) {
	for want, a := range map[string]Amount{
		"45.60 GBP": {4560, GBP}, "-0.05 EUR": {-5, EUR}, "0.00 XXX": {},
	} {
		if a.String() != want {
			t.Errorf("%#v: got %q, want %q", a, a.String(), want)
		}
	}
}

func TestParseCurrency(t *testing.T) {
	for _, c := range Currencies {
		if got, err := ParseCurrency(c.String()); err != nil || got != c {
			t.Errorf("ParseCurrency(%[1]s) = %[2]s, %[3]v, want %[1]s", c, got, err)
		}
	}
	for _, s := range []string{"", "gbp", "CHF", "XXX"} {
		if _, err := ParseCurrency(s); err == nil {
			t.Errorf("ParseCurrency(%q): got no error", s)
		}
	}
}
