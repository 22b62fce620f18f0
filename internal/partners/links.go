package partners

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	linkBytes = 32 // bytes of randomness in a token

	// linkTimeout is the client-side time limit for looking up a link (see countTimeout).
	linkTimeout = 6 * time.Second
	linkRetry   = 2 * time.Second
)

var (
	errNoLink = apperr.New(apperr.NotFound, "link", "The partner has no documentation link to revoke.")
	// errUnknownLink does not reveal why a token is not valid.
	errUnknownLink = apperr.New(apperr.NotFound, "not_found", "Not Found").WithPublicCode(apperr.URLNotFound)
)

// CreatedLink is a new link and its token. The token is not stored.
type CreatedLink struct {
	models.PartnerLink
	Token string
}

// NewLink creates a link to a partner's own documentation page and revokes the previous one.
func (s *Service) NewLink(ctx context.Context, sc scope.Scope, partner models.Partner) (CreatedLink, error) {
	token := newToken()
	link := models.PartnerLink{Digest: digestOf(token), PartnerID: partner.ID, CreatedAt: s.clock.Now()}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := lockPartner(tx, sc, partner.ID); err != nil {
			return err
		}
		replaced, err := s.endLink(tx, partner.ID)
		if err != nil {
			return err
		}
		if err := tx.Create(&link).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "link.create", "partner", id.Format(id.Partner, partner.ID), partner.ID, nil,
			map[string]any{"replaced": replaced})
	})
	if err != nil {
		return CreatedLink{}, err
	}
	return CreatedLink{link, token}, nil
}

// RevokeLink revokes the partner's link, with immediate effect.
func (s *Service) RevokeLink(ctx context.Context, sc scope.Scope, partner models.Partner) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if _, err := lockPartner(tx, sc, partner.ID); err != nil {
			return err
		}
		ended, err := s.endLink(tx, partner.ID)
		if err != nil {
			return err
		}
		if !ended {
			return errNoLink
		}
		return s.auditChange(tx, "link.revoke", "partner", id.Format(id.Partner, partner.ID), partner.ID, nil, nil)
	})
}

// Link returns the partner's link. ok is false if there is no link.
func (s *Service) Link(
	ctx context.Context, sc scope.Scope, partner models.Partner,
) (link models.PartnerLink, ok bool, err error) {
	found := restrict(s.db.Gorm.WithContext(ctx), sc, "partner_id").
		Where("partner_id = ? AND revoked_at IS NULL", partner.ID).Limit(1).Find(&link)
	return link, found.RowsAffected == 1, postgres.Translate(found.Error)
}

// Linked contains a partner whose documentation page was requested with its link, and the data that the page shows.
type Linked struct {
	Partner    models.Partner
	Accounts   []models.Account // the default account first
	Pricing    Pricing
	LeadsToday int64                  // the leads that count towards the daily cap
	Expiring   []models.SigningSecret // valid secrets that have an expiry
}

// ByLink returns the partner that a token's link belongs to. It needs no scope, because the token itself
// grants access. It returns the same NotFound error whether the token is malformed, unknown or revoked.
func (s *Service) ByLink(ctx context.Context, token string) (Linked, error) {
	if !couldBeToken(token) {
		return Linked{}, errUnknownLink
	}
	ctx, cancel := context.WithTimeout(ctx, linkTimeout)
	defer cancel()
	partner, err := s.linked(ctx, token)
	if err != nil {
		return Linked{}, err
	}
	l := Linked{Partner: partner}
	var secrets []models.SigningSecret
	if l.Accounts, err = s.Accounts(ctx, partner); err != nil {
		return Linked{}, unavailable(err)
	}
	if l.Pricing, err = s.Pricing(ctx, partner); err != nil {
		return Linked{}, unavailable(err)
	}
	if l.LeadsToday, err = s.LeadsToday(ctx, partner); err != nil {
		return Linked{}, unavailable(err)
	}
	if secrets, err = s.Secrets(ctx, scope.System, partner); err != nil {
		return Linked{}, unavailable(err)
	}
	now := s.clock.Now()
	l.Expiring = slices.DeleteFunc(secrets, func(s models.SigningSecret) bool {
		return StateOf(s, now) != StateExpiring
	})
	return l, nil
}

func (s *Service) linked(ctx context.Context, token string) (partner models.Partner, err error) {
	found := s.db.Gorm.WithContext(ctx).Joins("JOIN partner_links ON partner_links.partner_id = partners.id").
		Where("partner_links.digest = ? AND partner_links.revoked_at IS NULL", digestOf(token)).
		Limit(1).Find(&partner)
	if found.Error != nil {
		return partner, unavailable(found.Error)
	}
	if found.RowsAffected == 0 {
		return partner, errUnknownLink
	}
	return partner, nil
}

// unavailable converts a database error to an error that asks the user to try again, so that the page
// does not say that the link does not exist.
func unavailable(err error) error {
	var failed *postgres.Err
	if err = postgres.Translate(err); errors.As(err, &failed) {
		return apperr.Wrap(err, apperr.Unavailable, "database",
			"This page is temporarily unavailable. Try again in a few seconds.").
			WithPublicCode(apperr.ServiceUnavailable).WithRetryAfter(linkRetry)
	}
	return err
}

func (s *Service) endLink(tx *gorm.DB, partner uuid.UUID) (ended bool, err error) {
	live := tx.Model(&models.PartnerLink{}).Where("partner_id = ? AND revoked_at IS NULL", partner).
		Updates(map[string]any{"revoked_at": s.clock.Now()})
	return live.RowsAffected > 0, live.Error
}

// couldBeToken reports whether text has the format of a token. It checks the length too, because
// the decoder ignores line breaks.
func couldBeToken(text string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(raw) == linkBytes && len(text) == base64.RawURLEncoding.EncodedLen(linkBytes)
}

func digestOf(token string) []byte {
	digest := sha256.Sum256([]byte(token))
	return digest[:]
}

func newToken() string {
	var raw [linkBytes]byte
	rand.Read(raw[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}
