package pricingrules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// executes checks a text against a card: problems when it begins with the file's
// name, else the explanation of the cell that its first line names, for a partner with
// the adjustment that is among its steps.
func executes(t *testing.T, card, want string) {
	t.Helper()
	tax, markets, _ := shipped(t)
	_, table, err := Load("rate_card.yaml", []byte(card), tax, markets)
	if strings.HasPrefix(want, "rate_card.yaml") {
		if err == nil {
			t.Errorf("the card was accepted; want\n%s", want)
		} else if got := err.Error() + "\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		return
	}
	if err != nil {
		t.Fatalf("the card is refused:\n%v", err)
	}
	name, _, _ := strings.Cut(want, ":")
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		t.Fatalf("%q names no cell", name)
	}
	industry, okIndustry := tax.BySlug(parts[0])
	market, okMarket := markets.ByCode(parts[1])
	class, okClass := ParseClass(parts[2])
	if !okIndustry || !okMarket || !okClass {
		t.Fatalf("%q is no cell", name)
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

// Each file in testdata says in words what it shows, then has a card and, under
// "-- answer --" once or more, what is asked of it and what comes out.
func TestGoldenCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases (%v)", err)
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
				t.Fatal("the file needs words, a card and an answer")
			}
			for _, answer := range sections[1:] {
				executes(t, sections[0]+"\n", strings.TrimSuffix(answer, "\n")+"\n")
			}
		})
	}
}

// The page's YAML blocks are cards, and the text blocks after each its answers. CSV
// blocks are read whole.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/pricing.md")
	if err != nil {
		t.Fatal(err)
	}
	const fence = "```"
	var card string
	answers := 0
	for _, block := range strings.Split(string(page), "\n"+fence)[1:] {
		language, body, _ := strings.Cut(block, "\n")
		switch language {
		case "yaml":
			card = body + "\n"
		case "text":
			answers++
			executes(t, card, body+"\n")
		case "csv":
			tax, markets, _ := shipped(t)
			if lines, err := ParseBases("page.csv", []byte(body), tax, markets); err != nil ||
				len(lines) != strings.Count(body, "\n") {
				t.Errorf("%d lines are read of\n%s\n%v", len(lines), body, err)
			}
		}
	}
	if answers < 8 {
		t.Errorf("%d examples were executed", answers)
	}
}
