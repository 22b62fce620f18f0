package ratecard

import (
	"context"

	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// HistoryVersions is the number of versions that a price history covers. Their compiled cards fit in the cache.
const HistoryVersions = cachedCards - 4

// PriceChange is a version that changed the price of a lead, and the new price.
type PriceChange struct {
	Card models.RateCard
	Cell pricingrules.Cell
}

// PriceHistory returns the versions that changed the rate card's price of a lead, newest first. It covers the newest
// versions. The last of them is included even if it did not change the price. The result more reports whether there are
// older versions. Errors are those of Explain.
func (s *Service) PriceHistory(ctx context.Context, lead Lead) (changes []PriceChange, more bool, err error) {
	versions, more, err := s.Versions(ctx, 0, HistoryVersions)
	if err != nil {
		return nil, false, err
	}
	for _, card := range versions {
		compiled, err := s.ExamineCard(ctx, card)
		if err != nil {
			return nil, false, err
		}
		e, err := Explain(compiled, lead, pricingrules.PartnerPricing{})
		if err != nil {
			return nil, false, err
		}
		if last := len(changes) - 1; last >= 0 && changes[last].Cell == e.Cell {
			changes[last].Card = card // an older version already had this price
			continue
		}
		changes = append(changes, PriceChange{Card: card, Cell: e.Cell})
	}
	return changes, more, nil
}
