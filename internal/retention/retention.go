// Package retention erases the data of leads whose retention period has passed.
//
// The configured periods take effect at once if they are longer than before. Shorter ones take effect when a user has
// seen how many leads they erase. Each day, a background job carries out a run.
package retention

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Service manages retention periods and carries out runs on behalf of a user, whom By selects. Without By, it acts as
// the service itself.
type Service struct {
	db         *postgres.DB
	leads      *leads.Store
	erasures   *erasure.Service
	queue      *jobs.Queue
	clock      clock.Clock
	configured Periods
	by         audit.Actor
}

// NewService returns a service for the configured periods, and registers its job handler with the queue. It erases
// leads with the service e.
func NewService(
	db *postgres.DB, e *erasure.Service, queue *jobs.Queue, c clock.Clock, configured Periods,
) *Service {
	s := &Service{
		db: db, leads: leads.NewStore(db.Pool), erasures: e, queue: queue, clock: c, configured: configured,
		by: audit.Service,
	}
	queue.Handle(models.JobRetentionRun, jobs.Handler{Object: id.RetentionRun, Do: s.carryOut})
	return s
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by, theirs.erasures = actor, s.erasures.By(actor)
	return &theirs
}
