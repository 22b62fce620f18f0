package pricingrules

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The categories must match "Industry values" in the specification. The test compares their counts,
// their first and last slugs, and their first numbers.
func TestShippedTaxonomyMatchesTheSpecification(t *testing.T) {
	tax, _, _ := shipped(t)
	spec := []struct {
		name        string
		count       int
		first, last string
		firstID     int
	}{
		{"Home services", 104, "air-duct-cleaner", "window-installer", 1001},
		{"Automotive", 21, "auto-body-shop", "window-tinting", 2001},
		{"Moving & transport", 3, "moving-company", "taxi", 3001},
		{"Health & wellness", 60, "acupuncturist", "weight-loss-clinic", 4001},
		{"Medical & senior care", 11, "adult-day-care", "senior-transportation", 5001},
		{"Legal services", 25, "adoption-lawyer", "workers-compensation-lawyer", 6001},
		{"Property law & finance", 4, "accountant", "tax-preparer", 7001},
		{"Financial services", 26, "auto-insurance-agent", "wealth-manager", 8001},
		{"Professional services", 24, "bookkeeper", "temp-agency", 9001},
		{"Business services", 14, "commercial-cleaning", "web-designer", 10001},
		{"Property & real estate", 13, "closing-agent", "title-company", 11001},
		{"Events & lifestyle", 17, "bartender", "wedding-planner", 12001},
		{"Education & tutoring", 9, "art-teacher", "tutor", 13001},
		{"Emergency call-outs", 5, "fire-damage-restoration", "water-damage-restoration", 14001},
	}
	if tax.Len() != 336 || len(tax.Industries()) != 336 || len(tax.Categories()) != len(spec) {
		t.Fatalf("got %d industries in %d categories, want 336 in 14", tax.Len(), len(tax.Categories()))
	}
	all := tax.Industries()
	for i, want := range spec {
		category := tax.Categories()[i]
		block := all[:want.count]
		all = all[want.count:]
		if category.Name != want.name || block[0].Slug != want.first || block[len(block)-1].Slug != want.last {
			t.Errorf("got category %s from %s to %s, want %+v", category.Name, block[0].Slug, block[len(block)-1].Slug, want)
		}
		for n, industry := range block {
			if industry.Category != category.Slug || industry.TermID != want.firstID+n {
				t.Errorf("%s: got number %d in %s, want %d in %s", industry.Slug, industry.TermID, industry.Category,
					want.firstID+n, category.Slug)
			}
		}
	}
}

// Partners, quotes and leads use these numbers, so never change a line in the file. To add an
// industry, add a line.
func TestTermIDsNeverChange(t *testing.T) {
	tax, _, _ := shipped(t)
	published, err := os.ReadFile("testdata/term_ids.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(published)), "\n")
	if len(lines) != tax.Len() {
		t.Errorf("got %d published numbers for %d industries", len(lines), tax.Len())
	}
	for _, line := range lines {
		number, slug, _ := strings.Cut(line, "\t")
		if i, ok := tax.BySlug(slug); !ok || strconv.Itoa(tax.At(i).TermID) != number {
			t.Errorf("%s no longer has the number %s", slug, number)
		}
	}
}

func TestTaxonomyLookups(t *testing.T) {
	tax, _, _ := shipped(t)
	for i := range tax.Len() {
		industry := tax.At(i)
		if got, ok := tax.BySlug(industry.Slug); !ok || got != i {
			t.Errorf("BySlug(%s) = %d, %v, want %d", industry.Slug, got, ok, i)
		}
		if got, ok := tax.ByTermID(industry.TermID); !ok || got != i {
			t.Errorf("ByTermID(%d) = %d, %v, want %d", industry.TermID, got, ok, i)
		}
	}
	for _, slug := range []string{"", "Plumber", "plumber ", "home-services"} {
		if _, ok := tax.BySlug(slug); ok {
			t.Errorf("BySlug(%q) found an industry", slug)
		}
	}
	for _, id := range []int{0, -1, 1000, 1105, 15001} {
		if _, ok := tax.ByTermID(id); ok {
			t.Errorf("ByTermID(%d) found an industry", id)
		}
	}
}

func TestTaxonomyReturnsCopies(t *testing.T) {
	tax, _, _ := shipped(t)
	before := tax.At(0)
	tax.Industries()[0].Slug = "changed"
	tax.Categories()[0].Slug = "changed"
	if tax.At(0) != before || slices.ContainsFunc(tax.Categories(), func(c Category) bool { return c.Slug == "changed" }) {
		t.Error("changing a returned slice changed the taxonomy")
	}
}

func TestParseTaxonomyRejects(t *testing.T) {
	const head = "categories:\n  - slug: trades\n    name: Trades\n    industries:\n      1: plumber\n" // the next line is 6
	rejects(t, func(file string, data []byte) error { _, err := ParseTaxonomy(file, data); return err }, []rejection{
		{"empty", "", "f.yaml:1"},
		{"only a comment", "# a comment\n", "f.yaml:1"},
		{"null", "~\n", "f.yaml:1"},
		{"not YAML", "categories: [\n", "f.yaml:2"},
		{"no categories", "{}\n", "f.yaml:1"},
		{"categories not a list", "categories: trades\n", "f.yaml:1"},
		{"unknown key", head + "version: 1\n", `f.yaml:6 "version"`},
		{"second document", head + "---\n{}\n", "f.yaml:6"},
		{"no name", "categories:\n  - slug: trades\n    industries: {1: plumber}\n", "f.yaml:2"},
		{"empty category", "categories:\n  - {}\n",
			"f.yaml:2\nf.yaml:2\nf.yaml:2"},
		{"category not a mapping", "categories:\n  - trades\n", "f.yaml:2"},
		{"slug with capitals", head + "      2: Roofer\n",
			`f.yaml:6 "Roofer"`},
		{"slug is a number", head + "      2: 7\n", "f.yaml:6"},
		{"duplicate slug", head + "      2: plumber\n", `f.yaml:6 "plumber"`},
		{"duplicate id", head + "  - slug: more\n    name: More\n    industries: {1: roofer}\n",
			"f.yaml:8"},
		{"duplicate id in a category", head + "      1: roofer\n", `f.yaml:6 "1"`},
		{"duplicate category", head + "  - slug: trades\n    name: More\n    industries: {2: roofer}\n", `f.yaml:6 "trades"`},
		{"id is a word", head + "      two: roofer\n", `f.yaml:6 "two"`},
		{"id with a leading zero", head + "      02: roofer\n", `f.yaml:6 "02"`},
		{"id too large", head + "      65536: roofer\n", `f.yaml:6 "65536"`},
		{"many problems", head + "      0: roofer\n      3: plumber\n",
			`f.yaml:6 "0"` + "\n" + `f.yaml:7 "plumber"`},
	})
}
