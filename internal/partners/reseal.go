package partners

import (
	"bytes"
	"context"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// SealUses returns the number of signing secrets that are sealed with each platform key. Revoked secrets
// are included.
func (s *Service) SealUses(ctx context.Context) (map[keyring.KeyID]int64, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT substring(sealed FROM 2 FOR 4), count(*) FROM signing_secrets GROUP BY 1`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	defer rows.Close()
	uses := map[keyring.KeyID]int64{}
	for rows.Next() {
		var key []byte
		var n int64
		if err := rows.Scan(&key, &n); err != nil {
			return nil, postgres.Translate(err)
		}
		if len(key) == len(keyring.KeyID{}) {
			uses[keyring.KeyID(key)] = n
		}
	}
	return uses, postgres.Translate(rows.Err())
}

// Reseal seals every signing secret again with the first platform key and recomputes its digest. It
// returns the number of secrets that it resealed, and the ids of the secrets that no configured key
// can decrypt. It can be stopped at any time and run again.
func (s *Service) Reseal(ctx context.Context) (moved int, unread []string, err error) {
	var rows []models.SigningSecret
	if err := s.db.Gorm.WithContext(ctx).Order("id").Find(&rows).Error; err != nil {
		return 0, nil, postgres.Translate(err)
	}
	first := s.keys.IDs()[0]
	for _, row := range rows {
		if len(row.Sealed) > 5 && bytes.Equal(row.Sealed[1:5], first[:]) && bytes.HasPrefix(row.Digest, first[:]) {
			continue
		}
		plain, err := s.keys.Open(keyring.SigningSecret, row.ID[:], row.Sealed)
		if err != nil {
			unread = append(unread, id.Format(id.Secret, row.ID))
			continue
		}
		done, err := s.resealOne(ctx, row.ID, row.Sealed, plain)
		clear(plain)
		if err != nil {
			return moved, unread, err
		}
		if done {
			moved++
		}
	}
	return moved, unread, nil
}

func (s *Service) resealOne(ctx context.Context, secret uuid.UUID, old, plain []byte) (bool, error) {
	res := s.db.Gorm.WithContext(ctx).Model(&models.SigningSecret{}).Where("id = ? AND sealed = ?", secret, old).Updates(map[string]any{
		"sealed": s.keys.Seal(keyring.SigningSecret, secret[:], plain),
		"digest": s.keys.Digest(keyring.Uniqueness, plain),
	})
	return res.RowsAffected > 0, constraints().Translate(res.Error)
}
