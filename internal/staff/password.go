package staff

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/models"
)

const (
	minPassword = 12
	maxPassword = 256
	// hashTimeout bounds the wait for a slot to hash a password.
	hashTimeout = 3 * time.Second
)

var (
	errPassword = apperr.New(apperr.Invalid, "password",
		"A password has 12 to 256 characters and does not contain the e-mail address.")
	errInvitation = apperr.New(apperr.NotFound, "invitation",
		"This invitation is not valid any more: ask an administrator for another.")
	errWrong = apperr.New(apperr.Invalid, "confirmation", "That is neither your password nor a code of your second factor.")
	errBusy  = apperr.New(apperr.Unavailable, "busy", "Too many people are logging in at this moment: try again.").Retry(2 * time.Second)
)

// newDummyHash makes the hash of a password that nobody has: whoever is unknown costs as
// much time as whoever is known.
func newDummyHash(cost *argon2id.Params) (string, error) {
	token, _ := newToken()
	return argon2id.CreateHash(token, cost)
}

// newToken draws 256 bits, and the hash under which a row keeps them.
func newToken() (token string, hash []byte) {
	var raw [32]byte
	rand.Read(raw[:])
	token = base64.RawURLEncoding.EncodeToString(raw[:])
	return token, hashToken(token)
}

// hashToken needs no salt and no cost: a token cannot be guessed.
func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func (s *Service) acquireHashSlot(ctx context.Context) (leave func(), err error) {
	timer := time.NewTimer(hashTimeout)
	defer timer.Stop()
	select {
	case s.hashing <- struct{}{}:
		return func() { <-s.hashing }, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, errBusy
}

func (s *Service) hash(ctx context.Context, password string) (string, error) {
	leave, err := s.acquireHashSlot(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return argon2id.CreateHash(password, s.settings.PasswordCost)
}

// matches compares a password with a person's hash, and takes as long for one who
// has none.
func (s *Service) matches(ctx context.Context, password, hash string) (bool, error) {
	leave, err := s.acquireHashSlot(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	known := hash != ""
	if !known {
		if hash, err = s.dummyHash(); err != nil {
			return false, err
		}
	}
	if len(password) > 4*maxPassword {
		password = "" // no one has it; hashing megabytes would cost more than the answer is worth
	}
	ok, err := argon2id.ComparePasswordAndHash(password, hash)
	return ok && known, err
}

func checkPassword(password, email string) error {
	n := utf8.RuneCountInString(password)
	if n < minPassword || n > maxPassword || !utf8.ValidString(password) || strings.ContainsRune(password, 0) ||
		strings.Contains(strings.ToLower(password), strings.ToLower(email)) {
		return errPassword
	}
	return nil
}

// Invitation finds whom a token invites.
func (s *Service) Invitation(ctx context.Context, token string) (models.Staff, error) {
	var p models.Staff
	err := s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		p, err = s.invitee(tx, token)
		return err
	})
	return p, err
}

func (s *Service) invitee(tx *gorm.DB, token string) (models.Staff, error) {
	var row models.Invitation
	if err := tx.Where("token_hash = ? AND expires_at > ?", hashToken(token), s.clock.Now()).Limit(1).Find(&row).Error; err != nil {
		return models.Staff{}, err
	}
	if row.StaffID == uuid.Nil {
		return models.Staff{}, errInvitation
	}
	p, err := locked(tx, row.StaffID)
	if err == nil && p.Status != models.StaffInvited {
		err = errInvitation
	}
	return p, err
}

// Accept sets the password of whom the token invites, once.
func (s *Service) Accept(ctx context.Context, by audit.Actor, token, password string) (models.Staff, error) {
	p, err := s.Invitation(ctx, token)
	if err != nil {
		return p, err
	}
	if err := checkPassword(password, p.Email); err != nil {
		return p, err
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return p, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if p, err = s.invitee(tx, token); err != nil {
			return err
		}
		if err := tx.Where("staff_id = ?", p.ID).Delete(&models.Invitation{}).Error; err != nil {
			return err
		}
		if err := s.update(tx, &p, map[string]any{"password_hash": hash, "status": models.StaffActive}); err != nil {
			return err
		}
		by.Staff, by.Name = p.ID, p.Email
		return audit.Write(tx, s.clock.Now(), by, event("staff.accept", p, nil, nil))
	})
	return p, err
}

// SetPassword changes a person's own password and ends their other sessions. It takes
// the old password, whatever the session has confirmed; a code does not do.
func (s *Service) SetPassword(ctx context.Context, by audit.Actor, session Session, old, password string) error {
	if err := s.checkPasswordOf(ctx, by, session, old); err != nil {
		return err
	}
	if err := checkPassword(password, session.Staff.Email); err != nil {
		return err
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.change(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error {
		if err := s.update(tx, p, map[string]any{"password_hash": hash}); err != nil {
			return err
		}
		if err := s.endAll(tx, p.ID, session.ID, "the password was changed"); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), by, event("staff.password", *p, nil, nil))
	})
}
