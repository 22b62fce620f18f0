package pricingrules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkExample compares the output for a card with want. want contains either problems, which start with
// the file's name, or the explanation of a cell's price. The cell is read from the explanation's first
// line, and the partner's adjustment, if there is one, from its steps.
func checkExample(t *testing.T, card, want string) {
	t.Helper()
	tax, markets, _ := shipped(t)
	_, table, err := Load("rate_card.yaml", []byte(card), tax, markets)
	if strings.HasPrefix(want, "rate_card.yaml") {
		if err == nil {
			t.Errorf("got no error, want\n%s", want)
		} else if got := err.Error() + "\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		return
	}
	if err != nil {
		t.Fatalf("got error\n%v", err)
	}
	name, _, _ := strings.Cut(want, ":")
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		t.Fatalf("%q is not a cell", name)
	}
	industry, okIndustry := tax.BySlug(parts[0])
	market, okMarket := markets.ByCode(parts[1])
	class, okClass := ParseClass(parts[2])
	if !okIndustry || !okMarket || !okClass {
		t.Fatalf("%q is not a cell", name)
	}
	adjustment := 0
	if _, step, has := strings.Cut(want, "partner's adjustment "); has {
		percent, _, _ := strings.Cut(step, "=")
		var err error
		if adjustment, err = ParseAdjustment(percent); err != nil {
			t.Fatal(err)
		}
	}
	if got := table.ExplainFor(industry, market, class, adjustment).String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Each file in testdata contains a description, a rate card, and one or more expected outputs, each
// after a line "-- answer --".
func TestGoldenCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got no test cases (%v)", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			words, rest, ok := strings.Cut(string(text), "\n-- card --\n")
			sections := strings.Split(rest, "\n-- answer --\n")
			if !ok || strings.TrimSpace(words) == "" || len(sections) < 2 {
				t.Fatal("the file must contain a description, a card and an answer")
			}
			for _, answer := range sections[1:] {
				checkExample(t, sections[0]+"\n", strings.TrimSuffix(answer, "\n")+"\n")
			}
		})
	}
}

const fence = "```"

// blocks returns the language and the text of each fenced block of a documentation page.
func blocks(t *testing.T, page string) (found [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n"+fence) {
		if i%2 == 1 {
			language, body, _ := strings.Cut(part, "\n")
			found = append(found, [2]string{language, body + "\n"})
		}
	}
	return found
}

// In docs/explanation/pricing.md, YAML blocks are rate cards, and the text blocks that follow
// contain their expected output.
func TestDocumentationExamples(t *testing.T) {
	var card string
	answers := 0
	for _, block := range blocks(t, "explanation/pricing.md") {
		switch block[0] {
		case "yaml":
			card = block[1]
		case "text":
			answers++
			checkExample(t, card, block[1])
		}
	}
	if answers < 8 {
		t.Errorf("got %d examples, want at least 8", answers)
	}
}

func TestDocumentedCSVIsValid(t *testing.T) {
	tax, markets, _ := shipped(t)
	for _, block := range blocks(t, "reference/rate-card.md") {
		lines, err := ParseBases("page.csv", []byte(block[1]), tax, markets)
		if err != nil || len(lines) != strings.Count(block[1], "\n")-1 {
			t.Errorf("got %d lines from\n%s\n%v", len(lines), block[1], err)
		}
	}
}
