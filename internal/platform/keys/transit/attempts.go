package transit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	// maxAttempts is the number of rejected logins with one credential after which logins are paused.
	// After five rejected logins, Vault would lock the AppRole for all its users.
	maxAttempts = 3
	// pauseLogins is the pause after maxAttempts rejected logins. Vault resets its own count 15
	// minutes after the last rejected login.
	pauseLogins = 16 * time.Minute
	// attemptLasts is how long an attempt counts if its result is not recorded, for example
	// because the node was killed. It is longer than a login can take.
	attemptLasts  = time.Minute
	recordTimeout = time.Second
)

// Attempts limits AppRole logins with a credential that Vault rejects. All nodes with the same database
// share the limit, which survives restarts. The database contains only a keyed digest of the
// credential. A login therefore needs the database, but without the database, a node cannot store posts
// anyway.
type Attempts struct {
	db   *postgres.DB
	keys *keyring.Keys
}

// NewAttempts returns an Attempts that records logins in a database.
func NewAttempts(db *postgres.DB, keys *keyring.Keys) *Attempts { return &Attempts{db, keys} }

// begin records a login before it is attempted, or returns an error if logins are paused. The function
// end records the result.
func (a *Attempts) begin(ctx context.Context, login Login) (end func(context.Context, error), err error) {
	if a == nil || login.Method != AppRole {
		return func(context.Context, error) {}, nil
	}
	credential := a.keys.Digest(keyring.VaultCredential, []byte(login.RoleID+"\x00"+login.SecretID))
	var attempt int64
	var until time.Time
	err = pgx.BeginFunc(ctx, a.db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('vault logins'))`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM vault_logins WHERE counts_until <= clock_timestamp()`); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `INSERT INTO vault_logins (credential, counts_until) SELECT $1, clock_timestamp() + $2::interval
			WHERE (SELECT count(*) FROM vault_logins WHERE credential = $1) < $3
			RETURNING id`, credential, attemptLasts, maxAttempts).Scan(&attempt)
		if errors.Is(err, pgx.ErrNoRows) {
			err = tx.QueryRow(ctx, `SELECT min(counts_until) FROM vault_logins WHERE credential = $1`, credential).Scan(&until)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, &Error{
			Reason: "database",
			text:   "counting Vault logins in the database: " + postgres.Translate(err).Error(),
		}
	case attempt == 0:
		return nil, &Error{
			Reason: "paused",
			text: fmt.Sprintf("Vault logins with this credential are paused until %s: %d attempts were rejected or have not ended; a different credential is tried immediately",
				until.UTC().Format(time.RFC3339), maxAttempts),
		}
	}
	return func(ctx context.Context, result error) { a.recordResult(ctx, credential, attempt, result) }, nil
}

// recordResult records the result of an attempt. A successful login deletes the record of the credential's attempts.
// After a rejection, all of them count towards maxAttempts until pauseLogins has passed. An attempt that Vault
// neither accepted nor rejected is deleted.
func (a *Attempts) recordResult(ctx context.Context, credential []byte, attempt int64, result error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	record := func(sql string, args ...any) {
		a.db.Pool.Exec(ctx, sql, args...) //nolint:errcheck // without a result, the attempt counts for attemptLasts
	}
	switch {
	case result == nil:
		record(`DELETE FROM vault_logins WHERE credential = $1`, credential)
	case rejectedLogin(result):
		record(`UPDATE vault_logins SET counts_until = clock_timestamp() + $2::interval WHERE credential = $1`,
			credential, pauseLogins)
	default:
		record(`DELETE FROM vault_logins WHERE id = $1`, attempt)
	}
}
