package pricingrules

import (
	"errors"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/money"
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
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{Industry: "plumber", Country: "GB", Urgency: "emergency", Base: Amounts{money.GBP: 4560, money.EUR: 5300}, Floor: Amounts{money.AUD: 1},
			Ceiling: Amounts{money.USD: MaxAmount}, Multiplier: 15000, Exclude: ExcludeFalse, Note: "Bursts: × 1.5", Line: 4},
		{Category: "automotive", Exclude: ExcludeTrue, Line: 14},
		{Country: "other", Multiplier: 1, Line: 16},
	}
	if card.File != "f.yaml" || len(card.Rules) != len(want) {
		t.Fatalf("%d rules of %s", len(card.Rules), card.File)
	}
	for i, rule := range card.Rules {
		if rule != want[i] {
			t.Errorf("rule %d:\n got %+v\nwant %+v", i, rule, want[i])
		}
	}
}

// ruleRefusals are cards whose second rule, from line 3 on, is wrong by itself.
func ruleRefusals() []refusal {
	const takes = "takes industry, category, country, urgency, base, floor, ceiling, multiplier, exclude, note"
	const amount = "is not an amount: write digits and at most two decimals, like 45.6"
	const multiplier = "is not a multiplier: write digits and at most four decimals, like 1.5"
	return []refusal{
		{"unknown key", "{base: {GBP: 1}, price: 5}", `f.yaml:3: unknown key "price": a rule ` + takes},
		{"duplicate key", "base: {GBP: 1}\n    base: {GBP: 2}", `f.yaml:4: key "base" is there already, on line 3`},
		{"duplicate currency", "base: {GBP: 1, GBP: 2}", `f.yaml:3: key "GBP" is there already, on line 3`},
		{"unknown currency", "base: {CHF: 5}", `f.yaml:3: unknown key "CHF": base takes GBP, EUR, USD, CAD, AUD`},
		{"lower-case currency", "floor: {gbp: 5}", `f.yaml:3: unknown key "gbp": floor takes GBP, EUR, USD, CAD, AUD`},
		{"unknown urgency", "urgency: soon\n    multiplier: 2",
			`f.yaml:3: urgency "soon" is not one of standard, emergency, immediate, urgent, flexible`},
		{"industry and category", "industry: plumber\n    category: automotive\n    multiplier: 2",
			"f.yaml:4: industry and category are both set: keep one"},
		{"empty rule", "{}", "f.yaml:3: the rule sets nothing: give it a base, floor, ceiling, multiplier or exclude"},
		{"selector alone", "industry: plumber", "f.yaml:3: the rule sets nothing: give it a base, floor, ceiling, multiplier or exclude"},
		{"empty base", "base: {}", "f.yaml:3: base has no amount: write one for each currency, like {GBP: 45.6}"},
		{"zero", "base: {GBP: 0}", "f.yaml:3: base in GBP: must be above 0"},
		{"zero with decimals", "floor: {GBP: 0.00}", "f.yaml:3: floor in GBP: must be above 0"},
		{"negative", "ceiling: {EUR: -1}", "f.yaml:3: ceiling in EUR: must be above 0"},
		{"absurd", "base: {GBP: 1000000.01}", "f.yaml:3: base in GBP: is above 1000000, the largest amount"},
		{"beyond int64", "base: {GBP: 99999999999999999999}", `f.yaml:3: base in GBP: "99999999999999999999" is too large for an amount`},
		{"too precise", "base: {GBP: 45.678}", `f.yaml:3: base in GBP: "45.678" ` + amount},
		{"exponent", "base: {GBP: 1e3}", `f.yaml:3: base in GBP: "1e3" ` + amount},
		{"hexadecimal", "base: {GBP: 0x1F}", `f.yaml:3: base in GBP: "0x1F" ` + amount},
		{"infinite", "base: {GBP: .inf}", `f.yaml:3: base in GBP: ".inf" ` + amount},
		{"underscores", "base: {GBP: 1_000}", `f.yaml:3: base in GBP: "1_000" ` + amount},
		{"amount as text", `base: {GBP: "45.6"}`, "f.yaml:3: base in GBP must be a number, not a text"},
		{"amount with its currency", `base: {GBP: £45}`, "f.yaml:3: base in GBP must be a number, not a text"},
		{"amount without a value", "base: {GBP: }", "f.yaml:3: base in GBP must be a number, not nothing"},
		{"one amount for all", "base: 45.6", "f.yaml:3: base must be a mapping of keys to values, not a number"},
		{"list of amounts", "base: [45.6]", "f.yaml:3: base must be a mapping of keys to values, not a list"},
		{"zero multiplier", "multiplier: 0", "f.yaml:3: multiplier: must be above 0"},
		{"negative multiplier", "multiplier: -1.5", `f.yaml:3: multiplier: "-1.5" ` + multiplier},
		{"absurd multiplier", "multiplier: 100.0001", "f.yaml:3: multiplier: is above 100, the largest"},
		{"too precise multiplier", "multiplier: 1.00005", `f.yaml:3: multiplier: "1.00005" ` + multiplier},
		{"multiplier by currency", "multiplier: {GBP: 2}", "f.yaml:3: multiplier must be a number, not a mapping"},
		{"exclude as text", `exclude: "true"`, "f.yaml:3: exclude must be true or false, not a text"},
		{"exclude as number", "exclude: 1", "f.yaml:3: exclude must be true or false, not a number"},
		{"industry as number", "industry: 1001\n    multiplier: 2", "f.yaml:3: industry must be a text, not a number"},
		{"empty industry", "industry: ''\n    multiplier: 2", "f.yaml:3: industry is empty: write a text or leave the key out"},
		{"country without a value", "country:\n    multiplier: 2", "f.yaml:3: country must be a text, not nothing"},
		{"note of two lines", "multiplier: 2\n    note: \"one\\ntwo\"", "f.yaml:4: note: has a line break or another control character: write one line"},
		{"long note", "multiplier: 2\n    note: " + strings.Repeat("é", MaxNote+1), "f.yaml:4: note: is longer than 200 characters"},
		{"note as date", "multiplier: 2\n    note: 2026-01-02", "f.yaml:4: note must be a text, not a date"},
		{"rule as text", "plumber", "f.yaml:3: a rule must be a mapping of keys to values, not a text"},
		{"anchor and alias", "base: &b {GBP: 1}\n    floor: *b", "f.yaml:4: floor must be a mapping of keys to values, not an alias: write the value out"},
		{"merge key", "<<: {multiplier: 2}", `f.yaml:3: unknown key "<<": a rule ` + takes},
		{"tag", "multiplier: !mine 2", "f.yaml:3: multiplier must be a number, not a value with a tag of its own"},
		{"list as key", "? [a]\n    : b", "f.yaml:3: a key of a rule must be a word, not a list"},
		{"absurd key", strings.Repeat("k", 50) + ": 1", `f.yaml:3: unknown key "` + strings.Repeat("k", 40) + `…": a rule ` + takes},
		{"all at once", "{urgency: soon, base: {GBP: 0, CHF: 1}, multiplier: no}",
			`f.yaml:3: base in GBP: must be above 0
f.yaml:3: unknown key "CHF": base takes GBP, EUR, USD, CAD, AUD
f.yaml:3: multiplier must be a number, not a text
f.yaml:3: urgency "soon" is not one of standard, emergency, immediate, urgent, flexible`},
	}
}

func TestParseCardRefusesRules(t *testing.T) {
	cases := ruleRefusals()
	for i := range cases {
		cases[i].file = "rules:\n  - exclude: false\n  - " + cases[i].file + "\n"
	}
	t.Run("ParseCard", func(t *testing.T) {
		refuses(t, func(file string, data []byte) error { _, err := ParseCard(file, data); return err }, cases)
	})
	// Load says the same, and nothing of the gaps that a bad rule leaves.
	tax, markets, _ := shipped(t)
	t.Run("Load", func(t *testing.T) {
		refuses(t, func(file string, data []byte) error { _, _, err := Load(file, data, tax, markets); return err }, cases)
	})
}

func TestParseCardRefusesFiles(t *testing.T) {
	refuses(t, func(file string, data []byte) error { _, err := ParseCard(file, data); return err }, []refusal{
		{"empty", "", "f.yaml:1: the file is empty"},
		{"no mapping", "- base: {GBP: 1}\n", "f.yaml:1: the rate card must be a mapping of keys to values, not a list"},
		{"no rules", "# none\n{}\n", "f.yaml:2: there are no rules: list them under the key rules"},
		{"rules misspelt", "rule: []\n", "f.yaml:1: unknown key \"rule\": the rate card takes rules\nf.yaml:1: there are no rules: list them under the key rules"},
		{"rules no list", "rules: {base: 1}\n", "f.yaml:1: rules must be a list, not a mapping"},
		{"tab", "rules:\n\t- base: {GBP: 1}\n", "f.yaml:2: not YAML: found character that cannot start any token"},
		{"not closed", "rules:\n  - base: {GBP: 1\n  - base: {EUR: 1}\n", "f.yaml:3: not YAML: did not find expected ',' or '}' (while parsing a flow mapping on line 2)"},
		{"not UTF-8", "rules: \xff\n", "f.yaml:1: not YAML: invalid leading UTF-8 octet (value: 255)"},
		{"unknown alias", "rules: *none\n", "f.yaml:1: not YAML: an alias (*) names no anchor (&); write values out, and quote those that begin with *"},
		{"second document", "rules: []\n---\nrules: []\n", "f.yaml:2: not YAML: a second document begins; keep one"},
		{"broken second document", "rules: []\n---\n[\n", "f.yaml:4: not YAML: did not find expected node content"},
	})
}

func TestLoadRefusesWhatDoesNotExist(t *testing.T) {
	tax, markets, _ := shipped(t)
	const all = "rules:\n  - base: {GBP: 10, EUR: 10, USD: 10, CAD: 10, AUD: 10}\n"
	refuses(t, func(file string, data []byte) error { _, _, err := Load(file, data, tax, markets); return err }, []refusal{
		{"industry", all + "  - multiplier: 2\n    industry: plumbr\n", `f.yaml:4: industry "plumbr" is not in the taxonomy`},
		{"category", all + "  - category: plumber\n    multiplier: 2\n", `f.yaml:3: category "plumber" is not in the taxonomy`},
		{"country", all + "  - {country: PL, multiplier: 2}\n",
			`f.yaml:3: country "PL" has no market: countries without prices of their own are "other" together`},
		{"lower-case country", all + "  - {country: gb, multiplier: 2}\n",
			`f.yaml:3: country "gb" has no market: countries without prices of their own are "other" together`},
		{"everything at once", all + "  - {country: PL, industry: plumbr, multiplier: 0, urgency: now}\n  - base: {GBP: 1}\n",
			`f.yaml:3: multiplier: must be above 0
f.yaml:3: urgency "now" is not one of standard, emergency, immediate, urgent, flexible
f.yaml:3: industry "plumbr" is not in the taxonomy
f.yaml:3: country "PL" has no market: countries without prices of their own are "other" together
f.yaml:4: base in GBP is set twice for every lead, here and by line 2: keep one`},
	})
}

// The console shows a problem beside its rule.
func TestProblemsNameTheirRule(t *testing.T) {
	_, err := ParseCard("f.yaml", []byte("rules:\n  - base: {GBP: 1}\n  - base: {GBP: 0}\n  - {urgency: soon, multiplier: 1}\nmore: 1\n"))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Fatalf("got %v", err)
	}
	for i, want := range []int{1, 2, -1} {
		if problems[i].Rule != want {
			t.Errorf("%s is of rule %d, want %d", problems[i], problems[i].Rule, want)
		}
	}
}
