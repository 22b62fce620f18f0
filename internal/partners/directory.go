package partners

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Directory is every partner with its accounts, secrets and own prices, as the
// partner API reads it: immutable, and replaced whole after a change.
type Directory struct {
	bySlug       map[string]*Partner
	byID         map[uuid.UUID]*Partner
	byIdentifier map[string]*Account
	shared       []*Partner // approved, to be recognised by their secret alone

	unreadSecrets, unreadPrices []string

	forPings bool // made of an Excerpt
}

// Partner is a directory entry.
type Partner struct {
	ID      uuid.UUID
	Slug    string
	Status  models.PartnerStatus
	Signing models.SigningMode
	Default *Account // nil while the partner has no account
	Secrets []*Secret
	Price   *Price // nil when the partner is priced by the rate card alone
}

// Active reports whether the partner may deliver leads.
func (p *Partner) Active() bool { return p.Status == models.PartnerApproved }

// Account is a directory entry.
type Account struct {
	ID         uuid.UUID
	Identifier string
	Partner    *Partner
	Sandbox    bool
	active     bool
	signing    models.SigningMode
}

// Active reports whether both the account and its partner are.
func (a *Account) Active() bool { return a.active && a.Partner.Active() }

// Mode is the signing mode in force.
func (a *Account) Mode(platform models.SigningMode) models.SigningMode {
	return EffectiveMode(a.signing, a.Partner.Signing, platform)
}

// EffectiveMode is the account's signing mode, else its partner's, else the
// platform's default (decision 14).
func EffectiveMode(account, partner, platform models.SigningMode) models.SigningMode {
	switch {
	case account != models.SigningInherit:
		return account
	case partner != models.SigningDefault:
		return partner
	}
	return platform
}

// Price is what a partner has of its own (decisions 4, 5).
type Price struct {
	pricingrules.PartnerPricing
	DailyLeadCap int       // 0 for none
	AgreedAt     time.Time // when the first of the present terms began
}

// agreementGrace is how long after an agreement quotes of the shared address are
// still honoured: nodes' clocks differ by up to quote.MaxAhead, and an agreement
// needs a moment to be committed and loaded.
const agreementGrace = 2 * quote.MaxAhead

// InEffect reports whether there are terms, and a quote issued at that time is
// subject to them (decision 5).
func (p *Price) InEffect(issued time.Time) bool {
	return p != nil && issued.After(p.AgreedAt.Add(agreementGrace))
}

// none reports whether the partner is priced by the rate card alone.
func (p *Price) none() bool {
	return p.Adjustment == 0 && len(p.Exclusions) == 0 && p.DailyLeadCap == 0
}

// Secret is a signing secret ready to verify with.
type Secret struct {
	ID        uuid.UUID
	notBefore time.Time
	retiresAt time.Time // zero for never
	verifiers sync.Pool
}

// Active reports whether the secret is valid at now: its end is exclusive.
func (s *Secret) Active(now time.Time) bool {
	return !now.Before(s.notBefore) && (s.retiresAt.IsZero() || now.Before(s.retiresAt))
}

// Verify reports, in constant time, whether the claim was signed with the secret.
func (s *Secret) Verify(claim signing.Claim, body []byte) bool {
	v := s.verifiers.Get().(*signing.Verifier)
	defer s.verifiers.Put(v)
	return v.Verify(claim, body)
}

// Verify returns the partner's secret in force that signed the claim, or nil.
func (p *Partner) Verify(claim signing.Claim, body []byte, now time.Time) *Secret {
	for _, s := range p.Secrets {
		if s.Active(now) && s.Verify(claim, body) {
			return s
		}
	}
	return nil
}

// CanSign reports whether the partner has a secret in force.
func (p *Partner) CanSign(now time.Time) bool {
	return slices.ContainsFunc(p.Secrets, func(s *Secret) bool { return s.Active(now) })
}

// UnreadableSecrets names the active secrets that no configured platform key
// opens. Posts signed with them are refused; everyone else is served.
func (d *Directory) UnreadableSecrets() []string { return d.unreadSecrets }

// UnreadablePrices names the partners whose own prices are not understood. They
// get no price; everyone else is served.
func (d *Directory) UnreadablePrices() []string { return d.unreadPrices }

// BySlug finds the partner of a base URL; nil when there is none.
func (d *Directory) BySlug(slug string) *Partner { return d.bySlug[slug] }

// ByID finds a partner; nil when there is none.
func (d *Directory) ByID(partner uuid.UUID) *Partner { return d.byID[partner] }

// Account finds an account by the "partnerId" of a post, matched exactly; nil
// when there is none.
func (d *Directory) Account(identifier string) *Account { return d.byIdentifier[identifier] }

// Shared lists the partners that a signed post naming nobody may belong to.
func (d *Directory) Shared() []*Partner { return d.shared }

// PlatformAccount is the account of unsigned posts that name nobody.
func (d *Directory) PlatformAccount() *Account { return d.byID[models.PlatformIDs.Partner].Default }

func newDirectory() *Directory {
	return &Directory{
		bySlug:       map[string]*Partner{},
		byID:         map[uuid.UUID]*Partner{},
		byIdentifier: map[string]*Account{},
	}
}

// LoadDirectory reads everything in one repeatable-read transaction, so that no
// account lacks its partner.
func (s *Service) LoadDirectory(ctx context.Context) (*Directory, error) {
	var (
		partners []models.Partner
		accounts []models.Account
		secrets  []models.SigningSecret
		prices   []models.PartnerPrice
	)
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`).Error; err != nil {
			return err
		}
		for _, q := range []*gorm.DB{
			tx.Order("id").Find(&partners), tx.Order("id").Find(&accounts), tx.Find(&prices),
			tx.Where("state = ?", models.SecretActive).Order("created_at DESC, id DESC").Find(&secrets),
		} {
			if q.Error != nil {
				return q.Error
			}
		}
		return nil
	})
	if err != nil {
		return nil, postgres.Translate(err)
	}
	d := newDirectory()
	for _, row := range partners {
		d.addPartner(row)
	}
	for _, row := range accounts {
		d.addAccount(row)
	}
	for _, row := range secrets {
		s.addSecretTo(d, row)
	}
	for _, row := range prices {
		d.addPrice(row)
	}
	return d, nil
}

func (d *Directory) addPartner(row models.Partner) {
	p := &Partner{ID: row.ID, Slug: row.Slug, Status: row.Status, Signing: row.SigningMode}
	d.bySlug[p.Slug], d.byID[p.ID] = p, p
	if row.SharedAddress && p.Active() {
		d.shared = append(d.shared, p)
	}
}

func (d *Directory) addAccount(row models.Account) {
	p := d.byID[row.PartnerID]
	a := &Account{
		ID: row.ID, Identifier: row.Identifier, Partner: p, Sandbox: row.Sandbox,
		active: row.Status == models.AccountActive, signing: row.SigningMode,
	}
	d.byIdentifier[a.Identifier] = a
	if row.IsDefault {
		p.Default = a
	}
}

func (s *Service) addSecretTo(d *Directory, row models.SigningSecret) {
	plain, err := s.keys.Open(keyring.SigningSecret, row.ID[:], row.Sealed)
	if err != nil {
		// One row must not keep every other change from this node.
		d.unreadSecrets = append(d.unreadSecrets, "the secret "+id.Format(id.Secret, row.ID)+" of "+d.byID[row.PartnerID].Slug)
		return
	}
	secret := &Secret{ID: row.ID, notBefore: row.NotBefore}
	if row.RetiresAt != nil {
		secret.retiresAt = *row.RetiresAt
	}
	secret.verifiers.New = func() any { return signing.NewVerifier(plain) }
	p := d.byID[row.PartnerID]
	p.Secrets = append(p.Secrets, secret)
}

func (d *Directory) addPrice(row models.PartnerPrice) {
	price, err := priceOf(row)
	if err != nil {
		d.unreadPrices = append(d.unreadPrices, "the prices of "+d.byID[row.PartnerID].Slug)
	}
	if !price.none() {
		d.byID[row.PartnerID].Price = &price
	}
}
