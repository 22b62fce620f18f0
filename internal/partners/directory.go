package partners

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Directory contains all partners with their accounts, secrets and pricing. The partner API uses
// it. A Directory is immutable, and every change replaces it with a new one.
type Directory struct {
	bySlug       map[string]*Partner
	byID         map[uuid.UUID]*Partner
	byIdentifier map[string]*Account
	shared       []*Partner // partners that can use the shared base URL, if they are approved

	unreadSecrets, damagedSecrets, unreadPrices []string

	forPings bool // built from a PingDirectory
}

// Partner is a partner's entry in a Directory.
type Partner struct {
	ID      uuid.UUID
	Slug    string
	Status  models.PartnerStatus
	Signing models.SigningMode
	Default *Account // nil while the partner has no account
	Secrets []*Secret
	Price   *Price // nil if there is no partner pricing
}

// Active reports whether the partner is allowed to deliver leads.
func (p *Partner) Active() bool { return p.Status == models.PartnerApproved }

// Account is an account's entry in a Directory.
type Account struct {
	ID         uuid.UUID
	Identifier string
	Partner    *Partner
	Sandbox    bool
	active     bool
	signing    models.SigningMode
}

// Active reports whether both the account and its partner are active.
func (a *Account) Active() bool { return a.active && a.Partner.Active() }

// Mode returns the account's effective signing mode.
func (a *Account) Mode(platform models.SigningMode) models.SigningMode {
	return EffectiveMode(a.signing, a.Partner.Signing, platform)
}

// EffectiveMode returns the account's signing mode. If the account inherits its mode, EffectiveMode
// returns the partner's mode, or the platform's if the partner uses the default (decision 14).
func EffectiveMode(account, partner, platform models.SigningMode) models.SigningMode {
	switch {
	case account != models.SigningInherit:
		return account
	case partner != models.SigningDefault:
		return partner
	}
	return platform
}

// Price is a partner's own adjustment, exclusions and cap (decisions 4, 5).
type Price struct {
	pricingrules.PartnerPricing
	DailyLeadCap int       // 0 for none
	AgreedAt     time.Time // when the partner last got pricing after having none
}

// agreementGrace is a period that starts at Price.AgreedAt. Quotes that the shared base URL issues
// during this period are still honoured, because the clocks of nodes can differ by up to quote.MaxAhead,
// and because new pricing takes a moment to reach all nodes.
const agreementGrace = 2 * quote.MaxAhead

// InEffect reports whether partner pricing applies to a quote that was issued at the given time
// (decision 5). A nil Price never applies.
func (p *Price) InEffect(issued time.Time) bool {
	return p != nil && issued.After(p.AgreedAt.Add(agreementGrace))
}

func (p *Price) none() bool {
	return p.Adjustment == 0 && len(p.Exclusions) == 0 && p.DailyLeadCap == 0
}

// recognizeEnded is how long a secret that has expired or was revoked is still recognised, so that staff can see that a
// partner still uses it (decision 65).
const recognizeEnded = 30 * 24 * time.Hour

// Secret is a decrypted signing secret.
type Secret struct {
	ID        uuid.UUID
	notBefore time.Time
	endsAt    time.Time // when the secret expires or was revoked; zero if it does not expire
	revoked   bool      // endsAt can be in the future by this node's clock
	verifiers sync.Pool
}

// Active reports whether the secret is valid at the given time. At the time endsAt, it is no longer
// valid.
func (s *Secret) Active(now time.Time) bool {
	return !s.revoked && !now.Before(s.notBefore) && (s.endsAt.IsZero() || now.Before(s.endsAt))
}

// RecentlyEnded reports whether the secret expired or was revoked within the 30 days before the given
// time.
func (s *Secret) RecentlyEnded(now time.Time) bool {
	return (s.revoked || !s.endsAt.IsZero() && !now.Before(s.endsAt)) && now.Sub(s.endsAt) <= recognizeEnded
}

// Verify reports whether the secret signed a post with the given claim and body. It compares signatures
// in constant time.
func (s *Secret) Verify(claim signing.Claim, body []byte) bool {
	v := s.verifiers.Get().(*signing.Verifier)
	defer s.verifiers.Put(v)
	return v.Verify(claim, body)
}

// Verify returns the valid secret that the partner signed the post with, or nil if there is none.
func (p *Partner) Verify(claim signing.Claim, body []byte, now time.Time) *Secret {
	for _, s := range p.Secrets {
		if s.Active(now) && s.Verify(claim, body) {
			return s
		}
	}
	return nil
}

// CanSign reports whether the partner has a valid secret.
func (p *Partner) CanSign(now time.Time) bool {
	return slices.ContainsFunc(p.Secrets, func(s *Secret) bool { return s.Active(now) })
}

// UnreadableSecrets lists the active secrets that were sealed with a platform key that is not configured.
// Posts signed with these secrets are rejected. Other posts are not affected.
func (d *Directory) UnreadableSecrets() []string { return d.unreadSecrets }

// DamagedSecrets lists the active secrets that cannot be decrypted although no platform key is missing. Posts
// signed with these secrets are rejected. Other posts are not affected.
func (d *Directory) DamagedSecrets() []string { return d.damagedSecrets }

// UnreadablePrices lists the partners whose pricing cannot be read. Their pings get no price. Other
// partners are not affected.
func (d *Directory) UnreadablePrices() []string { return d.unreadPrices }

// BySlug returns the partner whose base URL contains the slug, or nil.
func (d *Directory) BySlug(slug string) *Partner { return d.bySlug[slug] }

// ByID returns the partner with the given id, or nil.
func (d *Directory) ByID(partner uuid.UUID) *Partner { return d.byID[partner] }

// Account returns the account that a post names in its "partnerId", or nil. The lookup is
// case-sensitive.
func (d *Directory) Account(identifier string) *Account { return d.byIdentifier[identifier] }

// Within returns a directory of only the partners in a scope, and the platform partner.
func (d *Directory) Within(sc scope.Scope) *Directory {
	if sc.All() {
		return d
	}
	visible := func(p *Partner) bool { return sc.Allows(p.ID) || p.ID == models.PlatformIDs.Partner }
	in := newDirectory()
	in.forPings = d.forPings
	for partner, p := range d.byID {
		if visible(p) {
			in.byID[partner], in.bySlug[p.Slug] = p, p
		}
	}
	for identifier, a := range d.byIdentifier {
		if visible(a.Partner) {
			in.byIdentifier[identifier] = a
		}
	}
	for _, p := range d.shared {
		if visible(p) {
			in.shared = append(in.shared, p)
		}
	}
	return in
}

// Shared returns the partners that can send signed posts to the shared base URL. It includes partners that
// are not approved, so that they can find out which leads they delivered before (decision 13).
func (d *Directory) Shared() []*Partner { return d.shared }

// PlatformAccount returns the account that receives unsigned posts that do not identify a partner.
func (d *Directory) PlatformAccount() *Account { return d.byID[models.PlatformIDs.Partner].Default }

func newDirectory() *Directory {
	return &Directory{
		bySlug:       map[string]*Partner{},
		byID:         map[uuid.UUID]*Partner{},
		byIdentifier: map[string]*Account{},
	}
}

// LoadDirectory loads a Directory from the database. It uses one repeatable-read transaction, so
// that it never reads an account without its partner.
func (s *Service) LoadDirectory(ctx context.Context) (*Directory, error) {
	var (
		partners []models.Partner
		accounts []models.Account
		secrets  []models.SigningSecret
		prices   []models.PartnerPrice
	)
	ended := s.clock.Now().Add(-recognizeEnded)
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`).Error; err != nil {
			return err
		}
		for _, q := range []*gorm.DB{
			tx.Order("id").Find(&partners), tx.Order("id").Find(&accounts), tx.Find(&prices),
			tx.Where("state = ? OR revoked_at > ?", models.SecretActive, ended).
				Where("expires_at IS NULL OR expires_at > ?", ended).
				Order("created_at DESC, id DESC").Find(&secrets),
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
	if row.SharedBaseURL {
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
		// Skip the row. An error would prevent this node from loading any other changes.
		list := &d.damagedSecrets
		if key, ok := keyring.KeyOf(row.Sealed); ok && !slices.Contains(s.keys.IDs(), key) {
			list = &d.unreadSecrets
		}
		if row.State == models.SecretActive {
			*list = append(*list, "the secret "+id.Format(id.Secret, row.ID)+" of "+d.byID[row.PartnerID].Slug)
		}
		return
	}
	secret := &Secret{ID: row.ID, notBefore: row.NotBefore, revoked: row.State == models.SecretRevoked}
	if row.ExpiresAt != nil {
		secret.endsAt = *row.ExpiresAt
	}
	if row.RevokedAt != nil && (secret.endsAt.IsZero() || row.RevokedAt.Before(secret.endsAt)) {
		secret.endsAt = *row.RevokedAt
	}
	secret.verifiers.New = func() any { return signing.NewVerifier(plain) }
	p := d.byID[row.PartnerID]
	p.Secrets = append(p.Secrets, secret)
}

func (d *Directory) addPrice(row models.PartnerPrice) {
	price, err := priceOf(row)
	if err != nil {
		d.unreadPrices = append(d.unreadPrices, "the pricing of "+d.byID[row.PartnerID].Slug)
	}
	if !price.none() {
		d.byID[row.PartnerID].Price = &price
	}
}
