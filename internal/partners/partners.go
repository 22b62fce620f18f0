// Package partners manages partners, including their accounts, signing secrets, signing modes and
// partner pricing. A Directory is a snapshot of all of these. The partner API reads it on every
// request.
//
// Packages ratecard and pricing_rules manage rate cards. Package reporting computes traffic and the
// figures in the list of partners. A secret is returned only by the call that creates it, and is
// never logged (decision 16).
//
// Timing:
//
//   - A change takes effect on all nodes within a second of its commit.
//   - A secret is valid from not_before (inclusive) to expires_at (exclusive). A revoked
//     secret is rejected within a second, even if its expires_at is still in the future.
//   - Price.AgreedAt is the time when the partner last got pricing after having none. Quotes
//     from the shared base URL are honoured if they were issued no later than agreementGrace
//     after AgreedAt.
//   - An accrual counts towards the daily cap of the UTC day on which it occurred (occurred_at).
//
// Invariants enforced by the schema:
//
//   - Slugs, partnerIds (ignoring case) and secrets are unique on the platform. The constraint on
//     secrets compares only digests that were made with the same platform key.
//   - A partner has at most one default account, one active link and one price proposal.
//   - A revoked secret stays revoked.
//
// Invariants enforced by this package:
//
//   - A new slug or partnerId does not look like an existing one. One lock serializes
//     these checks.
//   - A secret cannot be imported a second time, even after the platform key has changed.
//   - At most MaxSharedBaseURL partners use the shared base URL.
//   - SetDetails, SetStatusAt, SetSigning, SetAccount and SetPricing fail if the caller
//     does not pass the current version.
package partners

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Service manages partners. All nodes apply each change within a second.
type Service struct {
	db    *postgres.DB
	keys  *keyring.Keys
	clock clock.Clock
	by    audit.Actor

	policy PricePolicy
}

// NewService returns a Service that seals secrets with the given keys. Its changes are attributed to
// audit.Service, unless By sets another actor.
func NewService(db *postgres.DB, keys *keyring.Keys, c clock.Clock) *Service {
	return &Service{db: db.WithConstraints(constraints()), keys: keys, clock: c, by: audit.Service}
}

// By returns a copy of the service whose changes are attributed to another actor.
func (s *Service) By(actor audit.Actor) *Service {
	c := *s
	c.by = actor
	return &c
}

// auditChange adds an audit event to the transaction.
func (s *Service) auditChange(
	tx *gorm.DB, action, kind, object string, partner uuid.UUID, before, after map[string]any,
) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action, Kind: kind, Object: object, Partner: partner, Before: before, After: after,
	})
}

func (s *Service) newID() (uuid.UUID, time.Time) {
	now := s.clock.Now()
	return id.New(now), now
}

// NewPartner contains the values of a new partner. An empty Signing means "default".
type NewPartner struct {
	Slug, Name, LegalName string
	Manager               string // name of the account manager
	Signing               models.SigningMode
	NoSharedBaseURL       bool
}

var errNoPartner = apperr.New(apperr.NotFound, "partner",
	"Partner not found. List all partners with `pingpost partner list`.")

// Create creates a pending partner. Before the partner can sell leads, it must be approved and have
// an account and a secret.
func (s *Service) Create(ctx context.Context, n NewPartner) (models.Partner, error) {
	if n.Signing == "" {
		n.Signing = models.SigningDefault
	}
	for _, text := range []*string{&n.Slug, &n.Name, &n.LegalName, &n.Manager} {
		*text = strings.TrimSpace(*text)
	}
	problems := []*apperr.Error{
		checkSlug(n.Slug), checkName(n.Name, errNoPartnerName), checkLine("legal_name", "legal name", n.LegalName),
		checkLine("manager", "manager", n.Manager), checkMode(n.Signing, models.SigningDefault),
	}
	newID, now := s.newID()
	p := models.Partner{
		ID:             newID,
		Slug:           n.Slug,
		Name:           n.Name,
		LegalName:      n.LegalName,
		AccountManager: n.Manager,
		Status:         models.PartnerPending,
		SigningMode:    n.Signing,
		CreatedAt:      now,
		UpdatedAt:      now,
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		p.SharedBaseURL = !n.NoSharedBaseURL
		taken, err := slugTaken(tx, n.Slug)
		if err != nil {
			return err
		}
		if err := joinProblems(append(problems, taken)...); err != nil {
			return err
		}
		if p.SharedBaseURL {
			free, err := sharedAddressHasSlot(tx)
			if err != nil {
				return err
			}
			p.SharedBaseURL = free
		}
		if err := tx.Create(&p).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "partner.create", "partner", id.Format(id.Partner, p.ID), p.ID, nil, map[string]any{
			"slug":            p.Slug,
			"name":            p.Name,
			"manager":         p.AccountManager,
			"signing":         p.SigningMode,
			"shared_base_url": p.SharedBaseURL,
		})
	})
	return p, err
}

// Summary is a partner with counts of its accounts and valid secrets.
type Summary struct {
	models.Partner
	Accounts      int
	ActiveSecrets int
}

// List returns all partners except the platform partner, ordered by slug.
func (s *Service) List(ctx context.Context, sc scope.Scope) ([]Summary, error) {
	var out []Summary
	q := restrict(s.db.Gorm.WithContext(ctx), sc, "partners.id").Table("partners").
		Where("partners.id <> ?", models.PlatformIDs.Partner)
	err := q.Select(postgres.Columns[models.Partner]("partners")+`,
		(SELECT count(*) FROM accounts a WHERE a.partner_id = partners.id) AS accounts,
		(SELECT count(*) FROM signing_secrets x WHERE x.partner_id = partners.id AND x.state = 'active'
			AND (x.expires_at IS NULL OR x.expires_at > ?)) AS active_secrets`, s.clock.Now()).
		Order("slug").Scan(&out).Error
	return out, postgres.Translate(err)
}

// Find returns the partner with the given slug or ID. It does not find the platform partner, which has
// no secrets and always uses the platform's default signing mode (decision 13).
func (s *Service) Find(ctx context.Context, sc scope.Scope, slugOrID string) (models.Partner, error) {
	q := restrict(s.db.Gorm.WithContext(ctx), sc, "id").Where("id <> ?", models.PlatformIDs.Partner)
	if partnerID, err := id.Parse(id.Partner, slugOrID); err == nil {
		q = q.Where("id = ?", partnerID)
	} else {
		q = q.Where("slug = ?", slugOrID)
	}
	var p models.Partner
	if err := postgres.Translate(q.Take(&p).Error); err != nil {
		if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
			return p, errNoPartner
		}
		return p, err
	}
	return p, nil
}

// ByIDs returns the partners with the given ids in one query. Unlike Find, it also finds the
// platform partner.
func (s *Service) ByIDs(ctx context.Context, sc scope.Scope, ids []uuid.UUID) (map[uuid.UUID]models.Partner, error) {
	q := restrict(s.db.Gorm.WithContext(ctx), sc, "id")
	return postgres.ByIDs(q, ids, func(p models.Partner) uuid.UUID { return p.ID })
}

// AccountsByIDs returns the accounts with the given ids in one query.
func (s *Service) AccountsByIDs(
	ctx context.Context, sc scope.Scope, ids []uuid.UUID,
) (map[uuid.UUID]models.Account, error) {
	return byIDs(s.db.Gorm.WithContext(ctx), sc, ids, func(a models.Account) uuid.UUID { return a.ID })
}

// SecretsByIDs returns the secrets with the given ids in one query.
func (s *Service) SecretsByIDs(
	ctx context.Context, sc scope.Scope, ids []uuid.UUID,
) (map[uuid.UUID]models.SigningSecret, error) {
	return byIDs(s.db.Gorm.WithContext(ctx), sc, ids, func(s models.SigningSecret) uuid.UUID { return s.ID })
}

func byIDs[T any](db *gorm.DB, sc scope.Scope, ids []uuid.UUID, idOf func(T) uuid.UUID) (map[uuid.UUID]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var all []T
	if err := restrict(db, sc, "partner_id").Where("id IN ?", ids).Find(&all).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	found := make(map[uuid.UUID]T, len(all))
	for _, row := range all {
		found[idOf(row)] = row
	}
	return found, nil
}

func restrict(q *gorm.DB, sc scope.Scope, column string) *gorm.DB {
	if sc.All() {
		return q
	}
	return q.Where(column+" IN ?", append(sc.IDs(), uuid.Nil)) // uuid.Nil, because GORM writes an empty list as NULL
}
