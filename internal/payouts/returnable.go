package payouts

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Returnable counts which of a list of leads can still be returned.
type Returnable struct {
	Leads int        // that can still be returned
	Until *time.Time // the last deadline for them; nil if there are none
	Open  int        // leads with an open return
}

// Returnable counts the leads in the scope that can still be returned, or have an open return. Erased leads and sandbox
// leads cannot be returned.
func (s *Service) Returnable(ctx context.Context, sc scope.Scope, leads []uuid.UUID) (r Returnable, err error) {
	if len(leads) == 0 {
		return r, nil
	}
	window := s.policy.ReturnWindow
	err = s.db.Pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE in_time AND state IS NULL), max(received_at) FILTER (WHERE in_time AND state IS NULL),
			count(*) FILTER (WHERE state = 'open')
		FROM (SELECT l.received_at, l.received_at >= $4 AS in_time, r.state FROM leads l LEFT
			JOIN returns r ON r.lead_id = l.id AND r.state <> 'rejected'
			WHERE l.id = ANY ($1) AND l.id BETWEEN $2 AND $3 AND NOT l.sandbox AND l.state <> 'erased'
			AND ($5 OR l.partner_id = ANY ($6))) of_leads`,
		postgres.PlanEachTime, leads, slices.MinFunc(leads, id.Compare), slices.MaxFunc(leads, id.Compare),
		s.clock.Now().Add(-window), sc.All(), sc.IDs(),
	).Scan(&r.Leads, &r.Until, &r.Open)
	if r.Until != nil {
		*r.Until = r.Until.Add(window)
	}
	return r, postgres.Translate(err)
}
