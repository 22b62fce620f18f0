package ratecard

import (
	"context"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Current returns the current version.
func (s *Service) Current(ctx context.Context) (models.RateCard, error) {
	card, err := currentCard(s.db.Gorm.WithContext(ctx))
	return card, postgres.Translate(err)
}

// Version finds a version by its number.
func (s *Service) Version(ctx context.Context, n int) (models.RateCard, error) {
	card, err := version(s.db.Gorm.WithContext(ctx), n)
	return card, postgres.Translate(err)
}

func version(db *gorm.DB, n int) (card models.RateCard, err error) {
	found := db.Where("version = ?", n).Limit(1).Find(&card)
	if found.Error == nil && found.RowsAffected == 0 {
		return card, errNoVersion
	}
	return card, found.Error
}

// Versions returns a page of versions, newest first. If the parameter before is not 0, only versions
// with a lower number are returned. The result more reports whether there are even older versions.
func (s *Service) Versions(ctx context.Context, before, size int) (list []models.RateCard, more bool, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("version IS NOT NULL").Order("version DESC").Limit(size + 1)
	if before > 0 {
		q = q.Where("version < ?", before)
	}
	if err := q.Find(&list).Error; err != nil {
		return nil, false, postgres.Translate(err)
	}
	if len(list) > size {
		return list[:size], true, nil
	}
	return list, false, nil
}
