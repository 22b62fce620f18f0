// Package partners owns partners, their accounts and signing secrets, the rules
// of signing enforcement, and the directory: the snapshot of all of it that the
// partner API reads on every request.
//
// It does not own prices (ratecard, pricing_rules) beyond a partner's own
// adjustment, exclusions and cap, and it never logs or returns a secret except
// in the answer that creates it (D16).
package partners

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/sealed"
	"github.com/pingpost/pingpost/internal/store"
	"github.com/pingpost/pingpost/models"
)

// MaxSharedAddress bounds how many partners may be recognised by their secret
// alone (D13): each costs every anonymous post one comparison.
const MaxSharedAddress = 100

// Service changes partners. Every change is in force on all nodes within a second.
type Service struct {
	db    *store.DB
	keys  *sealed.Keys
	clock clock.Clock
	by    audit.Actor
}

// NewService needs the platform keys to seal secrets. What it changes is the
// service's own doing, unless By says whose it is.
func NewService(db *store.DB, keys *sealed.Keys, c clock.Clock) *Service {
	return &Service{db: db, keys: keys, clock: c, by: audit.Service}
}

// By is the same service on behalf of somebody, whose changes the audit trail tells
// of as theirs.
func (s *Service) By(who audit.Actor) *Service {
	c := *s
	c.by = who
	return &c
}

// tell writes what was done to a partner to the audit trail, as the last thing that
// the transaction does.
func (s *Service) tell(tx *gorm.DB, action, kind, object string, partner uuid.UUID, before, after map[string]any) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{Action: action, Kind: kind, Object: object, Partner: partner, Before: before, After: after})
}

func (s *Service) newID() (uuid.UUID, time.Time) {
	now := s.clock.Now()
	return id.New(now), now
}

// NewPartner is what Create needs. Signing is "default" when empty.
type NewPartner struct {
	Slug, Name, LegalName string
	Signing               models.SigningMode
	NoSharedAddress       bool
}

var errNoPartner = fault.New(fault.NotFound, "partner", "No such partner: `pingpost partner list` shows them all.")

// Create makes a pending partner. It can sell once it has an account and a
// secret and is approved.
func (s *Service) Create(ctx context.Context, n NewPartner) (models.Partner, error) {
	if n.Signing == "" {
		n.Signing = models.SigningDefault
	}
	if err := errors.Join(checkMode(n.Signing, models.SigningDefault), checkText(n.Name, "name"), checkText(n.LegalName, "legal name")); err != nil {
		return models.Partner{}, err
	}
	newID, now := s.newID()
	p := models.Partner{
		ID: newID, Slug: strings.TrimSpace(n.Slug), Name: strings.TrimSpace(n.Name), LegalName: strings.TrimSpace(n.LegalName),
		Status: models.PartnerPending, SigningMode: n.Signing, SharedAddress: !n.NoSharedAddress, CreatedAt: now, UpdatedAt: now,
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if p.SharedAddress {
			room, err := roomAtSharedAddress(tx)
			if err != nil {
				return err
			}
			p.SharedAddress = room
		}
		if err := tx.Create(&p).Error; err != nil {
			return err
		}
		return s.tell(tx, "partner.create", "partner", id.Format(id.Partner, p.ID), p.ID, nil, map[string]any{
			"slug": p.Slug, "name": p.Name, "signing": p.SigningMode, "shared_address": p.SharedAddress,
		})
	})
	return p, err
}

// roomAtSharedAddress counts under a lock, so that two creations at once do not
// both take the last place.
func roomAtSharedAddress(tx *gorm.DB) (bool, error) {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('partners shared address'))`).Error; err != nil {
		return false, err
	}
	var n int64
	err := tx.Model(&models.Partner{}).Where("shared_address").Count(&n).Error
	return n < MaxSharedAddress, err
}

func checkMode(m models.SigningMode, inherits models.SigningMode) error {
	switch m {
	case models.SigningRequired, models.SigningReportOnly, models.SigningOff, inherits:
		return nil
	}
	return fault.New(fault.Invalid, "signing_mode", "A signing mode is required, report_only, off or "+string(inherits)+".")
}

// maxText bounds what people write about partners, in code points.
const maxText = 200

// checkText refuses what would break a list or a terminal that shows it.
func checkText(text, what string) error {
	if utf8.RuneCountInString(text) > maxText || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return fault.New(fault.Invalid, "text", "A "+what+" has at most 200 characters and no control characters.")
	}
	return nil
}

// Summary is a partner with how much it has of everything.
type Summary struct {
	models.Partner
	Accounts      int
	ActiveSecrets int
}

// List returns partners by slug, the house left out.
func (s *Service) List(ctx context.Context, sc scope.Scope) ([]Summary, error) {
	var out []Summary
	q := restrict(s.db.Gorm.WithContext(ctx), sc, "partners.id").Table("partners").Where("partners.id <> ?", models.House.Partner)
	err := q.Select(`partners.*,
		(SELECT count(*) FROM accounts a WHERE a.partner_id = partners.id) AS accounts,
		(SELECT count(*) FROM signing_secrets x WHERE x.partner_id = partners.id AND x.state = 'active'
			AND (x.retires_at IS NULL OR x.retires_at > ?)) AS active_secrets`, s.clock.Now()).
		Order("slug").Scan(&out).Error
	return out, store.Translate(err)
}

// Find looks a partner up by slug or by id in its prefixed form. The house is
// none: it has no secrets, and the platform's default mode rules its posts (D13).
func (s *Service) Find(ctx context.Context, sc scope.Scope, slugOrID string) (models.Partner, error) {
	q := restrict(s.db.Gorm.WithContext(ctx), sc, "id").Where("id <> ?", models.House.Partner)
	if partnerID, err := id.Parse(id.Partner, slugOrID); err == nil {
		q = q.Where("id = ?", partnerID)
	} else {
		q = q.Where("slug = ?", slugOrID)
	}
	var p models.Partner
	if err := store.Translate(q.Take(&p).Error); err != nil {
		if f := fault.As(err); f != nil && f.Code == fault.NotFound {
			return p, errNoPartner
		}
		return p, err
	}
	return p, nil
}

// SetStatus approves or suspends. Suspended, a partner's posts are refused on
// every node within a second, and nothing of it is stored from now on (D21).
func (s *Service) SetStatus(ctx context.Context, sc scope.Scope, partner uuid.UUID, to models.PartnerStatus) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var had models.Partner
		found := restrict(tx, sc, "id").Clauses(clause.Locking{Strength: "UPDATE"}).Select("status").Where("id = ?", partner).Limit(1).Find(&had)
		if found.Error != nil {
			return found.Error
		}
		if found.RowsAffected == 0 {
			return errNoPartner
		}
		if err := tx.Model(&models.Partner{}).Where("id = ?", partner).
			Updates(map[string]any{"status": to, "updated_at": s.clock.Now(), "row_version": gorm.Expr("row_version + 1")}).Error; err != nil {
			return err
		}
		return s.tell(tx, "partner.status", "partner", id.Format(id.Partner, partner), partner, map[string]any{"status": had.Status}, map[string]any{"status": to})
	})
}

func restrict(q *gorm.DB, sc scope.Scope, column string) *gorm.DB {
	if sc.All() {
		return q
	}
	return q.Where(column+" IN ?", append(sc.IDs(), uuid.Nil)) // never an empty list, which GORM writes as NULL
}
