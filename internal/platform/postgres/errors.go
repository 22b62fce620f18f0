package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// Constraints maps the name of a constraint, index or trigger to the error for its violation. Each
// package defines the errors for the tables that it writes. A violation that is not in the map is a
// bug in the service, not a mistake in the request.
type Constraints map[string]*apperr.Error

// Translate is like the function Translate, with one difference. If err reports the violation of a
// constraint in c, it returns the error in c.
func (c Constraints) Translate(err error) error {
	if err = Translate(err); apperr.As(err) != nil {
		return err
	}
	var safe *Err
	if errors.As(err, &safe) {
		if known, ok := c[safe.Constraint]; ok {
			return known.WithCause(safe)
		}
	}
	return err
}

// Err is a database error without the statement's values. It contains only the SQLSTATE, the table
// and the constraint, because Postgres quotes rows in its message and detail.
type Err struct {
	SQLState, Table, Constraint string
	routine                     string // of Postgres, which reports several errors with the same SQLSTATE
	kind                        string // describes the error; if it is "", SQLState does
	permanent                   bool   // the error lasts until an operator changes the configuration
	cause                       error
}

func (e *Err) Error() string {
	if e.kind != "" {
		return "database: " + e.kind
	}
	text := "database: SQLSTATE " + e.SQLState
	switch {
	case e.Constraint != "":
		text += fmt.Sprintf(" (table %q, constraint %q)", e.Table, e.Constraint)
	case e.Table != "":
		text += fmt.Sprintf(" (table %q)", e.Table)
	}
	switch hint, ok := operatorHints[e.SQLState]; {
	case e.missingPartition():
		text += ": the table has no partition for this time; see the check partitions in /readyz"
	case e.SQLState == checkViolation && e.routine == "ATRewriteTable":
		text += ": the table contains rows of another period, so it cannot be attached as a partition: move them out of it"
	case ok:
		text += ": " + hint
	}
	return text
}

// checkViolation is the SQLSTATE for a violated check constraint.
const checkViolation = "23514"

// missingPartition reports whether there is no partition for a row. Postgres then reports a violated check
// constraint.
func (e *Err) missingPartition() bool {
	return e.SQLState == checkViolation && e.routine == "ExecFindPartition"
}

var operatorHints = map[string]string{
	"28P01": "role or password rejected: check database.url",
	"28000": "login rejected for this role from this address: check database.url and pg_hba.conf",
	"3D000": "no database with this name: check database.url",
	"42P01": "the schema is missing: run `pingpost migrate up` with the owner's URL",
	"42501": "the role has too few privileges: use the role pingpost_app, with the grants from `pingpost migrate up`",
	"42704": "unknown parameter in the URL: check database.url",
	"53100": "the server's disk is full",
	"53300": "no connections left: raise the server's max_connections or lower database.max_connections",
	"55P03": "another transaction, such as a backup or a migration, holds the lock: wait until it ends, or find it in pg_stat_activity and end it",
	"57P01": "the server is stopping",
	"57P03": "the server is starting or stopping",
	"25006": "the server is read-only; it may be a standby",
}

// Temporary reports whether the error is caused by the state of the connection or the server, for
// example if the server is starting, stopping, read-only, or out of disk space or connections, or by a lock.
func (e *Err) Temporary() bool {
	if e.permanent {
		return false
	}
	if e.SQLState == "" || e.SQLState == lockNotAvailable {
		return true
	}
	switch e.SQLState[:2] {
	case "08", "53", "57", "58", "40", "25":
		return true
	}
	return false
}

// Temporary reports whether err wraps an Err that is temporary. Such an error no longer occurs once the
// database is available again.
func Temporary(err error) bool {
	var safe *Err
	return errors.As(err, &safe) && safe.Temporary()
}

// Is lets errors.Is find a context error in the cause, but no other error.
func (e *Err) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && errors.Is(e.cause, target)
}

// Translate turns an error from pgx or GORM into an Err, which is safe to log. If no row was
// found, it returns a NotFound error. It does not change errors of package apperr.
func Translate(err error) error {
	if err == nil || apperr.As(err) != nil {
		return err
	}
	if errors.Is(err, gorm.ErrRecordNotFound) || errors.Is(err, pgx.ErrNoRows) {
		return apperr.New(apperr.NotFound, "not_found", "Not Found")
	}
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	if errors.As(err, &pg) && !errors.As(err, &connect) {
		return &Err{SQLState: pg.Code, Table: pg.TableName, Constraint: pg.ConstraintName, routine: pg.Routine}
	}
	return redact(err)
}

// redact replaces the text of an error with its kind, because connection errors contain users and
// database names, and encoding errors quote values.
func redact(err error) error {
	var already *Err
	if errors.As(err, &already) {
		return already
	}
	kind := "the statement failed"
	var netErr net.Error
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, context.Canceled):
		kind = "cancelled"
	case errors.As(err, &connect):
		return explainConnect(connect)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		kind = "timed out"
	case errors.As(err, &netErr), pgconn.SafeToRetry(err):
		kind = "connection lost"
	}
	return &Err{kind: kind, cause: err}
}

// isUnmigrated reports whether err means that goose's version table does not exist or cannot be
// read. The role can read the table only after all migrations have been applied.
func isUnmigrated(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "42501")
}

// Ambiguous reports whether a statement may have been committed although it returned an error,
// because it timed out or the connection was lost. A statement that the server rejected was not
// committed.
func Ambiguous(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// A cancellation (57014) can arrive while the server is committing. Class 08 and 57P01-03
		// end the connection. All other errors roll the transaction back.
		return pg.Code == "57014" || pg.Code[:2] == "08" || pg.Code[:3] == "57P"
	}
	// If a connection closes during a statement, pgx may return "conn closed". It wrongly reports
	// this error as safe to retry.
	if errors.Is(err, pgconn.ErrConnClosed) {
		return true
	}
	var connect *pgconn.ConnectError
	return err != nil && !errors.As(err, &connect) && !pgconn.SafeToRetry(err) && !errors.Is(err, pgx.ErrNoRows)
}

// IsInvalidData reports whether the server rejected a statement because of its values: data
// exceptions and integrity violations (SQLSTATE classes 22 and 23).
func IsInvalidData(err error) bool {
	var safe *Err
	return errors.As(Translate(err), &safe) && (strings.HasPrefix(safe.SQLState, "22") || strings.HasPrefix(safe.SQLState,
		"23"))
}

// IsMissingPartition reports whether the server rejected a statement because a table has no partition
// for one of the rows.
func IsMissingPartition(err error) bool {
	var safe *Err
	return errors.As(Translate(err), &safe) && safe.missingPartition()
}
