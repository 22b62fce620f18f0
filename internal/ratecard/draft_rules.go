package ratecard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// draftRules contains the rules of a draft that is being edited. Each rule has a position.
type draftRules struct {
	rules map[int]pricingrules.Rule
	last  int
	// byTarget lists the positions of each target's rules in ascending order.
	byTarget map[pricingrules.Target][]int
}

func newDraftRules(rows []models.PricingRule) (*draftRules, error) {
	card, err := fromRows(rows)
	if err != nil {
		return nil, err
	}
	positions := make([]int, len(rows))
	for i, row := range rows {
		positions[i] = row.Position
	}
	return draftRulesOf(card, positions), nil
}

func draftRulesOf(card pricingrules.Card, positions []int) *draftRules {
	s := &draftRules{rules: make(map[int]pricingrules.Rule, len(positions)), byTarget: map[pricingrules.Target][]int{}}
	for i, rule := range card.Rules {
		s.put(positions[i], rule)
	}
	return s
}

func (s *draftRules) clone() *draftRules {
	c := &draftRules{
		rules: make(map[int]pricingrules.Rule, len(s.rules)), last: s.last,
		byTarget: make(map[pricingrules.Target][]int, len(s.byTarget)),
	}
	for at, rule := range s.rules {
		c.rules[at] = rule
	}
	for target, list := range s.byTarget {
		c.byTarget[target] = slices.Clone(list)
	}
	return c
}

func (s *draftRules) put(at int, rule pricingrules.Rule) {
	s.drop(at)
	s.rules[at] = rule
	list := s.byTarget[rule.Target()]
	i, _ := slices.BinarySearch(list, at)
	s.byTarget[rule.Target()] = slices.Insert(list, i, at)
	s.last = max(s.last, at)
}

func (s *draftRules) add(rule pricingrules.Rule) { s.put(s.last+1, rule) }

func (s *draftRules) drop(at int) {
	rule, ok := s.rules[at]
	if !ok {
		return
	}
	delete(s.rules, at)
	target := rule.Target()
	s.byTarget[target] = slices.DeleteFunc(s.byTarget[target], func(p int) bool { return p == at })
}

func (s *draftRules) positions() []int {
	list := make([]int, 0, len(s.rules))
	for at := range s.rules {
		list = append(list, at)
	}
	slices.Sort(list)
	return list
}

func (s *draftRules) card() pricingrules.Card {
	card := pricingrules.Card{Rules: make([]pricingrules.Rule, 0, len(s.rules))}
	for _, at := range s.positions() {
		card.Rules = append(card.Rules, s.rules[at])
	}
	return card
}

// base returns a target's own base price in a currency, or 0 if the target has none.
func (s *draftRules) base(target pricingrules.Target, currency money.Currency) int64 {
	for _, at := range s.byTarget[target] {
		if minor := s.rules[at].Base[currency]; minor != 0 {
			return minor
		}
	}
	return 0
}

// setBase sets a target's own base price in a currency. If the parameter minor is 0, it removes this
// base price. If the target has several rules, setBase changes the first one with a base price in this
// currency. If no rule has one, it changes the first rule with a base price in another currency or, if
// there is none, the first rule. If the target has no rule, setBase adds one. It removes a rule that no
// longer has any effect.
func (s *draftRules) setBase(target pricingrules.Target, currency money.Currency, minor int64) {
	holder := 0
	for _, at := range s.byTarget[target] {
		rule := s.rules[at]
		if rule.Base[currency] != 0 {
			holder = at
			break
		}
		if holder == 0 || (rule.Base != pricingrules.Amounts{} && s.rules[holder].Base == pricingrules.Amounts{}) {
			holder = at
		}
	}
	rule := s.rules[holder].For(target)
	rule.Base[currency] = minor
	switch {
	case holder == 0 && minor == 0:
	case holder == 0:
		s.add(rule)
	case rule.SetsNothing():
		s.drop(holder)
	default:
		s.put(holder, rule)
	}
}

// ruleChange is a change to the rule at one position. The field Was is nil for a new rule, and the
// field Is is nil for a removed rule.
type ruleChange struct {
	At  int                `json:"at"`
	Was *pricingrules.Rule `json:"was,omitempty"`
	Is  *pricingrules.Rule `json:"is,omitempty"`
}

type patch []ruleChange

func (s *draftRules) diff(next *draftRules) (p patch) {
	for _, at := range s.positions() {
		old := s.rules[at]
		is, ok := next.rules[at]
		switch {
		case !ok:
			p = append(p, ruleChange{At: at, Was: &old})
		case is != old:
			p = append(p, ruleChange{at, &old, &is})
		}
	}
	for _, at := range next.positions() {
		if _, known := s.rules[at]; !known {
			is := next.rules[at]
			p = append(p, ruleChange{At: at, Is: &is})
		}
	}
	return p
}

// maxAuditedRules is the maximum number of rules in the audit event of an edit. The edit itself contains all.
const maxAuditedRules = 20

// effects describes what the changed rules set before and after the edit, by the selector of the rule.
func (p patch) effects() (before, after map[string]any) {
	before, after = map[string]any{}, map[string]any{}
	for _, c := range p[:min(len(p), maxAuditedRules)] {
		if c.Was != nil {
			before[c.Was.Selector()] = strings.Join(c.Was.Effects(), ", ")
		}
		if c.Is != nil {
			after[c.Is.Selector()] = strings.Join(c.Is.Effects(), ", ")
		}
	}
	return before, after
}

func (p patch) inverse() patch {
	back := make(patch, len(p))
	for i, step := range p {
		back[i] = ruleChange{step.At, step.Is, step.Was}
	}
	return back
}

func (p patch) write(tx *gorm.DB, card uuid.UUID) error {
	var gone []int
	var rows []models.PricingRule
	for _, step := range p {
		if step.Was != nil {
			gone = append(gone, step.At)
		}
		if step.Is != nil {
			row, err := toRow(card, step.At, *step.Is)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	for part := range slices.Chunk(gone, 10_000) {
		done := tx.Where("rate_card_id = ? AND position IN ?", card, part).Delete(&models.PricingRule{})
		if done.Error != nil {
			return done.Error
		}
		if done.RowsAffected != int64(len(part)) {
			return fmt.Errorf("deleted %d rules, want %d", done.RowsAffected, len(part))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return tx.CreateInBatches(rows, 500).Error
}

// check returns an error if a rule is not valid or if two rules conflict. It allows cells without a
// price. A draft with such cells can be saved, but not published.
func (s *Service) check(next *draftRules) error {
	if len(next.rules) > pricingrules.MaxRules {
		return apperr.New(apperr.Invalid, "too_many_rules",
			fmt.Sprintf("A rate card can have at most %d rules. Use rules for categories instead of industries.", pricingrules.MaxRules))
	}
	if problems := pricingrules.Check(next.card(), s.taxonomy, s.markets); len(problems) > 0 {
		return rejection(problems)
	}
	return nil
}
