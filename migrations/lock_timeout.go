package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Whoever waits for a table keeps everybody waiting who comes after: a step behind a
// long transaction, as a backup's, would stop the posts. It waits for less than the two
// seconds that a post does, and for more than the one after which Postgres sends its own
// vacuum away; it tries again when those that queued behind it are through.
const (
	lockTimeout = "1500ms"
	lockPause   = 3 * time.Second
	lockTries   = 20

	lockNotAvailable = "55P03"
)

// lockTimeoutSQL bounds how long a step waits for a table, on the connection that it runs on.
// when_free makes a change of a step that has no transaction, and tries that alone again:
// the step from its beginning would build its indexes anew.
const lockTimeoutSQL = `
SET lock_timeout = '%[1]s';
CREATE OR REPLACE PROCEDURE pg_temp.when_free(change text) LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL lock_timeout = '%[1]s';
	FOR try IN 1..%[2]d LOOP
		BEGIN
			EXECUTE change;
			RETURN;
		EXCEPTION WHEN lock_not_available THEN
			IF try = %[2]d THEN RAISE; END IF;
			PERFORM pg_sleep(%[3]g);
		END;
	END LOOP;
END $$`

// lockTimeoutLocker has whoever migrates wait politely for as long as it is their turn.
type lockTimeoutLocker struct{ lock.SessionLocker }

func (p lockTimeoutLocker) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := p.SessionLocker.SessionLock(ctx, conn); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf(lockTimeoutSQL, lockTimeout, lockTries, lockPause.Seconds()))
	return err
}

func (p lockTimeoutLocker) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "RESET lock_timeout; DROP PROCEDURE pg_temp.when_free")
	return errors.Join(err, p.SessionLocker.SessionUnlock(ctx, conn))
}

// nextStep applies one step, as often as it takes to get at its tables.
func nextStep(ctx context.Context, p *goose.Provider) (*goose.MigrationResult, error) {
	for try := 1; ; try++ {
		step, err := p.UpByOne(ctx)
		if rejected, ok := errors.AsType[*pgconn.PgError](err); try == lockTries || !ok || rejected.Code != lockNotAvailable {
			return step, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
