package partners

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// adjustmentChange is a change of a partner's price adjustment in the audit log.
type adjustmentChange struct {
	At            time.Time
	Before, After string // as formatted by pricingrules.FormatAdjustment
}

// AdjustmentsAt returns the price adjustments that can have applied to a quote that was issued at the given
// time, the most likely first. There is more than one if the adjustment was changed within agreementGrace of
// that time. Earlier adjustments are read from the audit log (decision 78).
func (s *Service) AdjustmentsAt(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, issued time.Time,
) ([]int, error) {
	if !sc.Allows(partner) {
		return nil, errNoPartner
	}
	// Read the current adjustment first. If it changes before the second query, the audit log has the old one.
	own, err := ownPrice(s.db.Gorm.WithContext(ctx), partner)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Pool.Query(ctx, `SELECT at, before->>'adjustment', after->>'adjustment' FROM audit_events
		WHERE object_kind = 'partner' AND object_id = $1 AND action = 'partner.prices' AND outcome = 'done'
			AND before->>'adjustment' <> '' AND after->>'adjustment' <> '' AND at > $2
		ORDER BY id`, id.Format(id.Partner, partner), issued.Add(-agreementGrace))
	if err != nil {
		return nil, postgres.Translate(err)
	}
	changes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[adjustmentChange])
	if err != nil {
		return nil, postgres.Translate(err)
	}
	if len(changes) == 0 {
		return []int{own.Adjustment}, nil
	}
	all, likely := []int{savedAdjustment(changes[0].Before)}, 0
	for _, c := range changes {
		if c.At.After(issued.Add(agreementGrace)) {
			break
		}
		all = append(all, savedAdjustment(c.After))
		if !c.At.After(issued) {
			likely = len(all) - 1
		}
	}
	all[0], all[likely] = all[likely], all[0]
	return all, nil
}

func savedAdjustment(text string) int {
	n, _ := pricingrules.ParseAdjustment(text) // always valid, because the service wrote it
	return n
}
