package pricingrules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/money"
)

// Card is a rate card. The order of its rules has no effect on prices. The field File is the name of
// the file that the rules were read from, or "" if there is no file.
type Card struct {
	File  string
	Rules []Rule
}

// Amounts contains at most one amount per currency, in minor units. 0 means that there is no amount
// in that currency. For example, Amounts{money.GBP: 4560} contains only 45.60 GBP.
type Amounts [money.AUD + 1]int64

// Exclusion states whether a rule excludes its cells.
type Exclusion uint8

const (
	ExcludeUnset Exclusion = iota // the rule does not affect whether cells are excluded
	ExcludeTrue                   // the rule excludes its cells
	ExcludeFalse                  // the rule includes its cells, even if a broader rule excludes them
)

// Rule selects cells and sets their base price, floor, ceiling, multiplier or exclusion. A selector
// field that is "" matches everything. Industry and Category must not both be set. Rules can be
// compared with ==.
type Rule struct {
	Industry, Category string // slugs
	Country            string // the code of a market
	Urgency            string // the name of a class

	Base, Floor, Ceiling Amounts
	Multiplier           int64 // in ten-thousandths: 15000 is × 1.5; 0 means no multiplier
	Exclude              Exclusion

	Note string
	Line int // the rule's line in Card.File; 0 if there is no file
}

const (
	// MaxAmount is the limit for base prices, floors, ceilings and prices, in minor units. A larger
	// amount is probably a typo. The limit also ensures that intermediate results fit in 128 bits.
	MaxAmount = 100_000_000
	// MultiplierOne represents × 1, which leaves a price unchanged.
	MultiplierOne = 10_000
	// MaxMultiplier is the largest multiplier, × 100.
	MaxMultiplier = 100 * MultiplierOne
	// MaxNote is the maximum length of a note, in code points.
	MaxNote = 200
)

// Selector describes the cells that the rule applies to, such as "industry: plumber, country: GB".
func (r Rule) Selector() string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"industry", r.Industry}, {"category", r.Category}, {"country", r.Country}, {"urgency", r.Urgency},
	} {
		if part.value != "" {
			parts = append(parts, part.name+": "+part.value)
		}
	}
	if len(parts) == 0 {
		return "every lead"
	}
	return strings.Join(parts, ", ")
}

// Effects describes what the rule sets, such as "base price: 45.60 GBP" and "× 1.5".
func (r Rule) Effects() (texts []string) {
	for _, set := range []struct {
		name    string
		amounts Amounts
	}{{"base price", r.Base}, {"floor", r.Floor}, {"ceiling", r.Ceiling}} {
		if text := set.amounts.String(); text != "" {
			texts = append(texts, set.name+": "+text)
		}
	}
	if r.Multiplier != 0 {
		texts = append(texts, "× "+FormatMultiplier(r.Multiplier))
	}
	switch r.Exclude {
	case ExcludeUnset:
	case ExcludeTrue:
		texts = append(texts, "excluded")
	case ExcludeFalse:
		texts = append(texts, "not excluded (overrides broader rules)")
	}
	return texts
}

// String formats the amounts, such as "45.60 GBP, 52.00 EUR".
func (a Amounts) String() string {
	var texts []string
	for _, c := range money.Currencies {
		if a[c] != 0 {
			texts = append(texts, money.Amount{Minor: a[c], Currency: c}.String())
		}
	}
	return strings.Join(texts, ", ")
}

// SetsNothing reports whether the rule has no effect.
func (r Rule) SetsNothing() bool {
	return r.Base == (Amounts{}) && r.Floor == (Amounts{}) && r.Ceiling == (Amounts{}) && r.Multiplier == 0 &&
		r.Exclude == ExcludeUnset
}

// finding is a problem with one field of a rule. If field is "", the problem concerns the whole rule.
type finding struct{ field, message string }

// findings returns the problems with a rule that can be found without the taxonomy and the list of
// markets.
func (r Rule) findings() []finding {
	var found []finding
	add := func(field, format string, args ...any) {
		found = append(found, finding{field, fmt.Sprintf(format, args...)})
	}
	if r.Industry != "" && r.Category != "" {
		add("category", "industry and category are both set; keep one")
	}
	if _, ok := ParseClass(r.Urgency); r.Urgency != "" && !ok {
		add("urgency", "urgency %s is not one of %s", quoted(r.Urgency), strings.Join(classNames[:], ", "))
	}
	for _, effect := range r.amounts() {
		for _, currency := range money.Currencies {
			if minor := effect.amounts[currency]; minor != 0 {
				if err := checkAmount(minor); err != nil {
					add(effect.field, "%s in %s: %v", effect.field, currency, err)
				}
			}
		}
	}
	if err := checkMultiplier(r.Multiplier); r.Multiplier != 0 && err != nil {
		add("multiplier", "multiplier: %v", err)
	}
	if r.Exclude > ExcludeFalse {
		add("exclude", "exclude must be true or false")
	}
	if err := checkNote(r.Note); err != nil {
		add("note", "note: %v", err)
	}
	if r.SetsNothing() {
		add("", "the rule has no effect; add a base, floor, ceiling, multiplier or exclude")
	}
	return found
}

type amountsOf struct {
	field   string
	amounts Amounts
}

func (r Rule) amounts() [3]amountsOf {
	return [3]amountsOf{{"base", r.Base}, {"floor", r.Floor}, {"ceiling", r.Ceiling}}
}

func checkAmount(minor int64) error {
	if minor <= 0 {
		return fmt.Errorf("must be above 0")
	}
	if minor > MaxAmount {
		return fmt.Errorf("must be at most %s", decimal(MaxAmount))
	}
	return nil
}

func checkMultiplier(multiplier int64) error {
	if multiplier <= 0 {
		return fmt.Errorf("must be above 0")
	}
	if multiplier > MaxMultiplier {
		return fmt.Errorf("must be at most %s", FormatMultiplier(MaxMultiplier))
	}
	return nil
}

func checkNote(note string) error {
	if !utf8.ValidString(note) {
		return fmt.Errorf("must be UTF-8")
	}
	if strings.ContainsFunc(note, unicode.IsControl) {
		return fmt.Errorf("must not contain line breaks or control characters")
	}
	if utf8.RuneCountInString(note) > MaxNote {
		return fmt.Errorf("must be at most %d characters", MaxNote)
	}
	return nil
}

func decimal(minor int64) string { return string(money.AppendDecimal(nil, minor)) }

func currencyCodes() string {
	codes := make([]string, len(money.Currencies))
	for i, c := range money.Currencies {
		codes[i] = c.String()
	}
	return strings.Join(codes, ", ")
}
