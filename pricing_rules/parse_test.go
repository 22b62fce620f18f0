package pricingrules

import (
	"errors"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

func TestParseCard(t *testing.T) {
	card, err := ParseCard("f.yaml", []byte(`
# Comments and any order of keys are fine.
rules:
  - industry: plumber
    country: GB
    urgency: emergency
    base: {GBP: 45.6, EUR: 53}
    floor: {AUD: 0.01}
    ceiling:
      USD: 1000000.00
    multiplier: 1.5
    exclude: false
    note: "Bursts: × 1.5"
  - exclude: true
    category: automotive
  - {multiplier: 0.0001, country: other}
  - {multiplier: 2, country: UK}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{
			Industry:   "plumber",
			Country:    "GB",
			Urgency:    "emergency",
			Base:       Amounts{money.GBP: 4560, money.EUR: 5300},
			Floor:      Amounts{money.AUD: 1},
			Ceiling:    Amounts{money.USD: MaxAmount},
			Multiplier: 15000,
			Exclude:    ExcludeFalse,
			Note:       "Bursts: × 1.5",
			Line:       4,
		},
		{Category: "automotive", Exclude: ExcludeTrue, Line: 14},
		{Country: "other", Multiplier: 1, Line: 16},
		{Country: "GB", Multiplier: 20000, Line: 17},
	}
	if card.File != "f.yaml" || len(card.Rules) != len(want) {
		t.Fatalf("got %d rules from %s", len(card.Rules), card.File)
	}
	for i, rule := range card.Rules {
		if rule != want[i] {
			t.Errorf("rule %d:\n got %+v\nwant %+v", i, rule, want[i])
		}
	}
}

// ruleRejections returns rules that are not valid. Each is the second rule of a card and starts on line
// 3.
func ruleRejections() []rejection {
	return []rejection{
		{"unknown key", "{base: {GBP: 1}, price: 5}", `f.yaml:3 "price"`},
		{"duplicate key", "base: {GBP: 1}\n    base: {GBP: 2}", `f.yaml:4 "base"`},
		{"duplicate currency", "base: {GBP: 1, GBP: 2}", `f.yaml:3 "GBP"`},
		{"unknown currency", "base: {CHF: 5}", `f.yaml:3 "CHF"`},
		{"lower-case currency", "floor: {gbp: 5}", `f.yaml:3 "gbp"`},
		{"unknown urgency", "urgency: soon\n    multiplier: 2",
			`f.yaml:3 "soon"`},
		{"industry and category", "industry: plumber\n    category: automotive\n    multiplier: 2",
			"f.yaml:4"},
		{"empty rule", "{}", "f.yaml:3"},
		{"selector without effects", "industry: plumber", "f.yaml:3"},
		{"empty base", "base: {}", "f.yaml:3"},
		{"zero", "base: {GBP: 0}", "f.yaml:3"},
		{"zero with decimals", "floor: {GBP: 0.00}", "f.yaml:3"},
		{"negative", "ceiling: {EUR: -1}", "f.yaml:3"},
		{"too large", "base: {GBP: 1000000.01}", "f.yaml:3"},
		{"exceeds int64", "base: {GBP: 99999999999999999999}", `f.yaml:3 "99999999999999999999"`},
		{"too precise", "base: {GBP: 45.678}", `f.yaml:3 "45.678"`},
		{"exponent", "base: {GBP: 1e3}", `f.yaml:3 "1e3"`},
		{"hexadecimal", "base: {GBP: 0x1F}", `f.yaml:3 "0x1F"`},
		{"infinite", "base: {GBP: .inf}", `f.yaml:3 ".inf"`},
		{"underscores", "base: {GBP: 1_000}", `f.yaml:3 "1_000"`},
		{"amount as text", `base: {GBP: "45.6"}`, "f.yaml:3"},
		{"amount with its currency", `base: {GBP: £45}`, "f.yaml:3"},
		{"amount without a value", "base: {GBP: }", "f.yaml:3"},
		{"one amount for all", "base: 45.6", "f.yaml:3"},
		{"list of amounts", "base: [45.6]", "f.yaml:3"},
		{"zero multiplier", "multiplier: 0", "f.yaml:3"},
		{"negative multiplier", "multiplier: -1.5", `f.yaml:3 "-1.5"`},
		{"multiplier too large", "multiplier: 100.0001", "f.yaml:3"},
		{"too precise multiplier", "multiplier: 1.00005", `f.yaml:3 "1.00005"`},
		{"multiplier by currency", "multiplier: {GBP: 2}", "f.yaml:3"},
		{"exclude as text", `exclude: "true"`, "f.yaml:3"},
		{"exclude as number", "exclude: 1", "f.yaml:3"},
		{"industry as number", "industry: 1001\n    multiplier: 2", "f.yaml:3"},
		{"empty industry", "industry: ''\n    multiplier: 2", "f.yaml:3"},
		{"country without a value", "country:\n    multiplier: 2", "f.yaml:3"},
		{"note with two lines", "multiplier: 2\n    note: \"one\\ntwo\"", "f.yaml:4"},
		{"long note", "multiplier: 2\n    note: " + strings.Repeat("é", MaxNote+1), "f.yaml:4"},
		{"note as date", "multiplier: 2\n    note: 2026-01-02", "f.yaml:4"},
		{"rule as text", "plumber", "f.yaml:3"},
		{"anchor and alias", "base: &b {GBP: 1}\n    floor: *b", "f.yaml:4"},
		{"merge key", "<<: {multiplier: 2}", `f.yaml:3 "<<"`},
		{"tag", "multiplier: !mine 2", "f.yaml:3"},
		{"list as key", "? [a]\n    : b", "f.yaml:3"},
		{"long key", strings.Repeat("k", 50) + ": 1", `f.yaml:3 "` + strings.Repeat("k", 40) + `…"`},
		{"many problems", "{urgency: soon, base: {GBP: 0, CHF: 1}, multiplier: no}",
			`f.yaml:3
f.yaml:3 "CHF"
f.yaml:3
f.yaml:3 "soon"`},
	}
}

func TestParseCardRejectsRules(t *testing.T) {
	cases := ruleRejections()
	for i := range cases {
		cases[i].file = "rules:\n  - exclude: false\n  - " + cases[i].file + "\n"
	}
	t.Run("ParseCard", func(t *testing.T) {
		rejects(t, func(file string, data []byte) error { _, err := ParseCard(file, data); return err }, cases)
	})
	// Load must report the same problems, but not the cells that have no price because of them.
	tax, markets, _ := shipped(t)
	t.Run("Load", func(t *testing.T) {
		rejects(t, func(file string, data []byte) error { _, _, err := Load(file, data, tax, markets); return err }, cases)
	})
}

func TestParseCardRejectsFiles(t *testing.T) {
	rejects(t, func(file string, data []byte) error { _, err := ParseCard(file, data); return err }, []rejection{
		{"empty", "", "f.yaml:1"},
		{"not a mapping", "- base: {GBP: 1}\n", "f.yaml:1"},
		{"no rules", "# none\n{}\n", "f.yaml:2"},
		{"misspelt key", "rule: []\n", `f.yaml:1 "rule"
f.yaml:1`},
		{"rules not a list", "rules: {base: 1}\n", "f.yaml:1"},
		{"tab", "rules:\n\t- base: {GBP: 1}\n", "f.yaml:2"},
		{"unclosed brace", "rules:\n  - base: {GBP: 1\n  - base: {EUR: 1}\n", "f.yaml:3"},
		{"not UTF-8", "rules: \xff\n", "f.yaml:1"},
		{"unknown alias", "rules: *none\n", "f.yaml:1"},
		{"second document", "rules: []\n---\nrules: []\n", "f.yaml:2"},
		{"broken second document", "rules: []\n---\n[\n", "f.yaml:4"},
	})
}

func TestLoadRejectsUnknownNames(t *testing.T) {
	tax, markets, _ := shipped(t)
	const all = "rules:\n  - base: {GBP: 10, EUR: 10, USD: 10, CAD: 10, AUD: 10}\n"
	rejects(t, func(file string, data []byte) error { _, _, err := Load(file, data, tax, markets); return err }, []rejection{
		{"industry", all + "  - multiplier: 2\n    industry: plumbr\n", `f.yaml:4 "plumbr"`},
		{"category", all + "  - category: plumber\n    multiplier: 2\n", `f.yaml:3 "plumber"`},
		{"country", all + "  - {country: PL, multiplier: 2}\n",
			`f.yaml:3 "PL" "other"`},
		{"lower-case country", all + "  - {country: gb, multiplier: 2}\n",
			`f.yaml:3 "gb"`},
		{"many problems", all + "  - {country: PL, industry: plumbr, multiplier: 0, urgency: now}\n  - base: {GBP: 1}\n",
			`f.yaml:3
f.yaml:3 "now"
f.yaml:3 "plumbr"
f.yaml:3 "PL" "other"
f.yaml:4`},
	})
}

// The console shows each problem next to its rule.
func TestProblemsContainTheirRule(t *testing.T) {
	_, err := ParseCard("f.yaml",
		[]byte("rules:\n  - base: {GBP: 1}\n  - base: {GBP: 0}\n  - {urgency: soon, multiplier: 1}\nmore: 1\n"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Fatalf("got %v", err)
	}
	for i, want := range []int{1, 2, -1} {
		if problems[i].Rule != want {
			t.Errorf("%s has rule %d, want %d", problems[i], problems[i].Rule, want)
		}
	}
}
