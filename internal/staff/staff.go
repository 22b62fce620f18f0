// Package staff manages the users of the console: their logins, second factors, sessions and roles.
//
// Package authz decides what each role permits. Each change and its audit event are written in the
// same transaction.
package staff

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Settings contains the settings for logins and sessions.
type Settings struct {
	SecondFactor []models.Role    // roles that require a second factor
	Idle         time.Duration    // how long after its last use a session expires
	Lifetime     time.Duration    // how long after the login a session expires
	PasswordCost *argon2id.Params // cost of new password hashes; nil for the parameters recommended by OWASP
}

// Service manages users, logins and sessions.
type Service struct {
	db        *postgres.DB
	keys      *keyring.Keys
	clock     clock.Clock
	settings  Settings
	dummyHash func() (string, error)
	compare   func(password, hash string) (match bool, err error)
	by        audit.Actor
	hashing   chan struct{} // limits concurrent hashing, which needs a lot of memory and CPU time
}

const maxConcurrentHashes = 2

// NewService returns a service that seals second factors and saved forms with the platform keys.
func NewService(db *postgres.DB, keys *keyring.Keys, c clock.Clock, s Settings) *Service {
	if s.PasswordCost == nil {
		s.PasswordCost = &argon2id.Params{
			Memory:      19 << 10,
			Iterations:  2,
			Parallelism: 1,
			SaltLength:  16,
			KeyLength:   32,
		}
	}
	dummyHash := func() (string, error) { return newDummyHash(s.PasswordCost) }
	return &Service{
		db: db.WithConstraints(constraints()), keys: keys, clock: c, settings: s, by: audit.Service,
		dummyHash: sync.OnceValues(dummyHash), compare: argon2id.ComparePasswordAndHash,
		hashing: make(chan struct{}, maxConcurrentHashes),
	}
}

// By returns a copy of the service that acts on behalf of the given actor.
func (s *Service) By(actor audit.Actor) *Service {
	theirs := *s
	theirs.by = actor
	return &theirs
}

var (
	errStaffNotFound = apperr.New(apperr.NotFound, "staff",
		"This user does not exist. List all users with `pingpost staff list`.")
	errEmail = apperr.New(apperr.Invalid, "email",
		"Enter an email address such as name@example.com, with at most 254 characters.")
	errName   = apperr.New(apperr.Invalid, "name", "Enter a name of 1 to 100 characters, without control characters.")
	errNoRole = apperr.New(apperr.Invalid, "role",
		"Choose at least one role: administrator, account_manager, pricing_manager, finance, privacy or auditor.")
	errInvited = apperr.New(apperr.Conflict, "accepted", "The user has already accepted the invitation.")
	errStale   = apperr.New(apperr.Conflict, "changed",
		"This user's details have changed since you opened the page. Review the change, then try again.")
)

// InvitationLife is how long an invitation is valid.
const InvitationLife = 72 * time.Hour

// NewMember is a user to create.
type NewMember struct {
	Email, Name string
	Roles       []models.StaffRole // StaffID is ignored
}

// Invited is a user who was invited, and the invitation's token. The token is shown only once.
type Invited struct {
	models.Staff
	Token string
}

// Invite creates a user and an invitation. The user sets a password when accepting the invitation.
func (s *Service) Invite(ctx context.Context, n NewMember) (Invited, error) {
	p, roles, err := s.newUser(n)
	if err != nil {
		return Invited{}, err
	}
	token, invitation := s.newInvitation(p.ID, p.CreatedAt)
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := create(tx, &p, roles); err != nil {
			return err
		}
		if err := tx.Create(&invitation).Error; err != nil {
			return err
		}
		return audit.Write(tx, p.CreatedAt, s.by, event("staff.invite", p, nil, described(p, roles)))
	})
	return Invited{p, token}, err
}

// RenewInvitation creates a new token for a user who has not accepted the invitation yet. The
// previous token becomes invalid.
func (s *Service) RenewInvitation(ctx context.Context, user uuid.UUID) (Invited, error) {
	var out Invited
	err := s.changeUser(ctx, user, func(tx *gorm.DB, p *models.Staff) error {
		if p.Status != models.StaffInvited {
			return errInvited
		}
		if err := tx.Where("staff_id = ?", p.ID).Delete(&models.Invitation{}).Error; err != nil {
			return err
		}
		token, invitation := s.newInvitation(p.ID, s.clock.Now())
		out = Invited{*p, token}
		if err := tx.Create(&invitation).Error; err != nil {
			return err
		}
		return audit.Write(tx, s.clock.Now(), s.by, event("staff.invite_again", *p, nil, nil))
	})
	return out, err
}

// Seed creates a user with a password but no second factor, for development mode. If the user
// exists, it only changes the password.
func (s *Service) Seed(ctx context.Context, n NewMember, password string) (models.Staff, error) {
	p, roles, err := s.newUser(n)
	if err != nil {
		return p, err
	}
	var known []models.Staff
	if err := s.db.Gorm.WithContext(ctx).Where("lower(email) = lower(?)", p.Email).Find(&known).Error; err != nil {
		return p, postgres.Translate(err)
	}
	if len(known) > 0 {
		right, err := s.matches(ctx, password, known[0].PasswordHash)
		if err != nil || right {
			return known[0], err
		}
	}
	hash, err := s.hash(ctx, password)
	if err != nil {
		return p, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if len(known) > 0 {
			p = known[0]
			if err := s.update(tx, &p, map[string]any{"password_hash": hash}); err != nil {
				return err
			}
			return audit.Write(tx, s.clock.Now(), s.by, event("staff.password", p, nil, nil))
		}
		p.PasswordHash, p.Status = hash, models.StaffActive
		if err := create(tx, &p, roles); err != nil {
			return err
		}
		return audit.Write(tx, p.CreatedAt, s.by, event("staff.create", p, nil, described(p, roles)))
	})
	return p, err
}

func (s *Service) newUser(n NewMember) (models.Staff, []models.StaffRole, error) {
	now := s.clock.Now()
	p := models.Staff{
		ID: id.New(now), Email: strings.TrimSpace(n.Email), Name: strings.TrimSpace(n.Name),
		Status: models.StaffInvited, CreatedAt: now, UpdatedAt: now,
	}
	if !validEmail(p.Email) {
		return p, nil, errEmail
	}
	if err := checkName(p.Name); err != nil {
		return p, nil, err
	}
	roles, err := rolesOf(p.ID, n.Roles)
	return p, roles, err
}

func validEmail(text string) bool {
	a, err := mail.ParseAddress(text)
	unseen := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }
	return err == nil && a.Address == text && len(text) <= 254 && utf8.ValidString(text) && !strings.ContainsFunc(text,
		unseen)
}

func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > 100 || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return errName
	}
	return nil
}

func create(tx *gorm.DB, p *models.Staff, roles []models.StaffRole) error {
	if err := tx.Create(p).Error; err != nil {
		return err
	}
	return tx.Create(&roles).Error
}

func (s *Service) newInvitation(user uuid.UUID, now time.Time) (token string, row models.Invitation) {
	token, hash := newToken()
	return token, models.Invitation{TokenHash: hash, StaffID: user, ExpiresAt: now.Add(InvitationLife)}
}

// changeUser locks the user's row and then calls do, in one transaction.
func (s *Service) changeUser(ctx context.Context, user uuid.UUID, do func(tx *gorm.DB, p *models.Staff) error) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		p, err := locked(tx, user)
		if err != nil {
			return err
		}
		return do(tx, &p)
	})
}

func locked(tx *gorm.DB, user uuid.UUID) (p models.Staff, err error) {
	err = tx.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", user).Limit(1).Find(&p).Error
	if err == nil && p.ID == uuid.Nil {
		err = errStaffNotFound
	}
	return p, err
}

// update updates columns of a user's row, which the caller must have locked.
func (s *Service) update(tx *gorm.DB, p *models.Staff, columns map[string]any) error {
	columns["updated_at"], columns["row_version"] = s.clock.Now(), p.RowVersion+1
	return tx.Model(&models.Staff{}).Where("id = ?", p.ID).Updates(columns).Error
}

func event(action string, p models.Staff, before, after map[string]any) audit.Event {
	return audit.Event{Action: action, Kind: "staff", Object: id.Format(id.Staff, p.ID), Before: before, After: after}
}

func described(p models.Staff, roles []models.StaffRole) map[string]any {
	return map[string]any{"email": p.Email, "name": p.Name, "roles": roleTexts(roles)}
}

// Member is a user and the user's roles.
type Member struct {
	models.Staff
	Roles  []models.StaffRole
	SeenAt time.Time // time of the last use of the console; zero if there was none
}

// SecondFactor reports whether the user has a second factor.
func (p Member) SecondFactor() bool { return len(p.TOTPSealed) > 0 }

// List returns all users, sorted by name.
func (s *Service) List(ctx context.Context) ([]Member, error) {
	var rows []struct {
		models.Staff
		SeenAt *time.Time
	}
	db := s.db.Gorm.WithContext(ctx)
	if err := db.Raw(`SELECT ` + postgres.Columns[models.Staff]("s") + `, (SELECT max(seen_at) FROM staff_sessions x WHERE x.staff_id = s.id) AS seen_at
		FROM staff s ORDER BY lower(s.name), s.id`).Scan(&rows).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	var roles []models.StaffRole
	if err := db.Order("role, partner_id").Find(&roles).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	people := make([]Member, len(rows))
	for i, row := range rows {
		people[i].Staff = row.Staff
		if row.SeenAt != nil {
			people[i].SeenAt = *row.SeenAt
		}
		for _, role := range roles {
			if role.StaffID == row.ID {
				people[i].Roles = append(people[i].Roles, role)
			}
		}
	}
	return people, nil
}

// ByIDs reads the users with the given ids.
func (s *Service) ByIDs(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]models.Staff, error) {
	return postgres.ByIDs(s.db.Gorm.WithContext(ctx), ids, func(p models.Staff) uuid.UUID { return p.ID })
}

// Find returns the user with the given email address or ID.
func (s *Service) Find(ctx context.Context, emailOrID string) (Member, error) {
	people, err := s.List(ctx)
	if err != nil {
		return Member{}, err
	}
	staffID, err := id.Parse(id.Staff, emailOrID)
	i := slices.IndexFunc(people,
		func(p Member) bool { return err == nil && p.ID == staffID || strings.EqualFold(p.Email, emailOrID) })
	if i < 0 {
		return Member{}, errStaffNotFound
	}
	return people[i], nil
}
