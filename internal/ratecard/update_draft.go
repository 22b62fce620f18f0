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

// Conflict is a rule that both the draft and the version in force changed since the draft
// was begun. Theirs stays; Yours is what the draft wanted, nil where it took the rule out.
type Conflict struct {
	Target pricingrules.Target
	Yours  *pricingrules.Rule
}

// Update brings a draft up to date with the version in force: what the draft changed of
// the version that it was based on is done to the newer one. It is an edit like any
// other, and can be undone. What both changed stays as published, and is returned.
func (s *Service) Update(ctx context.Context, card uuid.UUID, version int) (kept []Conflict, err error) {
	err = s.change(ctx, card, version, []models.RateCardState{models.RateCardDraft}, func(tx *gorm.DB, had models.RateCard) error {
		current, err := currentCard(tx)
		if err != nil || current.Version == had.BasedOn {
			return err
		}
		base, err := versionRules(tx, had.BasedOn)
		if err != nil {
			return err
		}
		theirs, err := rulesOf(tx, current.ID)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("Brought up to date with version %d", current.Version)
		_, err = s.editLocked(tx, had, what, map[string]any{"based_on": current.Version}, func(_ models.RateCard, sh *draftRules) error {
			var merged pricingrules.Card
			merged, kept = merge(base, sh.card(), theirs)
			sh.replace(merged)
			return nil
		})
		return err
	})
	return kept, err
}

func versionRules(tx *gorm.DB, n int) (pricingrules.Card, error) {
	card, err := version(tx, n)
	if err != nil {
		return pricingrules.Card{}, err
	}
	return rulesOf(tx, card.ID)
}

// merge does to theirs what yours did to base, target by target: a target whose rules
// only yours changed has yours', one whose rules both changed has theirs, and is kept.
func merge(base, yours, theirs pricingrules.Card) (merged pricingrules.Card, kept []Conflict) {
	of := func(card pricingrules.Card) map[pricingrules.Target][]pricingrules.Rule {
		rules := map[pricingrules.Target][]pricingrules.Rule{}
		for _, rule := range card.Rules {
			rule.Line = 0
			rules[rule.Target()] = append(rules[rule.Target()], rule)
		}
		return rules
	}
	was, mine, now := of(base), of(yours), of(theirs)
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
		case same(mine[target], was[target]) || same(mine[target], now[target]):
			merged.Rules = append(merged.Rules, now[target]...)
		case same(now[target], was[target]):
			merged.Rules = append(merged.Rules, mine[target]...)
		default:
			merged.Rules = append(merged.Rules, now[target]...)
			kept = append(kept, conflictOf(target, mine[target]))
		}
	}
	return merged, kept
}

func conflictOf(target pricingrules.Target, rules []pricingrules.Rule) Conflict {
	k := Conflict{Target: target}
	if len(rules) > 0 {
		k.Yours = &rules[0]
	}
	return k
}
