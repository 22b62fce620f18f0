package staff

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	issuer        = "pingpost"
	step          = 30 * time.Second
	codeDigits    = 6
	recoveryCodes = 10
)

var (
	errNoEnrolment = apperr.New(apperr.Conflict, "enrolment", "This second-factor setup is no longer valid. Start again.")
	errEnrolled    = apperr.New(apperr.Conflict, "enrolled",
		"Another second factor was set up after you opened this page. Sign in again and use that one.")
	errOwnFactor = apperr.New(apperr.Forbidden, "own_factor",
		"You cannot reset your own second factor. Set up another authenticator app on your account page, or ask another administrator.")
	errNoFactor = apperr.New(apperr.Conflict, "no_factor",
		"Recovery codes require a second factor. Set up a second factor first.")
	base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// BeginSecondFactor creates the setup key for a new second factor. The second factor is enabled
// when FinishSecondFactor is called with a valid code.
func (s *Service) BeginSecondFactor(ctx context.Context, session Session) (*otp.Key, error) {
	if len(session.TOTPSealed) > 0 { // the page was reloaded, so show the same key again
		if seed, err := s.keys.Open(keyring.SecondFactor, session.ID[:], session.TOTPSealed); err == nil {
			return s.key(session.Staff.Email, seed)
		}
	}
	seed := make([]byte, 20)
	rand.Read(seed)
	if err := s.db.Gorm.WithContext(ctx).Model(&models.StaffSession{}).Where("id = ?", session.ID).
		Updates(map[string]any{"totp_sealed": s.keys.Seal(keyring.SecondFactor, session.ID[:], seed)}).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	return s.key(session.Staff.Email, seed)
}

func (s *Service) key(account string, seed []byte) (*otp.Key, error) {
	return totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: account, Secret: seed})
}

// isCode reports whether text looks like an authenticator code. Passwords never look like codes,
// because they are longer.
func isCode(text string) bool {
	text = plainCode(text)
	return len(text) == codeDigits && strings.Trim(text, "0123456789") == ""
}

// FinishSecondFactor checks the first code and enables the second factor. It ends the user's other
// sessions and returns recovery codes, which cannot be shown again.
//
// During a login, FinishSecondFactor also opens the session and returns its new token. If the
// session is already open, token is "".
func (s *Service) FinishSecondFactor(
	ctx context.Context, session Session, code string,
) (token string, codes []string, err error) {
	if len(session.TOTPSealed) == 0 {
		return "", nil, errNoEnrolment
	}
	seed, err := s.keys.Open(keyring.SecondFactor, session.ID[:], session.TOTPSealed)
	if err != nil {
		return "", nil, errNoEnrolment
	}
	used, ok := s.matchTOTP(seed, code)
	if !ok {
		return "", nil, errCode
	}
	limits, err := s.codeLimits(ctx, session.Staff, s.by.Address)
	if err != nil {
		return "", nil, err
	}
	err = s.changeUser(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error {
		if !bytes.Equal(p.TOTPSealed, session.Staff.TOTPSealed) || session.Stage != models.StageOpen &&
			len(p.TOTPSealed) > 0 {
			return errEnrolled
		}
		columns := map[string]any{
			"totp_sealed": s.keys.Seal(keyring.SecondFactor, p.ID[:], seed),
			"totp_step":   used,
			"totp_at":     s.clock.Now(),
		}
		if err := s.update(tx, p, columns); err != nil {
			return err
		}
		var err error
		if codes, err = s.newRecoveryCodes(tx, p.ID); err != nil {
			return err
		}
		if err := s.endAll(tx, p.ID, session.ID, "the second factor was changed"); err != nil {
			return err
		}
		if session.Stage != models.StageOpen {
			var hash []byte
			token, hash = newToken()
			if err := s.promote(tx, session, hash); err != nil {
				return err
			}
		} else if err := tx.Model(&models.StaffSession{}).Where("id = ?", session.ID).Updates(map[string]any{"totp_sealed": nil}).Error; err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), as(*p, s.by), event("staff.second_factor", *p, nil, nil))
	})
	if err == nil {
		s.succeeded(ctx, limits)
	}
	return token, codes, err
}

// newRecoveryCodes replaces a user's recovery codes. Each code has 80 random bits, so a fast hash
// is sufficient.
func (s *Service) newRecoveryCodes(tx *gorm.DB, user uuid.UUID) (codes []string, err error) {
	if err := tx.Where("staff_id = ?", user).Delete(&models.RecoveryCode{}).Error; err != nil {
		return nil, err
	}
	rows := make([]models.RecoveryCode, recoveryCodes)
	for i := range rows {
		var raw [10]byte
		rand.Read(raw[:])
		text := strings.ToLower(base32Text.EncodeToString(raw[:]))
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
		rows[i] = models.RecoveryCode{StaffID: user, Digest: recoveryDigest(codes[i])}
	}
	return codes, tx.Create(&rows).Error
}

// NewRecoveryCodes replaces a user's recovery codes. The previous codes become invalid.
func (s *Service) NewRecoveryCodes(ctx context.Context, user uuid.UUID) (codes []string, err error) {
	err = s.changeUser(ctx, user, func(tx *gorm.DB, p *models.Staff) (err error) {
		if len(p.TOTPSealed) == 0 {
			return errNoFactor
		}
		if codes, err = s.newRecoveryCodes(tx, p.ID); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by, event("staff.recovery_codes", *p, nil, nil))
	})
	return codes, err
}

func plainCode(text string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(strings.TrimSpace(text)))
}

func recoveryDigest(code string) []byte {
	sum := sha256.Sum256([]byte(plainCode(code)))
	return sum[:]
}

// useCode checks an authenticator code or a recovery code and marks it as used. It returns errCode
// if the code is wrong. The caller must have locked the user's row.
func (s *Service) useCode(tx *gorm.DB, p *models.Staff, code string) error {
	err := s.useTOTP(tx, p, code)
	if !errors.Is(err, errCode) {
		return err
	}
	res := tx.Model(&models.RecoveryCode{}).Where("staff_id = ? AND digest = ? AND used_at IS NULL", p.ID, recoveryDigest(code)).
		Updates(map[string]any{"used_at": s.clock.Now()})
	if res.Error == nil && res.RowsAffected == 0 {
		return errCode
	}
	return res.Error
}

// useTOTP checks an authenticator code. After a correct code, neither this code nor an earlier one is
// accepted again.
func (s *Service) useTOTP(tx *gorm.DB, p *models.Staff, code string) error {
	if len(p.TOTPSealed) == 0 {
		return errCode
	}
	seed, err := s.keys.Open(keyring.SecondFactor, p.ID[:], p.TOTPSealed)
	if err != nil {
		return err
	}
	used, ok := s.matchTOTP(seed, code)
	if !ok || used <= p.TOTPStep {
		return errCode
	}
	res := tx.Model(&models.Staff{}).Where("id = ? AND totp_step < ?", p.ID, used).
		Updates(map[string]any{"totp_step": used})
	if res.Error == nil && res.RowsAffected == 0 {
		return errCode
	}
	return res.Error
}

// matchTOTP returns the time step of a code. It accepts the codes for the previous, current and
// next steps, because clocks may differ slightly.
func (s *Service) matchTOTP(seed []byte, code string) (found int64, ok bool) {
	code = plainCode(code)
	now := s.clock.Now()
	for offset := -1; offset <= 1; offset++ {
		at := now.Add(time.Duration(offset) * step)
		want, err := totp.GenerateCode(base32Text.EncodeToString(seed), at)
		if err == nil && subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found, ok = at.Unix()/int64(step/time.Second), true
		}
	}
	return found, ok
}

// ResetSecondFactor removes the second factor and the recovery codes of a user who has lost them,
// and ends the user's sessions. If one of the user's roles requires a second factor, the user has
// to set up a new one at the next login.
func (s *Service) ResetSecondFactor(ctx context.Context, user uuid.UUID) error {
	if s.by.Staff == user {
		return errOwnFactor
	}
	return s.changeUser(ctx, user, func(tx *gorm.DB, p *models.Staff) error {
		if err := tx.Where("staff_id = ?", p.ID).Delete(&models.RecoveryCode{}).Error; err != nil {
			return err
		}
		before := len(p.TOTPSealed) > 0
		if err := s.update(tx, p, map[string]any{"totp_sealed": nil, "totp_at": nil}); err != nil {
			return err
		}
		if err := s.endAll(tx, p.ID, uuid.Nil, "the second factor was reset"); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by,
			event("staff.reset_second_factor", *p,
				map[string]any{"second_factor": before}, map[string]any{"second_factor": false}))
	})
}

// RecoveryCodesLeft counts a user's unused recovery codes.
func (s *Service) RecoveryCodesLeft(ctx context.Context, user uuid.UUID) (n int64, err error) {
	err = s.db.Gorm.WithContext(ctx).Model(&models.RecoveryCode{}).Where("staff_id = ? AND used_at IS NULL", user).
		Count(&n).Error
	return n, postgres.Translate(err)
}
