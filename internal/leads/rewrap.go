package leads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// oldKeysSQL selects a batch of lead keys that are not wrapped with version $4 of the wrapper $3.
const oldKeysSQL = `SELECT lead_id, wrapped_key FROM lead_keys
	WHERE lead_id > $1 AND lead_id < $2 AND (key_wrapper, key_version) <> ($3, $4) ORDER BY lead_id LIMIT $5`

// rewrapSQL changes a lead key only if the key has not changed since it was read, because another
// process may have erased the lead or rewrapped its key. It also saves the wrapped key that the partner
// received, so that replays return the same key. $6 and $7 are the first and last id of the batch, so
// that Postgres reads no other keys.
const rewrapSQL = `UPDATE lead_keys k SET
		wrapped_key = n.new, key_wrapper = n.wrapper, key_version = n.version,
		answered_key = CASE WHEN k.body_digest IS NOT NULL THEN coalesce(k.answered_key, k.wrapped_key) END
	FROM unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::text[], $5::text[]) AS n(id, old, new, wrapper, version)
	WHERE k.lead_id = n.id AND k.wrapped_key = n.old AND k.lead_id BETWEEN $6 AND $7`

// readBatch runs a query that selects a batch in the order of the primary key. It disables bitmap scans,
// because Postgres might otherwise read and sort the rest of the partition for each batch.
func readBatch[T any](
	ctx context.Context, pool *pgxpool.Pool, scan pgx.RowToFunc[T], sql string, args ...any,
) (all []T, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL enable_bitmapscan = off`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, append([]any{postgres.PlanEachTime}, args...)...)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, scan)
		return err
	})
	return all, postgres.Translate(err)
}

type wrappedKey struct {
	Lead    uuid.UUID
	Wrapped []byte
}

func (m *KeyRotation) rewrap(
	ctx context.Context, batch idBatch, current KeyUse,
) (last uuid.UUID, done RotationProgress, err error) {
	all, err := readBatch(ctx, m.Leads.pool, pgx.RowToStructByPos[wrappedKey], oldKeysSQL,
		batch.after, batch.end, current.Wrapper, current.Version, rotationBatchSize)
	if err != nil || len(all) == 0 {
		return last, done, err
	}
	old := make([][]byte, len(all))
	for i := range all {
		old[i] = all[i].Wrapped
	}
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
				return last, RotationProgress{}, err // the wrapper failed, not the lead
			}
			done.fail(all[i].Lead, err)
			continue
		}
		ids, from, to = append(ids, all[i].Lead), append(from, old[i]), append(to, moved.Wrapped)
		wrappers, versions = append(wrappers, wrapper), append(versions, version)
	}
	last = all[len(all)-1].Lead
	tag, err := m.Leads.pool.Exec(ctx, rewrapSQL, postgres.PlanEachTime, ids, from, to, wrappers, versions, all[0].Lead,
		last)
	if err != nil {
		return last, RotationProgress{}, postgres.Translate(err)
	}
	done.Leads = tag.RowsAffected()
	return last, done, nil
}

// oldDigestsSQL selects a batch of leads whose digests were not made with the platform key $3.
const oldDigestsSQL = `SELECT id, partner_id, ciphertext, iv, auth_tag, salt, wrapped_key
	FROM leads JOIN lead_keys ON lead_id = id
	WHERE id > $1 AND id < $2 AND lead_id > $1 AND lead_id < $2
		AND (substring(email_digest FOR 4) <> $3 OR substring(phone_digest FOR 4) <> $3) ORDER BY id LIMIT $4`

const resealSQL = `UPDATE leads l SET email_digest = n.email, phone_digest = n.phone
	FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS n(id, email, phone)
	WHERE l.id = n.id AND l.state <> 'erased' AND l.id BETWEEN $4 AND $5`

type encryptedContact struct {
	lead, partner uuid.UUID
	envelope      envelope.Envelope
}

func scanEncrypted(row pgx.CollectableRow) (c encryptedContact, err error) {
	e := &c.envelope
	return c, row.Scan(&c.lead, &c.partner, &e.Ciphertext, &e.IV, &e.AuthTag, &e.Salt, &e.Wrapped)
}

func (m *KeyRotation) reseal(
	ctx context.Context, batch idBatch, keys *keyring.Keys,
) (last uuid.UUID, done RotationProgress, err error) {
	first := keys.IDs()[0]
	all, err := readBatch(ctx, m.Leads.pool, scanEncrypted, oldDigestsSQL,
		batch.after, batch.end, first[:], rotationBatchSize)
	if err != nil || len(all) == 0 {
		return last, done, err
	}
	wrapped := make([][]byte, len(all))
	for i := range all {
		wrapped[i] = all[i].envelope.Wrapped
	}
	var ids []uuid.UUID
	var emails, phones [][]byte
	opened := m.Wrappers.Unwrap(ctx, wrapped)
	defer clear(opened)
	for i, result := range opened {
		err := result.Err
		if err != nil && !errors.Is(err, envelope.ErrNotWrapped) {
			return last, RotationProgress{}, err
		}
		var contact Contact
		if err == nil {
			contact, err = all[i].open(result.Key)
		}
		if err != nil {
			done.fail(all[i].lead, err)
			continue
		}
		email, phone := contact.Digests(keys)
		ids, emails, phones = append(ids, all[i].lead), append(emails, email), append(phones, phone)
	}
	last = all[len(all)-1].lead
	tag, err := m.Leads.pool.Exec(ctx, resealSQL, postgres.PlanEachTime, ids, emails, phones, all[0].lead, last)
	if err != nil {
		return last, RotationProgress{}, postgres.Translate(err)
	}
	done.Leads = tag.RowsAffected()
	return last, done, nil
}

func (c encryptedContact) open(key [envelope.KeySize]byte) (contact Contact, err error) {
	plain, err := envelope.Open(c.envelope, key, c.lead, c.partner)
	if err != nil {
		return contact, err
	}
	defer clear(plain)
	if json.Unmarshal(plain, &contact) != nil {
		return contact, errors.New("invalid contact record") // the parser's error may quote personal data
	}
	return contact, nil
}

func (m *RotationProgress) fail(lead uuid.UUID, err error) {
	m.Failed++
	m.Cause = withLead(lead, err)
}

// withLead adds the ID of a lead to an error.
func withLead(lead uuid.UUID, err error) error {
	return fmt.Errorf("lead %s: %w", id.Format(id.Lead, lead), err)
}
