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

// PriceHistory is a part of the history of a lead's price.
type PriceHistory struct {
	Changes        []PriceChange // newest first
	Newest, Oldest int           // the versions that this part covers
	More           bool          // there are older versions, so the oldest change can be older than its version
}

// PriceHistory returns the versions that changed the rate card's price of a lead. It covers the newest versions before
// the given one, or the newest of all if before is 0. Errors are those of Explain.
func (s *Service) PriceHistory(ctx context.Context, lead Lead, before int) (h PriceHistory, err error) {
	versions, more, err := s.Versions(ctx, before, HistoryVersions)
	if err != nil || len(versions) == 0 {
		return h, err
	}
	h.Newest, h.Oldest, h.More = versions[0].Version, versions[len(versions)-1].Version, more
	for _, card := range versions {
		compiled, err := s.ExamineCard(ctx, card)
		if err != nil {
			return h, err
		}
		e, err := Explain(compiled, lead, pricingrules.PartnerPricing{})
		if err != nil {
			return h, err
		}
		if last := len(h.Changes) - 1; last >= 0 && h.Changes[last].Cell == e.Cell {
			h.Changes[last].Card = card // an older version already had this price
			continue
		}
		h.Changes = append(h.Changes, PriceChange{Card: card, Cell: e.Cell})
	}
	return h, nil
}
