package staff

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Search returns the users whose name or email address contains the text, ignoring case and accents, sorted by
// name.
func (s *Service) Search(ctx context.Context, text string, limit int) (found []models.Staff, err error) {
	text = strings.TrimSpace(text)
	if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, nil
	}
	err = s.db.Gorm.WithContext(ctx).Where(`strpos(fold(name || E'\n' || email), fold(?)) > 0`, text).
		Order("lower(name), id").Limit(limit).Find(&found).Error
	return found, postgres.Translate(err)
}
