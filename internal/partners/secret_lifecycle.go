package partners

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/models"
)

// What a secret is at a moment, in the words that people see.
const (
	StateActive   = "active"
	StateRetiring = "retiring" // active, with an end
	StateRetired  = "retired"
	StateRevoked  = "revoked"
)

// MaxExtension is how far ahead of now the end of a secret may be put.
const MaxExtension = 30 * 24 * time.Hour

// settling is how long a new secret takes to reach the partner, at the very least.
const settling = time.Minute

var (
	errRetired = apperr.New(apperr.Conflict, "secret_retired", "This secret has retired already: make a new one.")
	errTooLate = invalid("overlap", apperr.InvalidValue, "overlap",
		"A secret ends within 30 days: choose an earlier end, and extend it again when it is needed.")
)

// StateOf is a secret's state at now. Its end is exclusive.
func StateOf(row models.SigningSecret, now time.Time) string {
	switch {
	case row.State == models.SecretRevoked:
		return StateRevoked
	case row.RetiresAt == nil:
		return StateActive
	case now.Before(*row.RetiresAt):
		return StateRetiring
	}
	return StateRetired
}

// Valid reports whether a post may be signed with the secret at now.
func Valid(row models.SigningSecret, now time.Time) bool {
	state := StateOf(row, now)
	return state == StateActive || state == StateRetiring
}

// LastActive reports whether the partner can sign nothing without this secret.
func (s *Service) LastActive(ctx context.Context, partner models.Partner, secret uuid.UUID) (bool, error) {
	rows, err := s.Secrets(ctx, partner)
	now := s.clock.Now()
	return err == nil && !slices.ContainsFunc(rows,
		func(one models.SigningSecret) bool { return one.ID != secret && Valid(one, now) }), err
}

// mayRotate refuses a rotation while another is under way: an older secret still
// retires, or the newest would be over before it has reached the partner, which is
// what two rotations at once without an overlap do to each other.
func mayRotate(active *gorm.DB, retiring int64, ends time.Time) error {
	if retiring > 0 {
		return errOverlap
	}
	var young int64
	err := active.Session(&gorm.Session{}).Where("retires_at IS NULL AND created_at > ?", ends.Add(-settling)).Count(&young).Error
	if err == nil && young > 0 {
		err = errTooRecent
	}
	return err
}

// RetireSecret puts a secret's end at a moment, earlier or later than it was; one that
// is over ends it now.
func (s *Service) RetireSecret(ctx context.Context, partner models.Partner, secret uuid.UUID, at time.Time) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := lockSecret(tx, partner, secret)
		if err != nil {
			return err
		}
		now := s.clock.Now()
		at := at.UTC().Truncate(time.Microsecond) // as Postgres keeps it
		if at.Before(now) {
			at = now
		}
		switch {
		case StateOf(row, now) == StateRetired:
			return errRetired
		case at.After(now.Add(MaxExtension)):
			return errTooLate
		case row.RetiresAt != nil && row.RetiresAt.Equal(at):
			return nil
		}
		if err := tx.Model(&models.SigningSecret{}).Where("id = ?", secret).Updates(map[string]any{"retires_at": at}).Error; err != nil {
			return err
		}
		before := map[string]any{"retires_at": "never"}
		if row.RetiresAt != nil {
			before["retires_at"] = row.RetiresAt.UTC()
		}
		return s.auditChange(tx, "secret.retire", "secret", id.Format(id.Secret, row.ID), row.PartnerID, before,
			map[string]any{"label": row.Label, "last_four": row.LastFour, "retires_at": at})
	})
}

// RevokeSecret ends a secret at once, on every node within a second.
// The caller checks the permission, secrets write in internal/authz/policy.csv.
func (s *Service) RevokeSecret(ctx context.Context, partner models.Partner, secret uuid.UUID) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := lockSecret(tx, partner, secret)
		if err != nil {
			return err
		}
		if err := tx.Model(&models.SigningSecret{}).Where("id = ?", secret).
			Updates(map[string]any{"state": models.SecretRevoked, "revoked_at": s.clock.Now()}).Error; err != nil {
			return err
		}
		return s.auditSecret(tx, "secret.revoke", row, nil)
	})
}

// lockSecret reads a partner's secret that is not revoked, for a change.
func lockSecret(tx *gorm.DB, partner models.Partner, secret uuid.UUID) (row models.SigningSecret, err error) {
	found := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ? AND partner_id = ?", secret, partner.ID).Limit(1).Find(&row)
	switch {
	case found.Error != nil:
		return row, found.Error
	case found.RowsAffected == 0:
		return row, errNoSecret
	case row.State != models.SecretActive:
		return row, errRevoked
	}
	return row, nil
}
