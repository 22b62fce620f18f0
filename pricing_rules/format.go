package pricingrules

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/pingpost/pingpost/internal/base/money"
)

// FormatCard formats a rate card as YAML. Parsing the result with ParseCard returns the same rules,
// apart from line numbers.
func FormatCard(card Card) []byte {
	var b bytes.Buffer
	if len(card.Rules) == 0 {
		return []byte("rules: []\n")
	}
	b.WriteString("rules:\n")
	for _, rule := range card.Rules {
		indent := "  - "
		line := func(key, value string) {
			fmt.Fprintf(&b, "%s%s: %s\n", indent, key, value)
			indent = "    "
		}
		for _, text := range []struct{ key, value string }{
			{"industry", rule.Industry},
			{"category", rule.Category},
			{"country", rule.Country},
			{"urgency", rule.Urgency},
		} {
			if text.value != "" {
				line(text.key, word(text.value))
			}
		}
		for _, effect := range rule.amounts() {
			if effect.amounts != (Amounts{}) {
				line(effect.field, formatAmounts(effect.amounts))
			}
		}
		if rule.Multiplier != 0 {
			line("multiplier", FormatMultiplier(rule.Multiplier))
		}
		if rule.Exclude != ExcludeUnset {
			line("exclude", strconv.FormatBool(rule.Exclude == ExcludeTrue))
		}
		if rule.Note != "" {
			line("note", strconv.Quote(rule.Note))
		}
	}
	return b.Bytes()
}

func formatAmounts(amounts Amounts) string {
	out := []byte{'{'}
	for _, currency := range money.Currencies {
		if amounts[currency] == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ", "...)
		}
		out = append(out, currency.String()+": "...)
		out = money.AppendDecimal(out, amounts[currency])
	}
	return string(append(out, '}'))
}

// word formats a YAML string. It leaves slugs and country codes without quotes unless a YAML parser
// could read them as another type, and quotes all other text. Go's escape sequences are valid in YAML.
func word(s string) string {
	switch s {
	case "true", "false", "null", "yes", "no", "NO", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	if isSlug(s) || isCountry(s) {
		return s
	}
	return strconv.Quote(s)
}
