package staff

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

const (
	// savedFormTTL is how long a saved form can be restored.
	savedFormTTL = 30 * time.Minute
	// endedFor is how long a session that has ended can still be used to save a form. The time starts at
	// the last use of the session.
	endedFor = 24 * time.Hour
)

// SavedForm is a form that a user submitted after the session had ended.
type SavedForm struct {
	Page   string // the URL of the page that restores the form
	Action string // the path to which the form was submitted
	Values url.Values

	savedAt time.Time
}

// EndedSession returns the user of a session that expired or was revoked, and that was last used less
// than endedFor ago. The result ok is false if there is no such session, if the user logged out, or if the
// user is not active.
func (s *Service) EndedSession(ctx context.Context, token string) (user uuid.UUID, ok bool, err error) {
	if token == "" {
		return uuid.Nil, false, nil
	}
	now := s.clock.Now()
	err = s.db.Pool.QueryRow(ctx, `SELECT p.id FROM staff_sessions e JOIN staff p ON p.id = e.staff_id AND p.status = $2
		WHERE e.token_hash = $1 AND e.stage = $3 AND e.seen_at > $4
			AND (e.ended_at IS NULL AND (e.expires_at <= $5 OR e.seen_at <= $6) OR e.end_reason <> $7)`,
		hashToken(token), string(models.StaffActive), string(models.StageOpen), now.Add(-endedFor), now,
		now.Add(-s.settings.Idle),
		loggedOut).Scan(&user)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, false, nil
	}
	return user, err == nil, postgres.Translate(err)
}

// SaveForm saves a form for a user. It replaces the user's previous saved form, if any.
func (s *Service) SaveForm(ctx context.Context, user uuid.UUID, f SavedForm) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = s.db.Pool.Exec(ctx, `INSERT INTO saved_forms (staff_id, sealed, saved_at) VALUES ($1, $2, $3)
		ON CONFLICT (staff_id) DO UPDATE SET sealed = excluded.sealed, saved_at = excluded.saved_at`,
		user, s.keys.Seal(keyring.SavedForm, user[:], text), s.clock.Now())
	return postgres.Translate(err)
}

// SavedForm returns the user's saved form. It returns nil if there is no saved form or if it has
// expired.
func (s *Service) SavedForm(ctx context.Context, user uuid.UUID) (*SavedForm, error) {
	var value []byte
	var at time.Time
	err := s.db.Pool.QueryRow(ctx, `SELECT sealed, saved_at FROM saved_forms WHERE staff_id = $1`, user).Scan(&value, &at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, postgres.Translate(err)
	case s.clock.Now().Sub(at) > savedFormTTL:
		return nil, nil
	}
	text, err := s.keys.Open(keyring.SavedForm, user[:], value)
	if err != nil {
		return nil, err
	}
	f := &SavedForm{savedAt: at}
	return f, json.Unmarshal(text, f)
}

// DeleteSavedForm deletes a saved form of the user. It keeps a form that was saved later.
func (s *Service) DeleteSavedForm(ctx context.Context, user uuid.UUID, f *SavedForm) error {
	_, err := s.db.Pool.Exec(ctx, `DELETE FROM saved_forms WHERE staff_id = $1 AND saved_at = $2`, user, f.savedAt)
	return postgres.Translate(err)
}
