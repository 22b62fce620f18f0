package staff

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	// seenEvery is the minimum time between two recorded uses of a session.
	seenEvery = time.Minute
	// confirmedFor is how long a session stays confirmed after the user has entered the password or a
	// code.
	confirmedFor = 10 * time.Minute
	maxUserAgent = 200
)

var errNoSession = apperr.New(apperr.NotFound, "session", "This session has already ended.")

// Session is a session and its user.
type Session struct {
	models.StaffSession
	Staff models.Staff
}

// Confirmed reports whether the user entered the password or a code less than confirmedFor ago.
func (s Session) Confirmed(now time.Time) bool {
	return s.ConfirmedAt != nil && now.Sub(*s.ConfirmedAt) < confirmedFor
}

func (s *Service) newSession(p models.Staff, stage models.SessionStage, a LoginAttempt) (models.StaffSession, string) {
	now := s.clock.Now()
	token, hash := newToken()
	agent := []rune(strings.ToValidUTF8(strings.ReplaceAll(a.UserAgent, "\x00", ""), ""))
	row := models.StaffSession{
		ID: id.New(now), StaffID: p.ID, TokenHash: hash, Stage: stage,
		Address: s.by.Address, UserAgent: string(agent[:min(len(agent), maxUserAgent)]),
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(s.settings.Lifetime),
	}
	if stage == models.StageOpen {
		row.ConfirmedAt = &now
	}
	return row, token
}

// Session returns the session with the given token and records its use. If the session does not
// exist, or has ended or expired, it returns an error with the code apperr.Unauthorized. It queries
// the database on each call, so a session that was ended on one node is invalid on all nodes.
func (s *Service) Session(ctx context.Context, token string) (Session, error) {
	out, err := s.PeekSession(ctx, token)
	if now := s.clock.Now(); err == nil && now.Sub(out.SeenAt) > seenEvery {
		err = postgres.Translate(s.db.Gorm.WithContext(ctx).Model(&models.StaffSession{}).Where("id = ?", out.ID).Updates(map[string]any{"seen_at": now}).Error)
	}
	return out, err
}

// PeekSession is like Session, but does not record the use. It is meant for requests that a page
// makes automatically, so that an open page does not keep an idle session alive.
func (s *Service) PeekSession(ctx context.Context, token string) (out Session, err error) {
	if token == "" {
		return out, errSessionExpired
	}
	now := s.clock.Now()
	db := s.db.Gorm.WithContext(ctx)
	if err := s.usable(db, now).Where("token_hash = ?", hashToken(token)).Limit(1).Find(&out.StaffSession).Error; err != nil {
		return out, postgres.Translate(err)
	}
	if out.ID == uuid.Nil {
		return out, errSessionExpired
	}
	if err := db.Where("id = ? AND status = ?", out.StaffID, models.StaffActive).Limit(1).Find(&out.Staff).Error; err != nil {
		return out, postgres.Translate(err)
	}
	if out.Staff.ID == uuid.Nil {
		return out, errSessionExpired
	}
	return out, nil
}

func (s *Service) usable(db *gorm.DB, now time.Time) *gorm.DB {
	return db.Where("ended_at IS NULL AND expires_at > ? AND seen_at > ?", now, now.Add(-s.settings.Idle))
}

// Sessions lists a user's active sessions, newest first.
func (s *Service) Sessions(ctx context.Context, user uuid.UUID) (all []models.StaffSession, err error) {
	err = s.usable(s.db.Gorm.WithContext(ctx), s.clock.Now()).Where("staff_id = ?", user).
		Order("created_at DESC, id DESC").Find(&all).Error
	return all, postgres.Translate(err)
}

// End ends a session. It writes no audit event.
func (s *Service) End(ctx context.Context, session Session, why string) error {
	return postgres.Translate(s.end(s.db.Gorm.WithContext(ctx), why, "id = ?", session.ID).Error)
}

// loggedOut is the reason in the column end_reason of sessions from which the user logged out.
const loggedOut = "logged out"

// Logout ends a session and writes an audit event.
func (s *Service) Logout(ctx context.Context, session Session) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if res := s.end(tx, loggedOut, "id = ?", session.ID); res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return audit.Write(tx, s.clock.Now(), s.by, event("logout", session.Staff, nil, nil))
	})
}

// EndSession ends one of a user's sessions on all nodes.
func (s *Service) EndSession(ctx context.Context, user, session uuid.UUID) error {
	return s.changeUser(ctx, user, func(tx *gorm.DB, p *models.Staff) error {
		res := s.end(tx, "ended by "+s.by.Name, "id = ? AND staff_id = ?", session, user)
		if res.Error == nil && res.RowsAffected == 0 {
			return errNoSession
		}
		if res.Error != nil {
			return res.Error
		}
		return audit.Write(tx, s.clock.Now(), s.by,
			event("staff.end_session", *p, nil, map[string]any{"session": id.Format(id.Session, session)}))
	})
}

// EndSessions ends all sessions of a user except one. If the parameter except is uuid.Nil, EndSessions
// ends all sessions.
func (s *Service) EndSessions(ctx context.Context, user, except uuid.UUID) error {
	return s.changeUser(ctx, user, func(tx *gorm.DB, p *models.Staff) error {
		if err := s.endAll(tx, user, except, "ended by "+s.by.Name); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by, event("staff.end_sessions", *p, nil, nil))
	})
}

func (s *Service) end(db *gorm.DB, why string, where string, args ...any) *gorm.DB {
	return db.Model(&models.StaffSession{}).Where("ended_at IS NULL").Where(where, args...).
		Updates(map[string]any{"ended_at": s.clock.Now(), "end_reason": why})
}

func (s *Service) endAll(tx *gorm.DB, user, except uuid.UUID, why string) error {
	return s.end(tx, why, "staff_id = ? AND id <> ?", user, except).Error
}

// Confirm performs a step-up. It confirms a session with the user's password or an authenticator
// code.
func (s *Service) Confirm(ctx context.Context, session Session, proof string) error {
	check := s.checkPasswordOf
	if isCode(proof) {
		check = s.checkCodeOf
	}
	if err := check(ctx, session, proof); err != nil {
		return err
	}
	return postgres.Translate(s.db.Gorm.WithContext(ctx).Model(&models.StaffSession{}).Where("id = ?", session.ID).
		Updates(map[string]any{"confirmed_at": s.clock.Now()}).Error)
}

func (s *Service) checkPasswordOf(ctx context.Context, session Session, password string) error {
	limits, err := s.passwordLimits(ctx, session.Staff, session.Staff.Email, s.by.Address)
	if err != nil {
		return err
	}
	return s.verifyAndAudit(ctx, session, limits, func() (bool, error) {
		return s.matches(ctx, password, session.Staff.PasswordHash)
	})
}

func (s *Service) checkCodeOf(ctx context.Context, session Session, code string) error {
	limits, err := s.codeLimits(ctx, session.Staff, s.by.Address)
	if err != nil {
		return err
	}
	return s.verifyAndAudit(ctx, session, limits, func() (bool, error) {
		err := s.changeUser(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error { return s.useTOTP(tx, p, code) })
		if errors.Is(err, errCode) {
			return false, nil
		}
		return err == nil, err
	})
}

// If no limit has been reached, verifyAndAudit calls the function check. It records a failed attempt in
// the audit log.
func (s *Service) verifyAndAudit(
	ctx context.Context, session Session, limits []attemptLimit, check func() (bool, error),
) error {
	ok, err := s.limitAttempts(ctx, limits, check)
	if err == nil && !ok {
		err = errors.Join(errWrong, s.reject(ctx, session.Staff, "confirm", "wrong password or code"))
	}
	return err
}

// keepEnded is how long a session is stored after it expires. Stored sessions show from which addresses
// a user has logged in before.
const keepEnded = knownFor

// DeleteExpired deletes expired invitations and saved forms, and sessions that expired more than
// keepEnded ago. It also deletes login attempts and form submissions that are more than a day old.
// It returns the number of deleted rows.
func (s *Service) DeleteExpired(ctx context.Context) (gone int64, err error) {
	now := s.clock.Now()
	for sql, before := range map[string]time.Time{
		`DELETE FROM staff_sessions WHERE expires_at < $1`:                    now.Add(-keepEnded),
		`DELETE FROM staff_invitations WHERE expires_at < $1`:                 now,
		`DELETE FROM login_attempts WHERE last_at < $1 AND NOT until_success`: now.Add(-24 * time.Hour),
		`DELETE FROM form_submissions WHERE at < $1`:                          now.Add(-24 * time.Hour),
		`DELETE FROM saved_forms WHERE saved_at < $1`:                         now.Add(-savedFormTTL),
	} {
		done, err := s.db.Pool.Exec(ctx, sql, before)
		if err != nil {
			return gone, postgres.Translate(err)
		}
		gone += done.RowsAffected()
	}
	return gone, nil
}
