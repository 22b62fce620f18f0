package pricingrules

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/base/iso3166"
	"github.com/pingpost/pingpost/internal/base/money"
)

type source struct {
	card    Card
	reading []reading // one for each rule; nil if the card is not from a file
}

type reading struct {
	lines   map[string]int // the line of each key
	partial bool           // part of the rule could not be read
	loose   bool           // part of the selector may be missing, so it may match too many cells
}

// ParseCard parses a rate card from YAML. The error has type Problems. ParseCard does not check whether
// industries, categories and countries exist. Compile and Load check this.
func ParseCard(file string, data []byte) (Card, error) {
	src, problems := readCard(file, data)
	for i := range src.card.Rules {
		problems = append(problems, src.findings(i)...)
	}
	if err := problems.err(); err != nil {
		return Card{}, err
	}
	return src.card, nil
}

// Load parses a rate card from YAML and compiles it. The error has type Problems. Load reports problems
// with cells only if the file and all of its rules are valid.
func Load(file string, data []byte, tax *Taxonomy, markets *Markets) (Card, *Table, error) {
	src, problems := readCard(file, data)
	table, more := compile(src, tax, markets, len(problems) == 0)
	if err := append(problems, more...).err(); err != nil {
		return Card{}, nil, err
	}
	return src.card, table, nil
}

// line returns the line of a field in a rule, or the line of the rule if the field's line is unknown.
func (s source) line(rule int, field string) int {
	if line, ok := s.read(rule).lines[field]; ok {
		return line
	}
	return s.card.Rules[rule].Line
}

func (s source) read(rule int) reading {
	if s.reading == nil {
		return reading{}
	}
	return s.reading[rule]
}

func (s source) problem(rule int, field, message string) Problem {
	return Problem{File: s.card.File, Line: s.line(rule, field), Rule: rule, Message: message}
}

// findings returns the problems with one rule. If part of the rule could not be read, findings does not
// report that the rule has no effect, because the missing part may set an effect.
func (s source) findings(rule int) (problems Problems) {
	for _, f := range s.card.Rules[rule].findings() {
		if f.field == "" && s.read(rule).partial {
			continue
		}
		problems = append(problems, s.problem(rule, f.field, f.message))
	}
	return problems
}

func readCard(file string, data []byte) (source, Problems) {
	r := &reader{file: file}
	src := source{card: Card{File: file}, reading: []reading{}}
	if root := r.root(data); root != nil {
		fields := r.fields(root, "the rate card", "rules")
		if e, ok := fields["rules"]; ok {
			rules := r.list(e.value, "rules")
			if len(rules) > MaxRules {
				r.fail(rules[MaxRules].Line,
					"a rate card can have at most %d rules; use rules for categories instead of industries", MaxRules)
				rules = nil
			}
			for i, node := range rules {
				if r.problems.full() {
					break
				}
				src.add(r, node)
				rules[i] = nil // the node is no longer needed, and a large file has many
			}
		} else if root.Kind == yaml.MappingNode {
			r.fail(root.Line, "the rules are missing; list them under the key rules")
		}
	}
	return src, r.problems
}

// add reads one rule and adds it to the card. If a field cannot be read, add reports a problem and
// leaves the field unset, so that the rest of the rule is still checked.
func (s *source) add(r *reader, node *yaml.Node) {
	before := len(r.problems)
	rule, lines := Rule{Line: node.Line}, map[string]int{}
	fields := r.fields(node, "a rule",
		"industry", "category", "country", "urgency", "base", "floor", "ceiling", "multiplier", "exclude", "note")
	for key, e := range fields {
		lines[key] = e.line
	}
	for _, text := range []struct {
		key string
		to  *string
	}{
		{"industry", &rule.Industry}, {"category", &rule.Category}, {"country", &rule.Country},
		{"urgency", &rule.Urgency}, {"note", &rule.Note},
	} {
		if e, ok := fields[text.key]; ok {
			*text.to = r.text(e.value, text.key)
		}
	}
	rule.Country = iso3166.Country(rule.Country)
	loose := len(r.problems) > before
	for _, amounts := range []struct {
		key string
		to  *Amounts
	}{
		{"base", &rule.Base}, {"floor", &rule.Floor}, {"ceiling", &rule.Ceiling},
	} {
		if e, ok := fields[amounts.key]; ok {
			r.amounts(e.value, amounts.key, amounts.to)
		}
	}
	if e, ok := fields["multiplier"]; ok {
		rule.Multiplier = r.multiplier(e.value)
	}
	if e, ok := fields["exclude"]; ok {
		rule.Exclude = r.exclusion(e.value)
	}
	for i := before; i < len(r.problems); i++ {
		r.problems[i].Rule = len(s.card.Rules)
	}
	s.card.Rules = append(s.card.Rules, rule)
	s.reading = append(s.reading, reading{lines: lines, partial: len(r.problems) > before, loose: loose})
}

func (r *reader) amounts(node *yaml.Node, key string, to *Amounts) {
	if node.Kind == yaml.MappingNode && len(node.Content) == 0 {
		r.fail(node.Line, "%s has no amount; add one for each currency, such as {GBP: 45.6}", key)
	}
	for e := range r.entries(node, key) {
		currency, err := money.ParseCurrency(e.key)
		if err != nil {
			r.fail(e.line, "unknown key %s; %s can have %s", quoted(e.key), key, currencyCodes())
			continue
		}
		what := key + " in " + e.key
		text := r.number(e.value, what)
		if text == "" {
			continue
		}
		minor, err := ParseAmount(text)
		if err != nil {
			r.fail(e.value.Line, "%s: %v", what, err)
			continue
		}
		to[currency] = minor
	}
}

func (r *reader) multiplier(node *yaml.Node) int64 {
	text := r.number(node, "multiplier")
	if text == "" {
		return 0
	}
	m, err := ParseMultiplier(text)
	if err == nil {
		err = checkMultiplier(m)
	}
	if err != nil {
		r.fail(node.Line, "multiplier: %v", err)
		return 0
	}
	return m
}

func (r *reader) exclusion(node *yaml.Node) Exclusion {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" {
		r.fail(node.Line, "exclude must be true or false, not %s", kindName(node))
		return ExcludeUnset
	}
	if strings.EqualFold(node.Value, "true") {
		return ExcludeTrue
	}
	return ExcludeFalse
}
