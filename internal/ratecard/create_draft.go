package ratecard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// CreateDraftWithBases creates a draft from the current version and changes base prices in it. If
// no rule would change, it creates no draft and returns an error (see IsNoChange).
func (s *Service) CreateDraftWithBases(
	ctx context.Context, title, what string, changes []BaseChange,
) (models.RateCard, error) {
	do, err := s.setBases(changes)
	if err != nil {
		return models.RateCard{}, err
	}
	return s.beginWith(ctx, title, what, do)
}

// CreateDraftWithCard creates a draft from the current version and replaces its rules. If no rule
// would change, it creates no draft and returns an error (see IsNoChange).
func (s *Service) CreateDraftWithCard(
	ctx context.Context, title, what string, with pricingrules.Card,
) (models.RateCard, error) {
	return s.beginWith(ctx, title, what, func(_ models.RateCard, sh *draftRules) error {
		sh.replace(with)
		return nil
	})
}

func (s *Service) beginWith(
	ctx context.Context, title, what string, do func(models.RateCard, *draftRules) error,
) (draft models.RateCard, err error) {
	if title, err = checkLine("title", "title", title); err != nil {
		return draft, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		draft, err = s.makeWith(tx, title, what, do)
		return err
	})
	return draft, err
}

// makeWith creates a draft and its first edit.
func (s *Service) makeWith(
	tx *gorm.DB, title, what string, do func(models.RateCard, *draftRules) error,
) (draft models.RateCard, err error) {
	created, source, err := s.begin(tx, title, 0)
	if err != nil {
		return draft, err
	}
	p, err := s.patchBy(tx, created, do)
	if err == nil && len(p) == 0 {
		err = errSame
	}
	if err == nil {
		err = s.saveEdit(tx, created, what, nil, p)
	}
	if err == nil {
		err = tx.Where("id = ?", created.ID).Take(&draft).Error
	}
	if err == nil {
		err = s.auditBegin(tx, draft, source)
	}
	if err == nil {
		err = s.auditEdit(tx, draft, what, p)
	}
	return draft, err
}

// PublishBases creates a draft with changed base prices and publishes it in the same transaction.
// If Policy.RequireApproval is set, it submits the draft for approval instead.
func (s *Service) PublishBases(ctx context.Context, what, note string, changes []BaseChange) (models.RateCard, error) {
	do, err := s.setBases(changes)
	if err != nil {
		return models.RateCard{}, err
	}
	return s.publishNew(ctx, note, func(tx *gorm.DB) (models.RateCard, error) {
		return s.makeWith(tx, "", what, do)
	})
}

// RollBack publishes a new version with the rules of an earlier one. The parameter current is the version that
// the user saw as the current one. If another version has been published since, RollBack changes nothing and
// returns an error. If Policy.RequireApproval is set, it submits a draft for approval instead. RollBack first withdraws
// the scheduled draft, which would block it, even if the rollback still needs approval. The parameter scheduled is the
// draft that the user saw as scheduled, or uuid.Nil. If another one is scheduled, RollBack changes nothing and returns
// an error.
func (s *Service) RollBack(
	ctx context.Context, to, current int, scheduled uuid.UUID, note string,
) (models.RateCard, error) {
	return s.publishNew(ctx, note, func(tx *gorm.DB) (models.RateCard, error) {
		draft, source, err := s.begin(tx, fmt.Sprintf("Roll back to version %d", to), to)
		switch {
		case err != nil:
			return draft, err
		case draft.BasedOn != current:
			return draft, apperr.New(apperr.Conflict, "superseded", fmt.Sprintf(
				"Version %d has been published since you opened this page. Nothing was published. Review the changes, then try again.",
				draft.BasedOn))
		}
		if err := s.withdrawScheduled(tx, scheduled); err != nil {
			return draft, err
		}
		return draft, s.auditBegin(tx, draft, source)
	})
}

func (s *Service) withdrawScheduled(tx *gorm.DB, seen uuid.UUID) error {
	draft, found, err := scheduledDraft(tx)
	switch {
	case err != nil || !found:
		return err
	case draft.ID != seen:
		return apperr.New(apperr.Conflict, "scheduled",
			titled(draft)+" has been scheduled since you opened this page. Nothing was published. Try again to withdraw it.")
	}
	return s.move(tx, draft, "pricing.withdraw", reopenDraft())
}

// publishNew creates a draft and publishes it, or submits it for approval, in one transaction.
func (s *Service) publishNew(
	ctx context.Context, note string, create func(*gorm.DB) (models.RateCard, error),
) (now models.RateCard, err error) {
	if note, err = checkNote(note); err != nil {
		return now, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockVersions(tx); err != nil {
			return err
		}
		draft, err := create(tx)
		if err != nil {
			return err
		}
		if err := s.mayPublish(tx, draft); err != nil {
			return err
		}
		if err := s.submit(tx, draft, note, time.Time{}, s.clock.Now()); err != nil {
			return err
		}
		now = models.RateCard{} // GORM adds the ID of an earlier attempt to the query
		return tx.Where("id = ?", draft.ID).Take(&now).Error
	})
	return now, err
}

// IsNoChange reports whether an error means that no rule would change.
func IsNoChange(err error) bool { return errors.Is(err, errNothing) }
