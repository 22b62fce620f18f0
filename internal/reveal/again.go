package reveal

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// revealedFor is how long after a reveal the same user can include the field in an evidence pack.
const revealedFor = 24 * time.Hour

// RecentlyRevealed returns the fields of a lead that the user has revealed in the last 24 hours.
func (s *Service) RecentlyRevealed(ctx context.Context, lead uuid.UUID) (fields []models.ContactField, err error) {
	q := s.db.Gorm.WithContext(ctx).Model(&models.LeadReveal{}).
		Where("lead_id = ? AND at > ?", lead, s.clock.Now().Add(-revealedFor))
	if s.by.Staff == uuid.Nil {
		q = q.Where("staff_id IS NULL")
	} else {
		q = q.Where("staff_id = ?", s.by.Staff)
	}
	err = q.Distinct().Order("field").Pluck("field", &fields).Error
	return fields, postgres.Translate(err)
}

// RevealAgain returns the values of the fields that RecentlyRevealed returns. Together they count as one reveal
// towards the daily limit, and the audit log records them before anything is decrypted. If there are no such
// fields, RevealAgain returns nil.
//
// Errors: NotFound if there is no such lead in the scope, Conflict if the lead was erased, TooMany if the user has
// reached the daily limit, Unavailable if
// this node cannot use the keys, Internal if the record is damaged, and those of erasure.Service.CheckJournal.
func (s *Service) RevealAgain(
	ctx context.Context, sc scope.Scope, lead uuid.UUID,
) (map[models.ContactField]string, error) {
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return nil, err
	}
	fields, err := s.RecentlyRevealed(ctx, lead)
	if err != nil || len(fields) == 0 {
		return nil, err
	}
	event := audit.Event{
		Action: "lead.reveal_again", Kind: "lead", Object: id.Format(id.Lead, lead), After: map[string]any{"fields": fields},
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if event.Partner, err = s.lockReadable(tx, sc, lead); err != nil {
			return err
		}
		if err := s.countReveal(tx); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by, event)
	})
	if errors.Is(err, errTooManyReveals) {
		return nil, s.LogExceeded(ctx, errTooManyReveals, event)
	}
	if err != nil {
		return nil, err
	}
	contact, err := s.leads.Contact(ctx, sc, lead, s.keys)
	if err != nil {
		return nil, err
	}
	values := make(map[models.ContactField]string, len(fields))
	for _, f := range fields {
		values[f] = fieldOf(contact, f)
	}
	return values, nil
}
