package ratecard

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Conflict is a rule that was changed in both the draft and the current version. The current version's
// rule is kept. Yours is the draft's rule, or nil if the draft removed the rule.
type Conflict struct {
	Target pricingrules.Target
	Yours  *pricingrules.Rule
}

// Update bases a draft on the current version and keeps the draft's changes. The update is a single
// edit, which can be undone. If a rule was changed in both the draft and the current version,
// Update keeps the rule in the current version and returns a conflict.
func (s *Service) Update(ctx context.Context, card uuid.UUID, version int) (conflicts []Conflict, err error) {
	err = s.changeCard(ctx, card, version, editable, func(tx *gorm.DB, before models.RateCard) error {
		current, err := currentCard(tx)
		if err != nil || current.Version == before.BasedOn {
			return err
		}
		base, err := versionRules(tx, before.BasedOn)
		if err != nil {
			return err
		}
		theirs, err := rulesOf(tx, current.ID)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("Updated to version %d", current.Version)
		_, err = s.editLocked(tx, before, what, map[string]any{"based_on": current.Version}, func(_ models.RateCard, sh *draftRules) error {
			var merged pricingrules.Card
			merged, conflicts = merge(base, sh.card(), theirs)
			sh.replace(merged)
			return nil
		})
		return err
	})
	return conflicts, err
}

func versionRules(tx *gorm.DB, n int) (pricingrules.Card, error) {
	card, err := version(tx, n)
	if err != nil {
		return pricingrules.Card{}, err
	}
	return rulesOf(tx, card.ID)
}

// merge combines two changed copies of the card base: the draft, which is yours, and the current
// version, which is theirs. It goes target by target. If a target's rules were changed in only one of
// the copies, merge uses the changed rules. If they were changed in both copies, in different ways,
// merge uses the rules of the current version and returns a conflict.
func merge(base, yours, theirs pricingrules.Card) (merged pricingrules.Card, conflicts []Conflict) {
	of := func(card pricingrules.Card) map[pricingrules.Target][]pricingrules.Rule {
		rules := map[pricingrules.Target][]pricingrules.Rule{}
		for _, rule := range card.Rules {
			rule.Line = 0
			rules[rule.Target()] = append(rules[rule.Target()], rule)
		}
		return rules
	}
	old, mine, now := of(base), of(yours), of(theirs)
	same := func(a, b []pricingrules.Rule) bool {
		return sameRules(pricingrules.Card{Rules: a}, pricingrules.Card{Rules: b})
	}
	done := map[pricingrules.Target]bool{}
	for _, rule := range slices.Concat(theirs.Rules, yours.Rules) {
		target := rule.Target()
		if done[target] {
			continue
		}
		done[target] = true
		switch {
		case same(mine[target], old[target]) || same(mine[target], now[target]):
			merged.Rules = append(merged.Rules, now[target]...)
		case same(now[target], old[target]):
			merged.Rules = append(merged.Rules, mine[target]...)
		default:
			merged.Rules = append(merged.Rules, now[target]...)
			conflicts = append(conflicts, conflictOf(target, mine[target]))
		}
	}
	return merged, conflicts
}

func conflictOf(target pricingrules.Target, rules []pricingrules.Rule) Conflict {
	k := Conflict{Target: target}
	if len(rules) > 0 {
		k.Yours = &rules[0]
	}
	return k
}
