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

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

const (
	minPassword = 12
	maxPassword = 256
	// hashTimeout is how long a login waits for other passwords to be hashed.
	hashTimeout = 3 * time.Second
)

var (
	errPassword = apperr.New(apperr.Invalid, "password",
		"A password must have 12 to 256 characters and must not contain the email address.")
	errInvitation = apperr.New(apperr.NotFound, "invitation",
		"This invitation is no longer valid. Ask an administrator for a new one.")
	errWrong = apperr.New(apperr.Invalid, "confirmation", "The password or code is not correct.")
	errBusy  = apperr.New(apperr.Unavailable, "busy", "Too many users are signing in.").WithRetryAfter(2 * time.Second)
)

// newDummyHash returns the hash of a random password. If the user is unknown, Login compares the
// entered password with this hash, so that the login takes as long as it does for a known user.
func newDummyHash(cost *argon2id.Params) (string, error) {
	token, _ := newToken()
	return argon2id.CreateHash(token, cost)
}

// newToken returns a random 256-bit token and its hash. Only the hash is stored in the database.
func newToken() (token string, hash []byte) {
	var raw [32]byte
	rand.Read(raw[:])
	token = base64.RawURLEncoding.EncodeToString(raw[:])
	return token, hashToken(token)
}

// hashToken returns the hash of a token. Tokens cannot be guessed, so SHA-256 is sufficient.
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

// matches reports whether a password matches a hash. If the parameter hash is "", matches returns
// false, but takes just as long.
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
		password = "" // such a long password is never valid, but hashing it would be expensive
	}
	ok, err := s.compare(password, hash)
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

// Invitation returns the user whose invitation has the given token.
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

// Accept accepts an invitation. It sets the user's password and deletes the invitation.
func (s *Service) Accept(ctx context.Context, token, password string) (models.Staff, error) {
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
		s.by.Staff, s.by.Name = p.ID, p.Email
		return audit.Write(tx, s.clock.Now(), s.by, event("staff.accept", p, nil, nil))
	})
	return p, err
}

// SetPassword changes the password of a signed-in user and ends the user's other sessions. It
// always requires the old password. A code or a recent step-up is not sufficient.
func (s *Service) SetPassword(ctx context.Context, session Session, old, password string) error {
	if err := s.checkPasswordOf(ctx, session, old); err != nil {
		return err
	}
	if err := checkPassword(password, session.Staff.Email); err != nil {
		return err
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.changeUser(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error {
		if err := s.update(tx, p, map[string]any{"password_hash": hash}); err != nil {
			return err
		}
		if err := s.endAll(tx, p.ID, session.ID, "the password was changed"); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by, event("staff.password", *p, nil, nil))
	})
}
