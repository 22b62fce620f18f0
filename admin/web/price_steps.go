package web

import (
	"strings"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// ExplainSteps returns the steps in the calculation of a price. The function ruleURL returns the URL of
// the page where a rule can be edited.
func ExplainSteps(e pricingrules.Explanation, ruleURL func(rule int) string) (steps []ui.ExplainStep) {
	for _, s := range e.Steps {
		step := ui.ExplainStep{
			Name:   ui.Sentence(s.Name),
			Effect: s.Effect,
			Value:  atLeastCents(s.Value),
			Rule:   s.Selector,
			Note:   s.Note,
		}
		if s.Rule >= 0 {
			step.URL = ruleURL(s.Rule)
		}
		steps = append(steps, step)
	}
	return steps
}

// atLeastCents pads a decimal to at least two decimal places.
func atLeastCents(decimal string) string {
	if decimal == "" {
		return ""
	}
	whole, cents, _ := strings.Cut(decimal, ".")
	return whole + "." + cents + strings.Repeat("0", max(0, 2-len(cents)))
}
