package migrations

import (
	"context"
	"database/sql"
	"errors"
)

// missingIndexSQL returns the statements that add an index to a partition that lacks it. Postgres cannot
// build an index on a partitioned table concurrently, so migrations create it ON ONLY the table itself.
// The index of a partition has the same name, with the partition's name instead of the table's.
const missingIndexSQL = `
SELECT format('DROP INDEX CONCURRENTLY IF EXISTS public.%I', name),
	format('CREATE INDEX CONCURRENTLY %I ON public.%I %s', name, part, regexp_replace(definition, '^.*? USING', 'USING')),
	format('ALTER INDEX public.%I ATTACH PARTITION public.%I', index, name)
FROM (
	SELECT i.relname AS index, p.relname AS part, p.relname || substr(i.relname, length(t.relname) + 1) AS name, pg_get_indexdef(i.oid) AS definition
	FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
		JOIN pg_inherits ON inhparent = t.oid JOIN pg_class p ON p.oid = inhrelid
	WHERE i.relkind = 'I' AND NOT x.indisvalid AND i.relnamespace = 'public'::regnamespace
		AND NOT EXISTS (SELECT FROM pg_inherits a JOIN pg_index c ON c.indexrelid = a.inhrelid WHERE a.inhparent = i.oid
			AND c.indrelid = p.oid)
) AS missing ORDER BY part DESC, name LIMIT 1`

// buildIndexes builds the missing indexes of partitions without blocking posts, those of the newest
// partitions first. Programs work without these indexes, but searches take longer. If buildIndexes is
// interrupted, the next call continues. It does nothing if another process is building indexes.
func buildIndexes(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var locked bool
	// A process that waits for the lock would have a snapshot, and the build waits until all snapshots end.
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock(hashtext('index builds'))`).Scan(&locked); err != nil || !locked {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtext('index builds'))`) //nolint:errcheck // closing the connection also unlocks
	for {
		var drop, create, attach string
		switch err := conn.QueryRowContext(ctx, missingIndexSQL).Scan(&drop, &create, &attach); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		for _, statement := range []string{drop, create, attach} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
}
