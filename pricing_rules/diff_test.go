package pricingrules

import (
	"slices"
	"testing"

	"github.com/pingpost/pingpost/internal/base/money"
)

func texts(changes []Change) []string {
	var list []string
	for _, c := range changes {
		list = append(list, c.String())
	}
	return list
}

func TestDiff(t *testing.T) {
	tax, markets := small(t)
	all := Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}
	old := compiled(t, tax, markets, all, Rule{Industry: "notary", Country: "FR", Exclude: ExcludeTrue})
	new := compiled(t, tax, markets, all, Rule{Industry: "plumber", Country: "GB", Multiplier: 15000},
		Rule{
			Industry: "notary",
			Country:  "FR",
			Exclude:  ExcludeTrue,
		}, Rule{Industry: "notary", Country: "FR", Urgency: "urgent", Exclude: ExcludeFalse})
	want := []string{
		"plumber/GB/standard: 10.00 GBP → 15.00 GBP",
		"plumber/GB/emergency: 10.00 GBP → 15.00 GBP",
		"plumber/GB/immediate: 10.00 GBP → 15.00 GBP",
		"plumber/GB/urgent: 10.00 GBP → 15.00 GBP",
		"plumber/GB/flexible: 10.00 GBP → 15.00 GBP",
		"notary/FR/urgent: excluded → 12.00 EUR",
	}
	if got := texts(Diff(old, new)); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if changes := Diff(new, new); len(changes) != 0 {
		t.Errorf("got changes %v between a table and itself", changes)
	}
}

// A newer taxonomy can contain more industries and list them in a different order.
func TestDiffMatchesBySlugAndCode(t *testing.T) {
	tax, markets := small(t)
	other, err := ParseTaxonomy("t.yaml",
		[]byte("categories: [{slug: home, name: Home, industries: {9: baker, 2: roofer, 1: plumber}}]"))
	if err != nil {
		t.Fatal(err)
	}
	fewer, err := ParseMarkets("m.yaml", []byte("other: {name: Others, currency: GBP}"))
	if err != nil {
		t.Fatal(err)
	}
	all := Rule{Base: Amounts{money.GBP: 1000, money.EUR: 1200}}
	changes := Diff(compiled(t, tax, markets, all), compiled(t, other, fewer, all))
	got := map[string]int{}
	for _, c := range changes {
		got[c.Industry.Slug+"/"+c.Market.Code+" "+c.Old.orNone()+" → "+c.New.orNone()]++
	}
	want := map[string]int{
		"baker/other none → 10.00 GBP": 5, "notary/other 10.00 GBP → none": 5,
		"plumber/GB 10.00 GBP → none": 5, "roofer/GB 10.00 GBP → none": 5, "notary/GB 10.00 GBP → none": 5,
		"plumber/FR 12.00 EUR → none": 5, "roofer/FR 12.00 EUR → none": 5, "notary/FR 12.00 EUR → none": 5,
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for change, n := range want {
		if got[change] != n {
			t.Errorf("got change %s %d times, want %d", change, got[change], n)
		}
	}
	if first := changes[0].Industry.Slug; first != "baker" {
		t.Errorf("got first change in %s, want baker", first)
	}
}

func compiled(t testing.TB, tax *Taxonomy, markets *Markets, rules ...Rule) *Table {
	t.Helper()
	table, err := Compile(Card{Rules: rules}, tax, markets)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
