package leads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/envelope"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/keyring"
	"github.com/pingpost/pingpost/internal/postgres"
)

// rewrapSQL changes a lead only if it still has the old key, so that an erased lead does not get a new
// key. It saves the wrapped key that the partner received, so that replays return the same key.
const rewrapSQL = `UPDATE leads l SET
		wrapped_key = n.new, key_wrapper = n.wrapper, key_version = n.version,
		answered_key = CASE WHEN l.body_digest IS NOT NULL THEN coalesce(l.answered_key, l.wrapped_key) END
	FROM unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::text[], $5::text[]) AS n(id, old, new, wrapper, version)
	WHERE l.id = n.id AND l.wrapped_key = n.old`

func (m *KeyRotation) rewrap(ctx context.Context, b *rotationBatch) (RotationProgress, error) {
	var done RotationProgress
	old := b.wrapped()
	var ids []uuid.UUID
	var from, to [][]byte
	var wrappers, versions []string
	for i, moved := range m.Wrappers.Rewrap(ctx, old) {
		err := moved.Err
		var wrapper, version string
		if err == nil {
			wrapper, version, err = envelope.ParseWrapped(moved.Wrapped)
		}
		if err != nil {
			if !errors.Is(err, envelope.ErrNotWrapped) {
				return RotationProgress{}, err // the wrapper failed, not the lead
			}
			done.fail(b.ids[i], err)
			continue
		}
		ids, from, to = append(ids, b.ids[i]), append(from, old[i]), append(to, moved.Wrapped)
		wrappers, versions = append(wrappers, wrapper), append(versions, version)
	}
	tag, err := m.Leads.pool.Exec(ctx, rewrapSQL, ids, from, to, wrappers, versions)
	if err != nil {
		return RotationProgress{}, postgres.Translate(err)
	}
	done.Leads = tag.RowsAffected()
	return done, nil
}

const resealSQL = `UPDATE leads l SET email_digest = n.email, phone_digest = n.phone
	FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS n(id, email, phone)
	WHERE l.id = n.id AND l.salt IS NOT NULL`

func (m *KeyRotation) reseal(ctx context.Context, b *rotationBatch, keys *keyring.Keys) (RotationProgress, error) {
	var done RotationProgress
	var ids []uuid.UUID
	var emails, phones [][]byte
	opened := m.Wrappers.Unwrap(ctx, b.wrapped())
	defer clear(opened)
	for i, one := range opened {
		err := one.Err
		if err != nil && !errors.Is(err, envelope.ErrNotWrapped) {
			return RotationProgress{}, err
		}
		var contact Contact
		if err == nil {
			contact, err = openContact(b.envelopes[i], one.Key, b.ids[i], b.partners[i])
		}
		if err != nil {
			done.fail(b.ids[i], err)
			continue
		}
		email, phone := contact.Digests(keys)
		ids, emails, phones = append(ids, b.ids[i]), append(emails, email), append(phones, phone)
	}
	tag, err := m.Leads.pool.Exec(ctx, resealSQL, ids, emails, phones)
	if err != nil {
		return RotationProgress{}, postgres.Translate(err)
	}
	done.Leads = tag.RowsAffected()
	return done, nil
}

func openContact(e envelope.Envelope, key [envelope.KeySize]byte, lead, partner uuid.UUID) (c Contact, err error) {
	plain, err := envelope.Open(e, key, lead, partner)
	if err != nil {
		return c, err
	}
	defer clear(plain)
	if json.Unmarshal(plain, &c) != nil {
		return c, errors.New("invalid contact record") // the parser's error may quote personal data
	}
	return c, nil
}

func (m *RotationProgress) fail(lead uuid.UUID, err error) {
	m.Failed++
	m.Cause = fmt.Errorf("lead %s: %w", id.Format(id.Lead, lead), err)
}
