package staff

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	errLogin = apperr.New(apperr.Unauthorized, "login", "The email address or the password is wrong.")
	errCode  = apperr.New(apperr.Unauthorized, "code",
		"This code is wrong or has already been used. Wait for the next code.")
	errSessionExpired = apperr.New(apperr.Unauthorized, "again", "Your session has ended. Sign in again.")
)

// codeAttempts is the number of wrong codes after which a login attempt ends.
const codeAttempts = 5

// LoginAttempt is an attempt to log in.
type LoginAttempt struct {
	Email, Password string
	UserAgent       string
}

// Login checks a password and returns a new session. The actor of the service contains the client's IP address. The
// session's stage states whether the session is open, or whether the user must first enter a code or set up a second
// factor. If the user is unknown, is deactivated or has no password, Login returns the same error as for a wrong
// password and takes just as long.
func (s *Service) Login(ctx context.Context, a LoginAttempt) (token string, session Session, err error) {
	email := strings.TrimSpace(a.Email)
	if len(email) > 254 || !utf8.ValidString(email) || strings.ContainsRune(email, 0) {
		email = "" // no user can have this address, and the database would reject it
	}
	var p models.Staff
	if err := s.db.Gorm.WithContext(ctx).Where("lower(email) = lower(?)", email).Limit(1).Find(&p).Error; err != nil {
		return "", session, postgres.Translate(err)
	}
	limits, err := s.passwordLimits(ctx, p, email, s.by.Address)
	if err != nil {
		return "", session, err
	}
	hash := p.PasswordHash
	if p.Status != models.StaffActive {
		hash = ""
	}
	right, err := s.limitAttempts(ctx, limits, func() (bool, error) { return s.matches(ctx, a.Password, hash) })
	if err != nil {
		return "", session, err
	}
	if !right {
		return "", session, errors.Join(errLogin, s.reject(ctx, p, "login", "wrong password"))
	}
	return s.begin(ctx, p, a)
}

// reject records a rejected login or step-up in the audit log. It does not record the email
// addresses of unknown users.
func (s *Service) reject(ctx context.Context, p models.Staff, action, why string) error {
	e, by := audit.Event{Action: action, Kind: "staff", Reason: why}, s.by
	by.Name = audit.Anonymous.Name
	if p.Email != "" {
		by.Name, by.Staff = p.Email, p.ID
		e.Object = id.Format(id.Staff, p.ID)
	}
	return s.auditLog().LogRejected(ctx, by, e)
}

func (s *Service) auditLog() *audit.Log { return audit.New(s.db, s.clock) }

func (s *Service) begin(
	ctx context.Context, p models.Staff, a LoginAttempt,
) (token string, session Session, err error) {
	roles, err := s.rolesOf(ctx, p.ID)
	if err != nil {
		return "", session, err
	}
	stage := models.StageOpen
	switch {
	case len(p.TOTPSealed) > 0:
		stage = models.StageCode
	case s.needsSecondFactor(roles):
		stage = models.StageEnrol
	}
	row, token := s.newSession(p, stage, a)
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&row).Error; err != nil {
			return err
		}
		if stage != models.StageOpen {
			return nil // the login is recorded in the audit log when it is complete
		}
		return audit.Write(tx, row.CreatedAt, as(p, s.by), event("login", p, nil, nil))
	})
	return token, Session{StaffSession: row, Staff: p}, err
}

func as(p models.Staff, by audit.Actor) audit.Actor {
	by.Staff, by.Name = p.ID, p.Email
	return by
}

func (s *Service) needsSecondFactor(roles []models.StaffRole) bool {
	return slices.ContainsFunc(roles,
		func(r models.StaffRole) bool { return slices.Contains(s.settings.SecondFactor, r.Role) })
}

// VerifyCode finishes a login with an authenticator code or a recovery code, and returns the
// session's new token.
func (s *Service) VerifyCode(
	ctx context.Context, session Session, code string,
) (token string, err error) {
	limits, err := s.codeLimits(ctx, session.Staff, s.by.Address)
	if err != nil {
		return "", err
	}
	right, err := s.limitAttempts(ctx, limits, func() (bool, error) {
		token, err = s.openWithCode(ctx, session, code)
		if errors.Is(err, errCode) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case errors.Is(err, errSessionExpired):
		return "", errors.Join(err, s.End(ctx, session, "too many wrong codes"))
	case err == nil && !right:
		err = errors.Join(errCode, s.reject(ctx, session.Staff, "login", "wrong code"))
	}
	return token, err
}

// openWithCode opens a session that is waiting for a code. It allows at most codeAttempts attempts
// per session.
func (s *Service) openWithCode(ctx context.Context, session Session, code string) (string, error) {
	// Count the attempt first, so that concurrent attempts do not allow additional guesses.
	counted, err := s.db.Pool.Exec(ctx, `UPDATE staff_sessions SET attempts = attempts + 1
		WHERE id = $1 AND stage = 'code' AND ended_at IS NULL AND attempts < $2`, session.ID, codeAttempts)
	if err != nil {
		return "", postgres.Translate(err)
	}
	if counted.RowsAffected() == 0 {
		return "", errSessionExpired
	}
	token, hash := newToken()
	err = s.changeUser(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error {
		if err := s.useCode(tx, p, code); err != nil {
			return err
		}
		now := s.clock.Now()
		if err := s.promote(tx, session, hash); err != nil {
			return err
		}
		return audit.Write(tx, now, as(*p, s.by), event("login", *p, nil, map[string]any{"second_factor": true}))
	})
	return token, err
}

// promote opens a session and replaces its token. The old token becomes invalid.
func (s *Service) promote(tx *gorm.DB, session Session, tokenHash []byte) error {
	now := s.clock.Now()
	res := tx.Model(&models.StaffSession{}).Where("id = ? AND ended_at IS NULL AND stage <> ?", session.ID, models.StageOpen).
		Updates(map[string]any{
			"token_hash":   tokenHash,
			"stage":        models.StageOpen,
			"seen_at":      now,
			"confirmed_at": now,
			"totp_sealed":  nil,
		})
	if res.Error == nil && res.RowsAffected == 0 {
		return errSessionExpired
	}
	return res.Error
}
