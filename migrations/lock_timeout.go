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

// A migration that waits for a lock on a table also blocks later statements on the table, such as
// posts. So after lockTimeout, it pauses for lockPause and tries again. lockTimeout is less than the
// two seconds that a post waits. It is more than one second, after which Postgres cancels an autovacuum
// that blocks the migration.
const (
	lockTimeout = "1500ms"
	lockPause   = 3 * time.Second
	lockTries   = 20

	lockNotAvailable = "55P03"
)

// lockTimeoutSQL limits how long statements on a connection wait for a lock on a table. It also creates
// the procedure when_free, which retries one change while the table is locked. Use when_free in
// migrations that run outside a transaction, because retrying the whole migration would rebuild its
// indexes.
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

// lockTimeoutLocker takes the lock for migrations, and then runs lockTimeoutSQL on the same connection.
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

// nextStep applies one migration. It retries while the tables are locked.
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
