package reveal

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

// CountLookup counts a search for a person towards the user's daily limit, before it is carried out. An email
// address and a phone number count as one each.
//
// Errors: Invalid at the field email, phone or country, and TooMany if the user has reached the daily limit.
func (s *Service) CountLookup(ctx context.Context, p leads.Person) error {
	if _, err := s.reader.PersonDigests(p); err != nil {
		return err
	}
	n := 0
	for _, identifier := range []string{p.Email, p.Phone} {
		if identifier != "" {
			n++
		}
	}
	return s.CountLookups(ctx, n, audit.Event{Action: "lead.find", Kind: "lead"})
}

// CountLookups counts n searches towards the user's daily limit. If the limit is reached, the event of the search is
// recorded as rejected.
func (s *Service) CountLookups(ctx context.Context, n int, search audit.Event) error {
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		exceeded, err := s.countAccess(tx, s.lookupLimit(), n)
		if err == nil && exceeded {
			err = errTooManyLookups
		}
		return err
	})
	if errors.Is(err, errTooManyLookups) {
		return s.LogExceeded(ctx, errTooManyLookups, search)
	}
	return err
}

// FindPerson returns a consumer's leads at all partners, newest first. The audit log records the search, without what
// was searched for.
//
// Errors: those of CountLookup and erasure.Service.CheckJournal.
func (s *Service) FindPerson(ctx context.Context, p leads.Person) ([]leads.PersonLead, error) {
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return nil, err
	}
	if err := s.CountLookup(ctx, p); err != nil {
		return nil, err
	}
	found, err := s.reader.FindPerson(ctx, p)
	if err != nil {
		return nil, err
	}
	by := "email"
	if p.Email == "" {
		by = "phone"
	}
	return found, audit.New(s.db, s.clock).LogDone(ctx, s.by, audit.Event{
		Action: "lead.find", Kind: "lead", After: map[string]any{"by": by, "found": len(found)},
	})
}
