package pricingrules

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func FuzzParseCard(f *testing.F) {
	for _, c := range ruleRejections() {
		f.Add([]byte("rules:\n  - " + c.file + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		card, err := ParseCard("f.yaml", data)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("got an error without a message")
			}
			return
		}
		sameAfterFormatting(t, card)
	})
}

func FuzzParseBases(f *testing.F) {
	tax, markets, _ := shipped(f)
	for _, c := range baseRejections() {
		if len(c.file) < 1000 {
			f.Add([]byte(c.file))
		}
	}
	f.Add([]byte("\ufeffindustry;country;urgency;base;currency\r\nplumber;GB;any;45,60;GBP\r\n\"taxi\";other;urgent;;\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := ParseBases("f.csv", data, tax, markets)
		if err != nil {
			if err.Error() == "" || lines != nil {
				t.Fatalf("got %d lines and error %q, want no lines and a message", len(lines), err)
			}
			return
		}
		sameBasesAfterFormatting(t, tax, markets, lines)
	})
}

func sameBasesAfterFormatting(t *testing.T, tax *Taxonomy, markets *Markets, lines []BaseLine) {
	t.Helper()
	var rows []BaseRow
	for i, line := range lines {
		lines[i].Line = i + 2
		row := BaseRow{
			Category: line.Target.Category,
			Target:   line.Target,
			Base:     Base{Minor: line.Minor, Direct: line.Minor > 0, Rule: -1},
		}
		if industry, ok := tax.BySlug(line.Target.Industry); ok {
			row.Category = tax.At(industry).Category
		}
		market, _ := markets.ByCode(line.Target.Country)
		row.Currency = markets.At(market).Currency
		rows = append(rows, row)
	}
	var text bytes.Buffer
	if err := FormatBases(&text, rows); err != nil {
		t.Fatal(err)
	}
	if again, err := ParseBases("f.csv", text.Bytes(), tax, markets); err != nil || !slices.Equal(again, lines) {
		t.Fatalf("got\n%+v (%v)\nfrom\n%s", again, err, text.Bytes())
	}
}

func FuzzParseTaxonomy(f *testing.F) {
	for _, text := range []string{
		"categories:\n  - {slug: a, name: \"A: b\", industries: {1: x-y, 65535: z}}\n  - {slug: b, name: B, industries: {}}\n",
		"categories:\n  - slug: home-services\n    name: Home services\n    industries:\n      1001: plumber\n      1002: roofer\n",
		"categories: [{slug: a, name: A, industries: {1: x}}, {slug: a, name: A, industries: {01: x}}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if tax, err := ParseTaxonomy("f.yaml", data); err == nil {
			sameTaxonomyAfterFormatting(t, tax)
		}
	})
}

func TestShippedTaxonomyRoundTrip(t *testing.T) {
	tax, _, _ := shipped(t)
	sameTaxonomyAfterFormatting(t, tax)
}

func sameTaxonomyAfterFormatting(t *testing.T, tax *Taxonomy) {
	t.Helper()
	text := formatTaxonomy(tax)
	again, err := ParseTaxonomy("f.yaml", text)
	if err != nil {
		t.Fatalf("the formatted taxonomy was rejected:\n%v\n%s", err, text)
	}
	if !slices.Equal(again.industries, tax.industries) || !slices.Equal(again.categories, tax.categories) {
		t.Fatalf("got\n%+v\nfrom\n%s", again, text)
	}
}

func formatTaxonomy(tax *Taxonomy) []byte {
	var b strings.Builder
	b.WriteString("categories:\n")
	for _, category := range tax.categories {
		fmt.Fprintf(&b, "  - slug: %q\n    name: %s\n    industries: {", category.Slug, strconv.Quote(category.Name))
		for _, industry := range tax.industries {
			if industry.Category == category.Slug {
				fmt.Fprintf(&b, "%d: %q, ", industry.TermID, industry.Slug)
			}
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func FuzzParseMarkets(f *testing.F) {
	shippedText, err := files.ReadFile("markets.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(shippedText)
	f.Add([]byte("other: {name: Others, currency: GBP}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		markets, err := ParseMarkets("f.yaml", data)
		if err != nil {
			return
		}
		text := formatMarkets(markets)
		again, err := ParseMarkets("f.yaml", text)
		if err != nil {
			t.Fatalf("the formatted markets were rejected:\n%v\n%s", err, text)
		}
		if !slices.Equal(again.list, markets.list) || again.index != markets.index {
			t.Fatalf("got\n%+v\nfrom\n%s", again.list, text)
		}
	})
}

func formatMarkets(m *Markets) []byte {
	var b strings.Builder
	b.WriteString("markets:\n")
	other := len(m.list) - 1
	for _, market := range m.list[:other] {
		fmt.Fprintf(&b, "  - {country: %q, name: %s, currency: %s}\n", market.Code, strconv.Quote(market.Name), market.Currency)
	}
	if other == 0 {
		b.WriteString("  []\n")
	}
	fmt.Fprintf(&b, "other: {name: %s, currency: %s}\n", strconv.Quote(m.list[other].Name), m.list[other].Currency)
	return []byte(b.String())
}
