// Package consents lists the disclosure texts that consumers agreed to, and replaces those that name a consumer.
package consents

import (
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Service reads and replaces disclosure texts on behalf of a user, whom By selects. Without By, it acts as the
// service itself.
type Service struct {
	db       *postgres.DB
	erasures *erasure.Service
	clock    clock.Clock
	by       audit.Actor
}

// NewService returns a service. It does not replace the texts of leads under a legal hold of the service e.
func NewService(db *postgres.DB, e *erasure.Service, c clock.Clock) *Service {
	return &Service{db: db, erasures: e, clock: c, by: audit.Service}
}

// By returns a Service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by = actor
	return &theirs
}
