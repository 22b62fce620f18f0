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

	"github.com/pingpost/pingpost/internal/apperr"
)

// Constraints are the errors for what the schema rejects, by the name of the
// constraint, index or trigger. Each package has those of the tables that it writes;
// a violation that it does not name is a defect of the service, not of the request.
type Constraints map[string]*apperr.Error

// Translate is the package's Translate with these errors for violations.
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

// Err is a failure of the database without the values of the statement: only
// SQLSTATE, table and constraint. Postgres's own message and detail quote rows.
type Err struct {
	SQLState, Table, Constraint string
	kind                        string
	cause                       error
}

func (e *Err) Error() string {
	if e.SQLState == "" {
		return "database: " + e.kind
	}
	text := "database: SQLSTATE " + e.SQLState
	if e.Table != "" || e.Constraint != "" {
		text += fmt.Sprintf(" (table %q, constraint %q)", e.Table, e.Constraint)
	}
	if mend, ok := operatorHints[e.SQLState]; ok {
		text += ": " + mend
	}
	return text
}

// operatorHints say to an operator what the server's refusal means.
var operatorHints = map[string]string{
	"28P01": "it refuses the role or its password: check database.url",
	"28000": "it refuses the role from this address: check database.url and pg_hba.conf",
	"3D000": "there is no database of this name: check database.url",
	"42P01": "its schema is not there: run `pingpost migrate up` with the owner's URL",
	"42501": "the role lacks a right: serve as pingpost_app, with the grants of `pingpost migrate up`",
	"42704": "it does not know a parameter of the URL: check database.url",
	"53100": "its disk is full",
	"53300": "it has no connection left: raise its max_connections or lower database.max_connections",
	"57P01": "it is stopping",
	"57P03": "it is starting or stopping",
	"25006": "it is read-only: a standby, perhaps",
}

// Temporary reports whether the server refused because of its own state: it is
// starting, stopping, read-only, out of room or of connections.
func (e *Err) Temporary() bool {
	if e.SQLState == "" {
		return true
	}
	switch e.SQLState[:2] {
	case "08", "53", "57", "58", "40", "25":
		return true
	}
	return false
}

// Temporary reports whether an error of this package, or one that wraps it, is
// over when the database answers again.
func Temporary(err error) bool {
	var safe *Err
	return errors.As(err, &safe) && safe.Temporary()
}

// Is keeps context errors recognisable without exposing the rest of the chain.
func (e *Err) Is(target error) bool {
	return (target == context.Canceled || target == context.DeadlineExceeded) && errors.Is(e.cause, target)
}

// Translate turns an error of pgx or GORM into an Err that is safe to log, and one
// of no rows into a NotFound error. Errors of apperr pass through.
func Translate(err error) error {
	if err == nil || apperr.As(err) != nil {
		return err
	}
	if errors.Is(err, gorm.ErrRecordNotFound) || errors.Is(err, pgx.ErrNoRows) {
		return apperr.New(apperr.NotFound, "not_found", "Not Found")
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return &Err{SQLState: pg.Code, Table: pg.TableName, Constraint: pg.ConstraintName}
	}
	return redact(err)
}

// redact keeps the kind of a failure and drops its text: connection errors name
// hosts and users, and encoding errors quote values.
func redact(err error) error {
	var already *Err
	if errors.As(err, &already) {
		return already
	}
	kind := "the statement failed"
	var netErr net.Error
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, errReplaced):
		kind = "the server was replaced by a newer primary, which does not answer"
	case errors.Is(err, context.Canceled):
		kind = "cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		kind = "timed out"
	case errors.As(err, &connect):
		kind = "cannot connect"
	case errors.As(err, &netErr), pgconn.SafeToRetry(err):
		kind = "connection lost"
	}
	return &Err{kind: kind, cause: err}
}

// isUnmigrated recognises a table of versions that is not there, or that a
// migration has made without coming to its end, where it grants the right to
// read it.
func isUnmigrated(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "42501")
}

// Ambiguous reports whether a statement may have been committed although it
// returned an error: the connection or the time ran out while the server may
// have been at work. What the server itself refused was not.
func Ambiguous(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// 57014, a cancelled statement, may race with its commit; class 08 and
		// 57P01-03 end the connection; the rest rolled back.
		return pg.Code == "57014" || pg.Code[:2] == "08" || pg.Code[:3] == "57P"
	}
	// Of a connection that closed while a statement was at work on it pgx may say
	// "conn closed", which it calls safe to retry.
	if errors.Is(err, pgconn.ErrConnClosed) {
		return true
	}
	var connect *pgconn.ConnectError
	return err != nil && !errors.As(err, &connect) && !pgconn.SafeToRetry(err) && !errors.Is(err, pgx.ErrNoRows)
}

// IsInvalidData reports whether the server refused a statement for the values in it:
// data exceptions and integrity violations (SQLSTATE classes 22 and 23).
func IsInvalidData(err error) bool {
	var safe *Err
	return errors.As(Translate(err), &safe) && (strings.HasPrefix(safe.SQLState, "22") || strings.HasPrefix(safe.SQLState, "23"))
}
