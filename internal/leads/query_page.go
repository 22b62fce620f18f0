package leads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Details contains all data of a lead except personal data, the content of the envelope, and the
// digests.
type Details struct {
	models.Lead        // without digests and encrypted data
	KeyWrapper  string // of the data key; "" if the lead was erased
	KeyVersion  string
	PartnerName string
	Identifier  string // of the account; sent as partnerId in a post
	AccountName string
	QuotedFor   string // the name of the partner that the quote was made for; "" if none
	Secret      Secret // zero if the post was not signed
	Envelope    Sizes
	ByEmail     bool               // can be found by email address
	ByPhone     bool               // can be found by phone number
	Consent     models.Consent     // with the disclosure text
	Disclosure  models.Disclosure  // zero if the partner sent no text, or the lead was erased
	Events      []models.LeadEvent // oldest first
}

// Secret identifies the signing secret of a post, without revealing it.
type Secret struct{ Label, Prefix, LastFour string }

// Sizes are the sizes of an envelope's parts, in bytes.
type Sizes struct{ Ciphertext, IV, AuthTag, Salt, WrappedKey int }

const detailsSQL = `SELECT %s, l.state, l.email_digest IS NOT NULL, l.phone_digest IS NOT NULL,
		coalesce(length(l.ciphertext), 0), coalesce(length(l.iv), 0), coalesce(length(l.auth_tag), 0), coalesce(length(k.salt), 0), coalesce(length(k.wrapped_key), 0),
		coalesce(k.key_wrapper, ''), coalesce(k.key_version, ''),
		p.name, a.identifier, a.name, coalesce(q.name, ''), coalesce(s.label, ''), coalesce(s.prefix, ''), coalesce(s.last_four, '')
	FROM leads l LEFT JOIN lead_keys k ON k.lead_id = l.id AND k.lead_id = $1
		JOIN partners p ON p.id = l.partner_id JOIN accounts a ON a.id = l.account_id
		LEFT JOIN partners q ON q.id = l.quoted_partner LEFT JOIN signing_secrets s ON s.id = l.secret_id
	WHERE l.id = $1`

// Get returns a lead, or a NotFound error if there is no such lead in the scope. It includes the partner
// that the quote was made for only if that partner is also in the scope.
func (r *Reader) Get(ctx context.Context, sc scope.Scope, lead uuid.UUID) (f Details, err error) {
	e, shown := &f.Envelope, readableColumns()
	err = r.db.Pool.QueryRow(ctx, fmt.Sprintf(detailsSQL, names("l.", shown)), lead).Scan(append(fields(shown, &f.Lead), &f.State, &f.ByEmail, &f.ByPhone,
		&e.Ciphertext, &e.IV, &e.AuthTag, &e.Salt, &e.WrappedKey, &f.KeyWrapper, &f.KeyVersion,
		&f.PartnerName, &f.Identifier, &f.AccountName, &f.QuotedFor, &f.Secret.Label, &f.Secret.Prefix, &f.Secret.LastFour)...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(f.PartnerID) {
		return Details{}, ErrNotFound
	}
	if err != nil {
		return Details{}, postgres.Translate(err)
	}
	if f.QuotedPartner != nil && !sc.Allows(*f.QuotedPartner) {
		f.QuotedPartner, f.QuotedFor = nil, ""
	}
	db := r.db.Gorm.WithContext(ctx)
	if err := db.Where("lead_id = ?", lead).Limit(1).Find(&f.Consent).Error; err != nil {
		return Details{}, postgres.Translate(err)
	}
	if f.Consent.DisclosureDigest != nil {
		if err := db.Where("digest = ?", f.Consent.DisclosureDigest).Limit(1).Find(&f.Disclosure).Error; err != nil {
			return Details{}, postgres.Translate(err)
		}
		if f.Disclosure.ID != uuid.Nil { // it may have been deleted by an erasure
			f.Consent.DisclosureText = &f.Disclosure.Text
		}
	}
	if err := db.Where("lead_id = ?", lead).Order("id").Find(&f.Events).Error; err != nil {
		return Details{}, postgres.Translate(err)
	}
	for _, at := range []*time.Time{&f.QuotedAt, &f.ReceivedAt} {
		*at = at.UTC()
	}
	return f, nil
}
