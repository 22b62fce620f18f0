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

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	issuer        = "pingpost"
	step          = 30 * time.Second
	codeDigits    = 6
	recoveryCodes = 10
)

var (
	errNoEnrolment = apperr.New(apperr.Conflict, "enrolment", "Begin again: there is no second factor that is being set up.")
	errEnrolled    = apperr.New(apperr.Conflict, "enrolled",
		"A second factor has been set up since you began. Sign in again and use it.")
	errOwnFactor = apperr.New(apperr.Forbidden, "own_factor",
		"Nobody resets their own second factor: pair another authenticator on your account, or ask another administrator.")
	errNoFactor = apperr.New(apperr.Conflict, "no_factor", "Recovery codes stand in for a second factor: set one up first.")
	base32Text  = base32.StdEncoding.WithPadding(base32.NoPadding)
)

// BeginSecondFactor makes a seed for an authenticator app. It counts once a code of
// it was given.
func (s *Service) BeginSecondFactor(ctx context.Context, session Session) (*otp.Key, error) {
	if len(session.TOTPSealed) > 0 { // the page was only loaded again
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

// isCode reports whether a text looks like a code of a second factor. No password is
// that short.
func isCode(text string) bool {
	text = plainCode(text)
	return len(text) == codeDigits && strings.Trim(text, "0123456789") == ""
}

// FinishSecondFactor takes the first code, opens the session under a new token
// where it was not open yet (token is "" where it was), ends the person's others, and
// returns recovery codes, which are shown once.
func (s *Service) FinishSecondFactor(
	ctx context.Context, by audit.Actor, session Session, code string,
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
	budgets, err := s.codeBudget(ctx, session.Staff, by.Address)
	if err != nil {
		return "", nil, err
	}
	err = s.change(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error {
		if !bytes.Equal(p.TOTPSealed, session.Staff.TOTPSealed) || session.Stage != models.StageOpen && len(p.TOTPSealed) > 0 {
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
		return audit.Write(tx, s.clock.Now(), as(*p, by), event("staff.second_factor", *p, nil, nil))
	})
	if err == nil {
		s.succeeded(ctx, budgets)
	}
	return token, codes, err
}

// newRecoveryCodes replaces a person's recovery codes: 80 bits each, so that their
// plain hash is enough.
func (s *Service) newRecoveryCodes(tx *gorm.DB, person uuid.UUID) (codes []string, err error) {
	if err := tx.Where("staff_id = ?", person).Delete(&models.RecoveryCode{}).Error; err != nil {
		return nil, err
	}
	rows := make([]models.RecoveryCode, recoveryCodes)
	for i := range rows {
		var raw [10]byte
		rand.Read(raw[:])
		text := strings.ToLower(base32Text.EncodeToString(raw[:]))
		codes = append(codes, text[:4]+"-"+text[4:8]+"-"+text[8:12]+"-"+text[12:])
		rows[i] = models.RecoveryCode{StaffID: person, Digest: recoveryDigest(codes[i])}
	}
	return codes, tx.Create(&rows).Error
}

// NewRecoveryCodes replaces a person's recovery codes; the ones before are worth
// nothing from then on.
func (s *Service) NewRecoveryCodes(ctx context.Context, by audit.Actor, person uuid.UUID) (codes []string, err error) {
	err = s.change(ctx, person, func(tx *gorm.DB, p *models.Staff) (err error) {
		if len(p.TOTPSealed) == 0 {
			return errNoFactor
		}
		if codes, err = s.newRecoveryCodes(tx, p.ID); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), by, event("staff.recovery_codes", *p, nil, nil))
	})
	return codes, err
}

// plainCode is a code without what people put between its characters.
func plainCode(text string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "\t", "").Replace(strings.TrimSpace(text)))
}

func recoveryDigest(code string) []byte {
	sum := sha256.Sum256([]byte(plainCode(code)))
	return sum[:]
}

// useCode uses up a code of the second factor or a recovery code, of a person whose
// row the caller has locked.
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

// useTOTP uses up a code: neither it nor an earlier one is taken again.
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
	res := tx.Model(&models.Staff{}).Where("id = ? AND totp_step < ?", p.ID, used).Updates(map[string]any{"totp_step": used})
	if res.Error == nil && res.RowsAffected == 0 {
		return errCode
	}
	return res.Error
}

// matchTOTP finds the step whose code it is: this one, the one before, or the next,
// for clocks that are a little off.
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

// ResetSecondFactor takes a person's second factor away, who has lost it, and ends
// their sessions. Where their role needs one, they set up another at the next login.
func (s *Service) ResetSecondFactor(ctx context.Context, by audit.Actor, person uuid.UUID) error {
	if by.Staff == person {
		return errOwnFactor
	}
	return s.change(ctx, person, func(tx *gorm.DB, p *models.Staff) error {
		if err := tx.Where("staff_id = ?", p.ID).Delete(&models.RecoveryCode{}).Error; err != nil {
			return err
		}
		had := len(p.TOTPSealed) > 0
		if err := s.update(tx, p, map[string]any{"totp_sealed": nil, "totp_at": nil}); err != nil {
			return err
		}
		if err := s.endAll(tx, p.ID, uuid.Nil, "the second factor was reset"); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), by,
			event("staff.reset_second_factor", *p, map[string]any{"second_factor": had}, map[string]any{"second_factor": false}))
	})
}

// RecoveryCodesLeft counts the codes that a person has not used.
func (s *Service) RecoveryCodesLeft(ctx context.Context, person uuid.UUID) (n int64, err error) {
	err = s.db.Gorm.WithContext(ctx).Model(&models.RecoveryCode{}).Where("staff_id = ? AND used_at IS NULL", person).Count(&n).Error
	return n, postgres.Translate(err)
}
