package payouts

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// FindRun returns a run. A run covers all partners, so sc must include all partners.
func (s *Service) FindRun(ctx context.Context, sc scope.Scope, run uuid.UUID) (r models.PayoutRun, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("id = ?", run).Limit(1).Find(&r)
	if q.Error == nil && (q.RowsAffected == 0 || !sc.All()) {
		return models.PayoutRun{}, errNoRun
	}
	return r, postgres.Translate(q.Error)
}

// RunOfLead returns the run that claimed the accrual of a lead, without its totals. The result found is false if no run
// has claimed it. The lead must be in the scope.
func (s *Service) RunOfLead(
	ctx context.Context, sc scope.Scope, l models.Lead,
) (r models.PayoutRun, found bool, err error) {
	if !sc.Allows(l.PartnerID) {
		return r, false, nil
	}
	err = s.db.Pool.QueryRow(ctx, `SELECT r.id, r.state, r.approved_at, r.paid_at FROM ledger_entries e
			JOIN payout_run_entries c ON c.entry_id = e.id AND c.occurred_at = e.occurred_at
			JOIN payout_runs r ON r.id = c.run_id
		WHERE e.lead_id = $1 AND e.kind = 'accrual' AND e.occurred_at = $2 AND c.occurred_at = $2`,
		postgres.PlanEachTime, l.ID, l.ReceivedAt).Scan(&r.ID, &r.State, &r.ApprovedAt, &r.PaidAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	return r, err == nil, postgres.Translate(err)
}

// Runs returns a page of runs, newest first.
func (s *Service) Runs(
	ctx context.Context, sc scope.Scope, p postgres.Page[uuid.UUID],
) (all []models.PayoutRun, newer, older bool, err error) {
	if !sc.All() {
		return nil, false, false, nil
	}
	q := p.Apply(s.db.Gorm.WithContext(ctx), "id")
	if err := q.Find(&all).Error; err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	all, newer, older = postgres.SplitPage(p, all)
	return all, newer, older, nil
}

// WaitingRuns returns the runs that are waiting for approval, oldest first. It omits the runs that
// the given actor prepared, because the actor cannot approve them.
func (s *Service) WaitingRuns(
	ctx context.Context, sc scope.Scope, actor audit.Actor,
) (all []models.PayoutRun, err error) {
	if !sc.All() {
		return nil, nil
	}
	err = s.db.Gorm.WithContext(ctx).
		Where("state = 'prepared' AND preparer_id <> ?", actor.Staff).Order("id").Find(&all).Error
	return all, postgres.Translate(err)
}
