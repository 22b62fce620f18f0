// Package notes finds and redacts the texts by staff that can name a consumer.
package notes

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reveal"
)

// Service reads and redacts notes on behalf of a user, whom By selects. Without By, it acts as the service itself.
type Service struct {
	db       *postgres.DB
	erasures *erasure.Service
	reveals  *reveal.Service
	clock    clock.Clock
	by       audit.Actor
}

// NewService returns a service. It does not redact notes about leads under a legal hold of the service e. Searches
// count towards the daily lookup limit of the service r.
func NewService(db *postgres.DB, e *erasure.Service, r *reveal.Service, c clock.Clock) *Service {
	return &Service{db: db, erasures: e, reveals: r, clock: c, by: audit.Service}
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by, theirs.reveals = actor, s.reveals.By(actor)
	return &theirs
}
