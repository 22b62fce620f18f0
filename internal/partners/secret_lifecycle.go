package partners

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// These are the states of a secret that StateOf returns.
const (
	StateActive   = "active"
	StateExpiring = "expiring" // valid, but has an expiry
	StateExpired  = "expired"  // the expiry has passed
	StateRevoked  = "revoked"
)

// MaxExtension limits how far in the future ExpireSecret can set an expiry.
const MaxExtension = 30 * 24 * time.Hour

// minRolloutTime is the shortest time in which a new secret can reach the partner.
const minRolloutTime = time.Minute

var (
	errExpired = apperr.New(apperr.Conflict, "secret_expired", "This secret has already expired. Create a new one.")
	errTooLate = invalid("overlap", apperr.InvalidValue, "overlap",
		"The expiry can be at most 30 days from now. Choose an earlier time.")
)

// StateOf returns a secret's state at the given time. At the time ExpiresAt, the secret is already
// expired.
func StateOf(row models.SigningSecret, now time.Time) string {
	switch {
	case row.State == models.SecretRevoked:
		return StateRevoked
	case row.ExpiresAt == nil:
		return StateActive
	case now.Before(*row.ExpiresAt):
		return StateExpiring
	}
	return StateExpired
}

// Valid reports whether posts can be signed with the secret at the given time.
func Valid(row models.SigningSecret, now time.Time) bool {
	state := StateOf(row, now)
	return state == StateActive || state == StateExpiring
}

// LastActive reports whether the partner has no valid secret other than the given one.
func (s *Service) LastActive(
	ctx context.Context, sc scope.Scope, partner models.Partner, secret uuid.UUID,
) (bool, error) {
	rows, err := s.Secrets(ctx, sc, partner)
	now := s.clock.Now()
	return err == nil && !slices.ContainsFunc(rows,
		func(other models.SigningSecret) bool { return other.ID != secret && Valid(other, now) }), err
}

// mayRotate returns an error if another rotation is in progress, or if the rotation would expire the
// newest secret before that secret can reach the partner. This can happen if two rotations without an
// overlap run at the same time.
func mayRotate(active *gorm.DB, expiring int64, ends time.Time) error {
	if expiring > 0 {
		return errOverlap
	}
	var recent int64
	err := active.Session(&gorm.Session{}).Where("expires_at IS NULL AND created_at > ?", ends.Add(-minRolloutTime)).
		Count(&recent).Error
	if err == nil && recent > 0 {
		err = errTooRecent
	}
	return err
}

// ExpireSecret sets or changes the expiry of a secret. If the time is in the past, the secret
// expires immediately.
func (s *Service) ExpireSecret(
	ctx context.Context, sc scope.Scope, partner models.Partner, secret uuid.UUID, at time.Time,
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := lockSecret(tx, sc, partner, secret)
		if err != nil {
			return err
		}
		now := s.clock.Now()
		at := at.UTC().Truncate(time.Microsecond) // Postgres stores microseconds
		if at.Before(now) {
			at = now
		}
		switch {
		case StateOf(row, now) == StateExpired:
			return errExpired
		case at.After(now.Add(MaxExtension)):
			return errTooLate
		case row.ExpiresAt != nil && row.ExpiresAt.Equal(at):
			return nil
		}
		if err := tx.Model(&models.SigningSecret{}).Where("id = ?", secret).Updates(map[string]any{"expires_at": at}).Error; err != nil {
			return err
		}
		before := map[string]any{"expires_at": "never"}
		if row.ExpiresAt != nil {
			before["expires_at"] = row.ExpiresAt.UTC()
		}
		return s.auditChange(tx, "secret.expire", "secret", id.Format(id.Secret, row.ID), row.PartnerID, before,
			map[string]any{"label": row.Label, "last_four": row.LastFour, "expires_at": at})
	})
}

// RevokeSecret revokes a secret. All nodes reject it within a second. The caller must check the
// user's permission.
func (s *Service) RevokeSecret(ctx context.Context, sc scope.Scope, partner models.Partner, secret uuid.UUID) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		row, err := lockSecret(tx, sc, partner, secret)
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

// SecretEnd returns when a secret expired or was revoked, and the name of the user who revoked it or set its
// expiry. The name is "" if it is not known.
func (s *Service) SecretEnd(
	ctx context.Context, sc scope.Scope, row models.SigningSecret,
) (at time.Time, by string, err error) {
	if !sc.Allows(row.PartnerID) {
		return at, "", errNoSecret
	}
	switch {
	case row.RevokedAt != nil:
		at = *row.RevokedAt
	case row.ExpiresAt != nil:
		at = *row.ExpiresAt
	}
	// A rotation sets the expiry of the older secrets. Its event is about the new secret.
	err = s.db.Pool.QueryRow(ctx, `SELECT actor FROM audit_events
		WHERE partner_id = $1 AND object_kind = 'secret' AND outcome = 'done'
			AND (object_id = $2 AND action IN ('secret.revoke', 'secret.expire')
				OR object_id <> $2 AND action = 'secret.rotate' AND at BETWEEN $3 AND $4)
		ORDER BY id DESC LIMIT 1`, row.PartnerID, id.Format(id.Secret, row.ID), row.CreatedAt, at).Scan(&by)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return at, by, postgres.Translate(err)
}

// Revokers returns the names of the users who revoked a partner's secrets, by the secret's ID.
func (s *Service) Revokers(ctx context.Context, sc scope.Scope, partner uuid.UUID) (map[string]string, error) {
	if !sc.Allows(partner) {
		return nil, errNoPartner
	}
	var events []models.AuditEvent
	err := s.db.Gorm.WithContext(ctx).Select("object_id", "actor").
		Where("partner_id = ? AND object_kind = 'secret' AND action = 'secret.revoke' AND outcome = ?", partner, models.AuditDone).
		Find(&events).Error
	revokers := make(map[string]string, len(events))
	for _, e := range events {
		revokers[e.ObjectID] = e.Actor
	}
	return revokers, postgres.Translate(err)
}

// lockSecret locks and returns a partner's secret. It fails if the secret is revoked.
func lockSecret(
	tx *gorm.DB, sc scope.Scope, partner models.Partner, secret uuid.UUID,
) (row models.SigningSecret, err error) {
	found := restrict(tx, sc, "partner_id").Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).
		Where("id = ? AND partner_id = ?", secret, partner.ID).Limit(1).Find(&row)
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
