package leads

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

var (
	// ErrErased means that the lead's contact record was erased.
	ErrErased = apperr.New(apperr.Conflict, "erased", "The contact record of this lead was erased, or is being erased.")
	// errKeys means that the key wrapper did not respond, or does not allow this node to decrypt.
	errKeys = apperr.New(apperr.Unavailable, "keys",
		"The contact record cannot be decrypted at the moment. Try again in a minute. If the error persists, ask an operator to check that Vault responds and that this node is allowed to decrypt.")
	// ErrKeyMissing means that the database does not contain the lead's key.
	ErrKeyMissing = apperr.New(apperr.Unavailable, "lead_key_missing",
		"The key of this lead is not in the database, so its contact record cannot be decrypted. Lead keys that were backed up separately were probably not restored. Ask an operator.")
	// ErrDamaged means that the contact record or its key was changed, or that the version of the wrapping
	// key was deleted.
	ErrDamaged = apperr.New(apperr.Internal, "contact_record",
		"The contact record cannot be decrypted, because it is damaged or the version of the key that encrypted it was deleted. Tell an operator.")
)

const encryptedContactSQL = `SELECT l.id, l.partner_id, l.state, l.ciphertext, l.iv, l.auth_tag, k.salt, k.wrapped_key
	FROM leads l LEFT JOIN lead_keys k ON k.lead_id = l.id AND k.lead_id = ANY ($1) WHERE l.id = ANY ($1)`

// OpenedContact is the contact record of a lead, or the reason why it cannot be decrypted: ErrErased,
// ErrKeyMissing or ErrDamaged.
type OpenedContact struct {
	Contact Contact
	Err     error
}

// Contact decrypts the contact record of a lead. The caller must first record why the contact record is
// read.
//
// If there is no such lead in the scope, Contact returns ErrNotFound. If the contact record was erased,
// its key is missing, or it is damaged, Contact returns ErrErased, ErrKeyMissing or ErrDamaged. If the keys cannot be used at the moment, it
// returns an Unavailable error.
func (s *Store) Contact(ctx context.Context, sc scope.Scope, lead uuid.UUID, keys *envelope.Wrappers) (Contact, error) {
	all, err := s.Contacts(ctx, sc, []uuid.UUID{lead}, keys)
	if err != nil {
		return Contact{}, err
	}
	c, ok := all[lead]
	if !ok {
		return Contact{}, ErrNotFound
	}
	return c.Contact, c.Err
}

// Contacts decrypts the contact records of leads. Leads that are not in the scope are missing from the result. The
// caller must first record the reason for reading the contact records.
//
// Errors: Unavailable if the keys cannot be used.
func (s *Store) Contacts(
	ctx context.Context, sc scope.Scope, ids []uuid.UUID, keys *envelope.Wrappers,
) (map[uuid.UUID]OpenedContact, error) {
	result := make(map[uuid.UUID]OpenedContact, len(ids))
	rows, err := s.pool.Query(ctx, encryptedContactSQL, postgres.PlanEachTime, ids)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	var sealed []encryptedContact
	var wrapped [][]byte
	var c encryptedContact
	var state models.LeadState
	e := &c.envelope
	_, err = pgx.ForEachRow(rows, []any{&c.lead, &c.partner, &state, &e.Ciphertext, &e.IV, &e.AuthTag, &e.Salt, &e.Wrapped}, func() error {
		switch {
		case !sc.Allows(c.partner):
		case state == models.LeadErased:
			result[c.lead] = OpenedContact{Err: ErrErased}
		case e.Wrapped == nil:
			result[c.lead] = OpenedContact{Err: ErrKeyMissing}
		default:
			sealed, wrapped = append(sealed, c), append(wrapped, e.Wrapped)
		}
		return nil
	})
	if err != nil {
		return nil, postgres.Translate(err)
	}
	opened := keys.Unwrap(ctx, wrapped)
	defer clear(opened)
	for i, c := range sealed {
		err := opened[i].Err
		if err != nil && !errors.Is(err, envelope.ErrNotWrapped) {
			return nil, errKeys.WithCause(err)
		}
		var contact Contact
		if err == nil {
			contact, err = c.open(opened[i].Key)
		}
		if err != nil {
			result[c.lead] = OpenedContact{Err: ErrDamaged.WithCause(err)}
			continue
		}
		result[c.lead] = OpenedContact{Contact: contact}
	}
	return result, nil
}
