package retention

import (
	"context"
	"slices"
	"time"

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Plan contains the retention periods and what they erase.
type Plan struct {
	Periods []PlannedPeriod
	Version string               // identifies the configured periods and those in effect
	Last    *models.RetentionRun // nil if there was no run
}

// PlannedPeriod is a period in effect with the leads that it applies to.
type PlannedPeriod struct {
	models.RetentionPeriod
	Configured int // in days
	// Due contains the number of leads whose data would be erased now with the configured period, and when
	// the oldest lead with such data was received.
	Due leads.Survey
}

// Applied reports whether all configured periods are in effect.
func (p Plan) Applied() bool {
	return !slices.ContainsFunc(p.Periods, func(period PlannedPeriod) bool { return period.Days != period.Configured })
}

// Plan returns the plan, and changes nothing. If within is not 0, it stops counting leads after
// that time.
func (s *Service) Plan(ctx context.Context, within time.Duration) (plan Plan, err error) {
	tx := s.db.Gorm.WithContext(ctx)
	before, fresh, err := readPeriods(tx)
	if err != nil {
		return plan, postgres.Translate(err)
	}
	now, configured := s.clock.Now(), s.configured
	all := before.extend(configured, fresh, now)
	plan.Version = all.version(configured)
	counting := ctx
	if within > 0 {
		var cancel context.CancelFunc
		counting, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	for _, period := range all {
		p := PlannedPeriod{RetentionPeriod: period, Configured: configured.of(period.Category).For(period.Country)}
		if p.Due, err = s.leads.SurveyDue(counting, all.group(period), dueUntil(now, p.Configured)); err != nil {
			return plan, err
		}
		plan.Periods = append(plan.Periods, p)
	}
	if plan.Last, err = s.lastRun(tx); err != nil {
		return plan, postgres.Translate(err)
	}
	return plan, ctx.Err()
}
