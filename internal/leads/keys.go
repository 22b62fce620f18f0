package leads

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// KeyUse reports how many lead keys are wrapped with one key version of a wrapper.
type KeyUse struct {
	Wrapper, Version string
	Leads            int64
}

// KeyUses counts the leads for each key version. It reads the keys of all leads.
func (s *Store) KeyUses(ctx context.Context) ([]KeyUse, error) {
	rows, err := s.pool.Query(ctx,
		`SELECT key_wrapper, key_version, count(*) FROM lead_keys GROUP BY 1, 2 ORDER BY 1, 2`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	uses, err := pgx.CollectRows(rows, pgx.RowToStructByPos[KeyUse])
	return uses, postgres.Translate(err)
}

// Keys returns the key versions in use, without counts. It is fast even if there are many leads, because
// it skips from one version to the next in the index.
func (s *Store) Keys(ctx context.Context) ([]KeyUse, error) {
	rows, err := s.pool.Query(ctx, `WITH RECURSIVE used AS (
			(SELECT key_wrapper, key_version FROM lead_keys ORDER BY key_wrapper, key_version LIMIT 1)
			UNION ALL
			SELECT n.key_wrapper, n.key_version FROM used u, LATERAL (
				SELECT key_wrapper, key_version FROM lead_keys WHERE (key_wrapper, key_version) > (u.key_wrapper, u.key_version)
				ORDER BY key_wrapper, key_version LIMIT 1) n)
		SELECT key_wrapper, key_version, 0 FROM used`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	uses, err := pgx.CollectRows(rows, pgx.RowToStructByPos[KeyUse])
	return uses, postgres.Translate(err)
}

// DigestUses counts, for each platform key, the leads whose lookup digests were made with it. It reads
// all leads.
func (s *Store) DigestUses(ctx context.Context) (map[keyring.KeyID]int64, error) {
	rows, err := s.pool.Query(ctx,
		`SELECT substring(email_digest FOR 4), count(*) FROM leads WHERE length(email_digest) > 4 GROUP BY 1`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	defer rows.Close()
	uses := map[keyring.KeyID]int64{}
	for rows.Next() {
		var key []byte
		var n int64
		if err := rows.Scan(&key, &n); err != nil {
			return nil, postgres.Translate(err)
		}
		uses[keyring.KeyID(key)] = n
	}
	return uses, postgres.Translate(rows.Err())
}
