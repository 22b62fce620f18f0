package leads

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// KeyCheck is the result of VerifyKeys for one key version.
type KeyCheck struct {
	KeyUse
	Checked, Failed int
	Cause           error // of a failure; nil if there is none
}

const sampleSQL = `SELECT id, partner_id, ciphertext, iv, auth_tag, salt, wrapped_key
	FROM leads JOIN lead_keys ON lead_id = id
	WHERE id IN (SELECT lead_id FROM lead_keys WHERE (key_wrapper, key_version) = ($1, $2) ORDER BY random() LIMIT $3)`

// VerifyKeys decrypts the contact records of randomly selected leads: up to the given number for each key version. It
// reads the keys of all leads.
func (s *Store) VerifyKeys(ctx context.Context, wrappers *envelope.Wrappers, sample int) ([]KeyCheck, error) {
	uses, err := s.KeyUses(ctx)
	if err != nil {
		return nil, err
	}
	checks := make([]KeyCheck, len(uses))
	for i, use := range uses {
		if checks[i], err = s.verifyKey(ctx, wrappers, use, sample); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

func (s *Store) verifyKey(ctx context.Context, wrappers *envelope.Wrappers, use KeyUse, sample int) (KeyCheck, error) {
	check := KeyCheck{KeyUse: use}
	rows, err := s.pool.Query(ctx, sampleSQL, use.Wrapper, use.Version, sample)
	if err != nil {
		return check, postgres.Translate(err)
	}
	contacts, err := pgx.CollectRows(rows, scanEncrypted)
	if err != nil {
		return check, postgres.Translate(err)
	}
	wrapped := make([][]byte, len(contacts))
	for i := range contacts {
		wrapped[i] = contacts[i].envelope.Wrapped
	}
	opened := wrappers.Unwrap(ctx, wrapped)
	defer clear(opened)
	for i, result := range opened {
		err := result.Err
		if err == nil {
			_, err = contacts[i].open(result.Key)
		}
		check.Checked++
		if err != nil {
			check.Failed++
			check.Cause = withLead(contacts[i].lead, err)
		}
	}
	return check, nil
}
