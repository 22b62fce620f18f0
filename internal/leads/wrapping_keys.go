package leads

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// WrappingKeys returns the registered wrapping keys (decision 55).
func (s *Store) WrappingKeys(ctx context.Context) ([]envelope.WrappingKey, error) {
	rows, err := s.pool.Query(ctx, `SELECT wrapper, key FROM wrapping_keys ORDER BY wrapper, key`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[envelope.WrappingKey])
	return keys, postgres.Translate(err)
}

const registerSQL = `INSERT INTO wrapping_keys (wrapper, key)
	SELECT wrapper, key FROM unnest($1::text[], $2::text[]) AS new (wrapper, key)
	WHERE NOT $3::bool OR NOT EXISTS (SELECT FROM wrapping_keys)
	ON CONFLICT DO NOTHING RETURNING wrapper, key`

// RegisterKeys registers wrapping keys, and returns the ones that were not registered before.
func (s *Store) RegisterKeys(ctx context.Context, keys []envelope.WrappingKey) ([]envelope.WrappingKey, error) {
	return s.register(ctx, keys, false)
}

// RegisterFirstKeys is like RegisterKeys, but does nothing if any key is registered. If several nodes call
// it at once, only one of them registers its keys.
func (s *Store) RegisterFirstKeys(ctx context.Context, keys []envelope.WrappingKey) ([]envelope.WrappingKey, error) {
	return s.register(ctx, keys, true)
}

func (s *Store) register(
	ctx context.Context, keys []envelope.WrappingKey, first bool,
) (added []envelope.WrappingKey, err error) {
	wrappers, names := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		wrappers[i], names[i] = key.Wrapper, key.Key
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// A statement that waited for the lock sees the keys that were registered before.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('wrapping keys'))`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, registerSQL, wrappers, names, first)
		if err != nil {
			return err
		}
		added, err = pgx.CollectRows(rows, pgx.RowToStructByPos[envelope.WrappingKey])
		return err
	})
	return added, postgres.Translate(err)
}
