package staff

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	// seenEvery is how often a session's last use is written down.
	seenEvery = time.Minute
	// confirmedFor is how long a person counts as being there after a password or
	// code.
	confirmedFor = 10 * time.Minute
	maxUserAgent = 200
)

var errNoSession = apperr.New(apperr.NotFound, "session", "There is no such session, or it has ended.")

// Session is a login with its person.
type Session struct {
	models.StaffSession
	Staff models.Staff
}

// Confirmed reports whether the person proved to be there a moment ago.
func (s Session) Confirmed(now time.Time) bool {
	return s.ConfirmedAt != nil && now.Sub(*s.ConfirmedAt) < confirmedFor
}

func (s *Service) newSession(p models.Staff, stage models.SessionStage, a LoginAttempt) (models.StaffSession, string) {
	now := s.clock.Now()
	token, hash := newToken()
	agent := []rune(strings.ToValidUTF8(strings.ReplaceAll(a.UserAgent, "\x00", ""), ""))
	row := models.StaffSession{
		ID: id.New(now), StaffID: p.ID, TokenHash: hash, Stage: stage,
		Address: a.By.Address, UserAgent: string(agent[:min(len(agent), maxUserAgent)]),
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(s.settings.Lifetime),
	}
	if stage == models.StageOpen {
		row.ConfirmedAt = &now
	}
	return row, token
}

// Session finds the session with this token and counts it as used. It fails with an
// Unauthorized fault when there is no such session or it has ended. It asks the database
// each time, so a session that was ended on any node is over at once.
func (s *Service) Session(ctx context.Context, token string) (Session, error) {
	out, err := s.PeekSession(ctx, token)
	if now := s.clock.Now(); err == nil && now.Sub(out.SeenAt) > seenEvery {
		err = postgres.Translate(s.db.Gorm.WithContext(ctx).Model(&models.StaffSession{}).Where("id = ?", out.ID).Updates(map[string]any{"seen_at": now}).Error)
	}
	return out, err
}

// PeekSession is Session without counting as use, for what a page requests by itself:
// an open page does not keep an idle session alive.
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

// usable are the sessions that have not ended, by whatever end.
func (s *Service) usable(db *gorm.DB, now time.Time) *gorm.DB {
	return db.Where("ended_at IS NULL AND expires_at > ? AND seen_at > ?", now, now.Add(-s.settings.Idle))
}

// Sessions lists a person's sessions that may still be used, the newest first.
func (s *Service) Sessions(ctx context.Context, person uuid.UUID) (all []models.StaffSession, err error) {
	err = s.usable(s.db.Gorm.WithContext(ctx), s.clock.Now()).Where("staff_id = ?", person).
		Order("created_at DESC, id DESC").Find(&all).Error
	return all, postgres.Translate(err)
}

// End ends a session of one's own.
func (s *Service) End(ctx context.Context, session Session, why string) error {
	return postgres.Translate(s.end(s.db.Gorm.WithContext(ctx), why, "id = ?", session.ID).Error)
}

// Logout ends the session and says so in the audit trail.
func (s *Service) Logout(ctx context.Context, by audit.Actor, session Session) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if res := s.end(tx, "logged out", "id = ?", session.ID); res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return audit.Write(tx, s.clock.Now(), by, event("logout", session.Staff, nil, nil))
	})
}

// EndSession ends one of a person's sessions, on every node at once.
func (s *Service) EndSession(ctx context.Context, by audit.Actor, person, session uuid.UUID) error {
	return s.change(ctx, person, func(tx *gorm.DB, p *models.Staff) error {
		res := s.end(tx, "ended by "+by.Name, "id = ? AND staff_id = ?", session, person)
		if res.Error == nil && res.RowsAffected == 0 {
			return errNoSession
		}
		if res.Error != nil {
			return res.Error
		}
		return audit.Write(tx, s.clock.Now(), by,
			event("staff.end_session", *p, nil, map[string]any{"session": id.Format(id.Session, session)}))
	})
}

// EndSessions ends a person's sessions, all but one where that is given.
func (s *Service) EndSessions(ctx context.Context, by audit.Actor, person, but uuid.UUID) error {
	return s.change(ctx, person, func(tx *gorm.DB, p *models.Staff) error {
		if err := s.endAll(tx, person, but, "ended by "+by.Name); err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), by, event("staff.end_sessions", *p, nil, nil))
	})
}

func (s *Service) end(db *gorm.DB, why string, where string, args ...any) *gorm.DB {
	return db.Model(&models.StaffSession{}).Where("ended_at IS NULL").Where(where, args...).
		Updates(map[string]any{"ended_at": s.clock.Now(), "ended_why": why})
}

// endAll ends a person's sessions but one.
func (s *Service) endAll(tx *gorm.DB, person, but uuid.UUID, why string) error {
	return s.end(tx, why, "staff_id = ? AND id <> ?", person, but).Error
}

// Confirm lets a person prove to be there, with their password or a code of their
// second factor.
func (s *Service) Confirm(ctx context.Context, by audit.Actor, session Session, proof string) error {
	check := s.checkPasswordOf
	if isCode(proof) {
		check = s.checkCodeOf
	}
	if err := check(ctx, by, session, proof); err != nil {
		return err
	}
	return postgres.Translate(s.db.Gorm.WithContext(ctx).Model(&models.StaffSession{}).Where("id = ?", session.ID).
		Updates(map[string]any{"confirmed_at": s.clock.Now()}).Error)
}

// checkPasswordOf checks the password of a signed-in user.
func (s *Service) checkPasswordOf(ctx context.Context, by audit.Actor, session Session, password string) error {
	budgets, err := s.passwordBudgets(ctx, session.Staff, session.Staff.Email, by.Address)
	if err != nil {
		return err
	}
	return s.verifyAndAudit(ctx, by, session, budgets, func() (bool, error) {
		return s.matches(ctx, password, session.Staff.PasswordHash)
	})
}

// checkCodeOf checks a second-factor code of a signed-in user.
func (s *Service) checkCodeOf(ctx context.Context, by audit.Actor, session Session, code string) error {
	budgets, err := s.codeBudget(ctx, session.Staff, by.Address)
	if err != nil {
		return err
	}
	return s.verifyAndAudit(ctx, by, session, budgets, func() (bool, error) {
		err := s.change(ctx, session.Staff.ID, func(tx *gorm.DB, p *models.Staff) error { return s.useTOTP(tx, p, code) })
		if errors.Is(err, errCode) {
			return false, nil
		}
		return err == nil, err
	})
}

// verifyAndAudit runs an attempt by a signed-in user and audits a wrong one.
func (s *Service) verifyAndAudit(
	ctx context.Context, by audit.Actor, session Session, budgets []attemptLimit, right func() (bool, error),
) error {
	ok, err := s.attempt(ctx, budgets, right)
	if err == nil && !ok {
		err = errors.Join(errWrong, s.reject(ctx, session.Staff, by, "confirm", "wrong password or code"))
	}
	return err
}

// keepEnded is how long what has ended is kept: for the person's page, and to know
// the addresses they log in from.
const keepEnded = knownFor

// DeleteExpired deletes expired sessions, invitations and kept forms, and login attempts and
// form submissions from more than a day ago. It returns the number of deleted rows.
func (s *Service) DeleteExpired(ctx context.Context) (gone int64, err error) {
	now := s.clock.Now()
	for sql, before := range map[string]time.Time{
		`DELETE FROM staff_sessions WHERE expires_at < $1`:              now.Add(-keepEnded),
		`DELETE FROM staff_invitations WHERE expires_at < $1`:           now,
		`DELETE FROM login_attempts WHERE last_at < $1 AND NOT lasting`: now.Add(-24 * time.Hour),
		`DELETE FROM form_submissions WHERE at < $1`:                    now.Add(-24 * time.Hour),
		`DELETE FROM kept_forms WHERE kept_at < $1`:                     now.Add(-savedFormTTL),
	} {
		done, err := s.db.Pool.Exec(ctx, sql, before)
		if err != nil {
			return gone, postgres.Translate(err)
		}
		gone += done.RowsAffected()
	}
	return gone, nil
}
