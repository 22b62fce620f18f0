package partners

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// DefaultOverlap is how long a partner's older secrets stay valid after a rotation, unless the user
// chooses another period.
const DefaultOverlap = 24 * time.Hour

var (
	errNoSecret = apperr.New(apperr.NotFound, "secret",
		"Secret not found. List the partner's secrets with `pingpost secret list`.")
	errRevoked    = apperr.New(apperr.Conflict, "secret_revoked", "This secret has already been revoked.")
	errForeignKey = apperr.New(apperr.Conflict, "platform_key",
		"The platform keys configured here cannot decrypt this platform's active secrets. Set PINGPOST_PLATFORM_KEYS to the same value as on the nodes.")
	errOverlap = apperr.New(apperr.Conflict, "overlap",
		"A rotation is in progress. Wait until the older secret expires, or force the rotation.")
	errTooRecent = apperr.New(apperr.Conflict, "overlap",
		"This rotation would expire a secret that was created less than a minute ago. Wait a minute, or force the rotation.")
	errNegative = invalid("overlap", apperr.InvalidValue, "overlap",
		"The overlap cannot be negative. Enter zero or more.")
	errSecretKnown = clash("secret_known", "import", "This secret is already in use on the platform. Choose another one.")
)

// CreatedSecret is a new secret with its plaintext, which must be shown only once.
type CreatedSecret struct {
	models.SigningSecret
	Plain string
}

// CreateSecret generates an additional secret for the partner.
func (s *Service) CreateSecret(
	ctx context.Context, sc scope.Scope, partner models.Partner, label string,
) (CreatedSecret, error) {
	return s.addAlone(ctx, sc, "secret.create", partner, label, GenerateSecret())
}

// ImportSecret adds a secret that the partner already uses.
func (s *Service) ImportSecret(
	ctx context.Context, sc scope.Scope, partner models.Partner, label, plain string,
) (CreatedSecret, error) {
	if err := joinProblems(checkImported(plain), checkLabel(label)); err != nil {
		return CreatedSecret{}, err
	}
	return s.addAlone(ctx, sc, "secret.import", partner, label, plain)
}

func (s *Service) addAlone(
	ctx context.Context, sc scope.Scope, action string, partner models.Partner, label, plain string,
) (out CreatedSecret, err error) {
	err = s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		// Lock the partner, so that two concurrent calls cannot choose the same label.
		if _, err := lockPartner(tx, sc, partner.ID); err != nil {
			return err
		}
		if out, err = s.addSecret(tx, partner, label, plain); err != nil {
			return err
		}
		return s.auditSecret(tx, action, out.SigningSecret, nil)
	})
	return out, err
}

func (s *Service) auditSecret(tx *gorm.DB, action string, row models.SigningSecret, more map[string]any) error {
	after := map[string]any{"label": row.Label, "last_four": row.LastFour}
	maps.Copy(after, more)
	return s.auditChange(tx, action, "secret", id.Format(id.Secret, row.ID), row.PartnerID, nil, after)
}

// RotateSecret generates a new secret. The partner's other secrets expire when the given overlap has
// passed, so that the partner has time to switch. RotateSecret fails while another rotation is in
// progress, unless force is set.
func (s *Service) RotateSecret(
	ctx context.Context, sc scope.Scope, partner models.Partner, label string, overlap time.Duration, force bool,
) (CreatedSecret, error) {
	if overlap < 0 {
		return CreatedSecret{}, errNegative
	}
	var out CreatedSecret
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := lockPartner(tx, sc, partner.ID); err != nil {
			return err
		}
		now := s.clock.Now()
		active := tx.Model(&models.SigningSecret{}).Where("partner_id = ? AND state = ?", partner.ID, models.SecretActive)
		var expiring int64
		if err := active.Session(&gorm.Session{}).Where("expires_at > ?", now).Count(&expiring).Error; err != nil {
			return err
		}
		ends := now.Add(overlap)
		if !force {
			if err := mayRotate(active, expiring, ends); err != nil {
				return err
			}
		}
		if err := active.Session(&gorm.Session{}).Where("expires_at IS NULL OR expires_at > ?", ends).
			Updates(map[string]any{"expires_at": ends}).Error; err != nil {
			return err
		}
		var err error
		if out, err = s.addSecret(tx, partner, label, GenerateSecret()); err != nil {
			return err
		}
		return s.auditSecret(tx, "secret.rotate", out.SigningSecret, map[string]any{
			"others_expire_at": ends,
			"forced":           force && expiring > 0,
		})
	})
	return out, err
}

// Secrets returns a partner's secrets, newest first.
func (s *Service) Secrets(ctx context.Context, sc scope.Scope, partner models.Partner) ([]models.SigningSecret, error) {
	var out []models.SigningSecret
	err := restrict(s.db.Gorm.WithContext(ctx), sc, "partner_id").Where("partner_id = ?", partner.ID).
		Order("created_at DESC, id DESC").Find(&out).Error
	return out, postgres.Translate(err)
}

// FindSecret finds a partner's secret by its ID, such as sk_….
func (s *Service) FindSecret(
	ctx context.Context, sc scope.Scope, partner models.Partner, text string,
) (models.SigningSecret, error) {
	secretID, err := id.Parse(id.Secret, text)
	if err != nil {
		return models.SigningSecret{}, errNoSecret
	}
	var out models.SigningSecret
	err = restrict(s.db.Gorm.WithContext(ctx), sc, "partner_id").
		Where("id = ? AND partner_id = ?", secretID, partner.ID).Take(&out).Error
	if err = postgres.Translate(err); apperr.As(err) != nil {
		return out, errNoSecret
	}
	return out, err
}

func (s *Service) addSecret(db *gorm.DB, partner models.Partner, label, plain string) (CreatedSecret, error) {
	newID, now := s.newID()
	if label = strings.TrimSpace(label); label == "" {
		var err error
		if label, err = defaultLabel(db, partner.ID, now); err != nil {
			return CreatedSecret{}, err
		}
	}
	if err := joinProblems(checkLabel(label)); err != nil {
		return CreatedSecret{}, err
	}
	if err := s.checkKeys(db); err != nil {
		return CreatedSecret{}, err
	}
	// Check the digests made with all platform keys, because the unique constraint compares only
	// digests made with the same key.
	var known int64
	if err := db.Model(&models.SigningSecret{}).
		Where("digest IN ?", s.keys.Digests(keyring.Uniqueness, []byte(plain))).Count(&known).Error; err != nil {
		return CreatedSecret{}, postgres.Translate(err)
	}
	if known > 0 {
		return CreatedSecret{}, errSecretKnown
	}
	prefix, last := secretHint(plain)
	row := models.SigningSecret{
		ID: newID, PartnerID: partner.ID, Label: label, Prefix: prefix, LastFour: last,
		Sealed: s.keys.Seal(keyring.SigningSecret, newID[:], []byte(plain)),
		Digest: s.keys.Digest(keyring.Uniqueness, []byte(plain)),
		State:  models.SecretActive, NotBefore: now, CreatedBy: s.by.Name, CreatedAt: now,
	}
	if err := db.Create(&row).Error; err != nil {
		return CreatedSecret{}, err
	}
	return CreatedSecret{SigningSecret: row, Plain: plain}, nil
}

// defaultLabel returns a label that no other secret of the partner has, such as "secret 2026-01-02 (2)".
func defaultLabel(db *gorm.DB, partner uuid.UUID, now time.Time) (string, error) {
	first := "secret " + now.Format(time.DateOnly)
	var taken []string
	err := db.Model(&models.SigningSecret{}).
		Where("partner_id = ? AND starts_with(label, ?)", partner, first).Pluck("label", &taken).Error
	label := first
	for n := 2; slices.Contains(taken, label); n++ {
		label = fmt.Sprintf("%s (%d)", first, n)
	}
	return label, postgres.Translate(err)
}

// checkKeys fails if an active secret was sealed with a platform key that is not configured in this
// process. In that case, the nodes use other platform keys and could not decrypt a secret that this
// process seals.
func (s *Service) checkKeys(db *gorm.DB) error {
	var ids [][]byte
	for _, key := range s.keys.IDs() {
		ids = append(ids, key[:])
	}
	var foreign int64
	err := db.Model(&models.SigningSecret{}).
		Where("state = ? AND substring(sealed FROM 2 FOR 4) NOT IN ?", models.SecretActive, ids).Count(&foreign).Error
	if err == nil && foreign > 0 {
		return errForeignKey
	}
	return postgres.Translate(err)
}
