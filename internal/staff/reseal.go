package staff

import (
	"context"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// SealUses returns the number of second factors that are sealed with each platform key.
func (s *Service) SealUses(ctx context.Context) (map[keyring.KeyID]int64, error) {
	var rows []models.Staff
	if err := s.db.Gorm.WithContext(ctx).Where("totp_sealed IS NOT NULL").Find(&rows).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	uses := map[keyring.KeyID]int64{}
	for _, p := range rows {
		if key, ok := keyring.KeyOf(p.TOTPSealed); ok {
			uses[key]++
		}
	}
	return uses, nil
}

// Reseal seals all second factors again with the first platform key. It returns the number of second
// factors that it resealed, and the ids of users whose second factor is sealed with a key that is not
// configured. Reseal can be interrupted and run again.
func (s *Service) Reseal(ctx context.Context) (moved int, unread []string, err error) {
	var rows []models.Staff
	if err := s.db.Gorm.WithContext(ctx).Where("totp_sealed IS NOT NULL").Order("id").Find(&rows).Error; err != nil {
		return 0, nil, postgres.Translate(err)
	}
	for _, p := range rows {
		if key, ok := keyring.KeyOf(p.TOTPSealed); ok && key == s.keys.IDs()[0] {
			continue
		}
		seed, err := s.keys.Open(keyring.SecondFactor, p.ID[:], p.TOTPSealed)
		if err != nil {
			unread = append(unread, id.Format(id.Staff, p.ID))
			continue
		}
		res := s.db.Gorm.WithContext(ctx).Model(&models.Staff{}).Where("id = ? AND totp_sealed = ?", p.ID, p.TOTPSealed).
			Updates(map[string]any{"totp_sealed": s.keys.Seal(keyring.SecondFactor, p.ID[:], seed)})
		clear(seed)
		if res.Error != nil {
			return moved, unread, postgres.Translate(res.Error)
		}
		moved += int(res.RowsAffected)
	}
	return moved, unread, nil
}
