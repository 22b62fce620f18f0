package web

import (
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// ExplainSteps returns the steps in the calculation of a price. The function ruleURL returns the URL of
// the page where a rule can be edited.
func ExplainSteps(e pricingrules.Explanation, ruleURL func(rule int) string) (steps []ui.ExplainStep) {
	for _, s := range e.Steps {
		step := ui.ExplainStep{
			Name:   ui.StepName(s.Name),
			Effect: ui.StepEffect(s.Name, s.Effect, e.Cell.Currency.String()),
			Value:  ui.AtLeastCents(s.Value),
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
