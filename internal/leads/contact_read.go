package leads

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

var (
	// ErrErased means that the lead's contact record was erased.
	ErrErased = apperr.New(apperr.Conflict, "erased", "The contact record of this lead was erased, or is being erased.")
	// errKeys means that the key wrapper did not respond, or does not allow this node to decrypt.
	errKeys = apperr.New(apperr.Unavailable, "keys",
		"The contact record cannot be decrypted at the moment. Try again in a minute. If the error remains, ask an operator to check that Vault responds and that this node is allowed to decrypt.")
	// ErrDamaged means that the contact record or its key is missing or was changed.
	ErrDamaged = apperr.New(apperr.Internal, "contact_record", "The contact record is damaged and cannot be decrypted. Tell an operator.")
)

const encryptedContactSQL = `SELECT l.partner_id, l.state, l.ciphertext, l.iv, l.auth_tag, k.salt, k.wrapped_key
	FROM leads l LEFT JOIN lead_keys k ON k.lead_id = l.id AND k.lead_id = $1 WHERE l.id = $1`

// Contact decrypts the contact record of a lead. The caller must first record why the contact record is
// read.
//
// If there is no such lead in the scope, Contact returns ErrNotFound. If the contact record was erased
// or is damaged, it returns ErrErased or ErrDamaged. If the keys cannot be used at the moment, it
// returns an Unavailable error.
func (s *Store) Contact(ctx context.Context, sc scope.Scope, lead uuid.UUID, keys *envelope.Wrappers) (Contact, error) {
	c := encryptedContact{lead: lead}
	e := &c.envelope
	var state models.LeadState
	err := s.pool.QueryRow(ctx, encryptedContactSQL, lead).Scan(&c.partner, &state, &e.Ciphertext, &e.IV, &e.AuthTag, &e.Salt, &e.Wrapped)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && !sc.Allows(c.partner):
		return Contact{}, ErrNotFound
	case err != nil:
		return Contact{}, postgres.Translate(err)
	case state == models.LeadErased:
		return Contact{}, ErrErased
	case e.Wrapped == nil:
		return Contact{}, ErrDamaged
	}
	opened := keys.Unwrap(ctx, [][]byte{e.Wrapped})
	defer clear(opened)
	if err := opened[0].Err; err != nil {
		if errors.Is(err, envelope.ErrNotWrapped) {
			return Contact{}, ErrDamaged.WithCause(err)
		}
		return Contact{}, errKeys.WithCause(err)
	}
	contact, err := c.open(opened[0].Key)
	if err != nil {
		return Contact{}, ErrDamaged.WithCause(err)
	}
	return contact, nil
}
