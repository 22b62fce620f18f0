package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// canary stands for any value in a statement, such as an email address or a secret.
const canary = "canary-5f1c09aa"

// every formats an error, and each error that it wraps, in all the ways that it could appear in a
// log or a response.
func every(err error) string {
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&text, "%v %+v %#v %s %q\n", e, e, e, e, e)
		log.Error("failed", "error", e)
	}
	return text.String()
}

// Translate removes the statement and its values from all errors of Postgres, the driver and
// GORM.
func TestTranslateLeaksNothing(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	partner := addPartner(t, d.DB, canary)
	gormExec := func(sql string, args ...any) error { return d.Gorm.WithContext(t.Context()).Exec(sql, args...).Error }
	exec := func(sql string, args ...any) error {
		_, err := d.Pool.Exec(t.Context(), sql, args...)
		return err
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"unique": exec(insertPartner, uuid.New(), canary, canary, "required", canary),
		"unique by GORM": gormExec(strings.NewReplacer("$1", "?", "$2", "?", "$3", "?", "$4", "?", "$5", "?").Replace(insertPartner),
			uuid.New(), canary, canary, "required", canary),
		"check":         exec(insertPartner, uuid.New(), "another", canary, canary, canary),
		"another check": exec(insertPartner, uuid.New(), "Upper-"+canary, canary, "required", canary),
		"not null":      exec(insertPartner, uuid.New(), canary, nil, "required", canary),
		"foreign key":   exec(insertAccount, uuid.New(), canary, canary, true),
		"too long":      exec(`INSERT INTO leads (country) VALUES ($1)`, canary),
		"not a uuid":    exec(`SELECT $1::text::uuid`, canary),
		"not a number":  exec(`SELECT $1::text::int`, canary),
		"not JSON":      exec(`SELECT $1::text::jsonb`, canary+`{`),
		"not encodable": exec(`SELECT $1::int`, canary),
		"raised by a function": exec(`DO $$ BEGIN RAISE EXCEPTION '` + canary + `' USING DETAIL = '` + canary +
			`', HINT = '` + canary + `'; END $$`),
		"wrong SQL":           exec(`SELECT ` + `'` + canary + `' FROM WHERE`),
		"no table":            exec(`SELECT '` + canary + `' FROM "` + canary + `"`),
		"not allowed":         exec(`DELETE FROM partners WHERE slug = '` + canary + `'`),
		"wrong model":         d.Gorm.Model(&struct{ Canary string }{canary}).Where(canary+" = ?", canary).Take(&struct{ ID int }{}).Error,
		"a scan that fails":   d.Pool.QueryRow(t.Context(), `SELECT $1::text`, canary).Scan(new(int)),
		"cancelled":           d.Gorm.WithContext(cancelled).Exec(`SELECT '` + canary + `'`).Error,
		"no such host":        connectTo(t, "postgres://"+canary+":"+canary+"@host.invalid:1/"+canary),
		"no server listening": connectTo(t, "postgres://"+canary+":"+canary+"@127.0.0.1:1/"+canary),
		"no such database":    connectTo(t, strings.Replace(d.AppURL, "pingpost_test", canary, 1)),
		"wrong password":      connectTo(t, strings.Replace(d.AppURL, "app-of-tests", canary, 1)),
		"joined with another": errors.Join(errors.New(canary), exec(insertAccount, partner, "x", "", true)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		text := every(postgres.Translate(err))
		for _, leak := range []string{canary, "INSERT", "SELECT", "UPDATE", "DELETE", "app-of-tests"} {
			if strings.Contains(text, leak) {
				t.Errorf("%s: the error contains %q: %s", name, leak, text)
			}
		}
	}
}

func connectTo(t *testing.T, url string) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		conn.Close(t.Context())
	}
	return err
}

// A violation returns the error for its constraint, in a single statement and in a transaction.
// Other errors are not replaced.
func TestConstraintsTranslate(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	addPartner(t, d.DB, "a-partner")
	taken := apperr.New(apperr.Conflict, "taken", "Choose another slug.")
	known := postgres.Constraints{"partners_slug_key": taken}
	add := func(slug string) error {
		_, err := d.Pool.Exec(t.Context(), insertPartner, uuid.New(), slug, "A partner", "required", canary)
		return err
	}
	inTransaction := func(db *postgres.DB) error {
		return db.Transaction(t.Context(), func(tx *gorm.DB) error {
			return tx.Exec(`INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at)
				VALUES (gen_random_uuid(), 'a-partner', 'x', 'approved', 'off', true, now(), now())`).Error
		})
	}
	for name, err := range map[string]error{
		"a statement":   known.Translate(add("a-partner")),
		"redacted":      known.Translate(postgres.Translate(add("a-partner"))),
		"twice":         known.Translate(known.Translate(add("a-partner"))),
		"a transaction": inTransaction(d.DB.WithConstraints(known)),
	} {
		var safe *postgres.Err
		if !errors.Is(err, taken) || !errors.As(err, &safe) || safe.Constraint != "partners_slug_key" {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(every(err), canary) {
			t.Errorf("%s: the error contains the row: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"another constraint":              known.Translate(add("A-Partner")),
		"no constraints":                  postgres.Constraints(nil).Translate(add("a-partner")),
		"transaction without constraints": inTransaction(d.DB),
		"nil":                             known.Translate(nil),
	} {
		if apperr.As(err) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"by pgx":  postgres.Translate(d.Pool.QueryRow(t.Context(), `SELECT 1 WHERE false`).Scan(new(int))),
		"by GORM": postgres.Translate(d.Gorm.Table("partners").Where("false").Take(&map[string]any{}).Error),
	} {
		if f := apperr.As(err); f == nil || f.Code != apperr.NotFound || f.Reason != "not_found" {
			t.Errorf("no row, %s: %v", name, err)
		}
	}
}

// A violation for which no error is defined is a bug in the service. It keeps its SQLSTATE, table
// and constraint for the log.
func TestTranslateKeepsDetailsForLog(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	_, err := d.Pool.Exec(t.Context(), insertAccount, uuid.New(), "an-account", "An account", true)
	err = postgres.Translate(err)
	if apperr.As(err) != nil {
		t.Errorf("%v is an apperr, which partners and operators would see", err)
	}
	if want := `database: SQLSTATE 23503 (table "accounts", constraint "accounts_partner_fkey")`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An error about a lock explains what to do.
func TestLockTimeoutIsExplained(t *testing.T) {
	t.Parallel()
	const bare = "database: SQLSTATE 55P03"
	if err := postgres.Translate(&pgconn.PgError{Code: "55P03"}); !strings.HasPrefix(err.Error(), bare+": ") {
		t.Errorf("got %v, want %s and what to do", err, bare)
	}
}

func TestTranslateKeepsKnownErrors(t *testing.T) {
	t.Parallel()
	if err := postgres.Translate(nil); err != nil {
		t.Errorf("Translate(nil) = %v", err)
	}
	known := fmt.Errorf("creating: %w", apperr.New(apperr.Conflict, "taken", "Taken."))
	if err := postgres.Translate(known); err != known {
		t.Errorf("Translate changed an apperr to %v", err)
	}
	for _, target := range []error{context.Canceled, context.DeadlineExceeded} {
		err := postgres.Translate(fmt.Errorf("asking: %w", target))
		if !errors.Is(err, target) {
			t.Errorf("%v is no longer %v", err, target)
		}
		if again := postgres.Translate(fmt.Errorf("%s: %w", canary, err)); strings.Contains(again.Error(), canary) || !errors.Is(again, target) {
			t.Errorf("translated twice: %v", again)
		}
	}
	if err := postgres.Translate(errors.New(canary)); errors.Is(err, context.Canceled) || strings.Contains(err.Error(), canary) {
		t.Errorf("unknown error: got %v", err)
	}
}

func TestTemporary(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"08006": true,
		"53100": true,
		"53300": true,
		"57P01": true,
		"57P03": true,
		"57014": true,
		"58030": true,
		"40001": true,
		"40P01": true,
		"25006": true,
		"55P03": true,
		"23505": false,
		"23514": false,
		"22P02": false,
		"42501": false,
		"42P01": false,
		"P0001": false,
	} {
		var e *postgres.Err
		if err := postgres.Translate(&pgconn.PgError{Code: state}); !errors.As(err, &e) ||
			e.Temporary() != want || e.SQLState != state {
			t.Errorf("%s: got %v, want Temporary() = %t", state, err, want)
		}
	}
	var e *postgres.Err
	if err := postgres.Translate(errors.New("gone")); !errors.As(err, &e) || !e.Temporary() {
		t.Error("a lost connection is not reported as temporary")
	}
}

// IsInvalidData returns true only for errors that are caused by a statement's values. After such an error, the
// statement can succeed with other values. After other errors, it may fail with any values.
func TestRejected(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		"23505": true, "23514": true, "23502": true, "22001": true, "22021": true,
		"42501": false, "42P01": false, "40001": false, "53100": false, "57014": false, "57P01": false, "P0001": false,
	} {
		if got := postgres.IsInvalidData(&pgconn.PgError{Code: state}); got != want {
			t.Errorf("%s: got %t, want %t", state, got, want)
		}
	}
	known := postgres.Constraints{"partners_slug_key": apperr.New(apperr.Conflict, "taken", "Choose another slug.")}
	if !postgres.IsInvalidData(known.Translate(&pgconn.PgError{Code: "23505", ConstraintName: "partners_slug_key"})) {
		t.Error("a violation with its own error is not reported as invalid data")
	}
	for _, err := range []error{nil, errors.New("gone"), context.DeadlineExceeded, apperr.New(apperr.Invalid, "form", "No.")} {
		if postgres.IsInvalidData(err) {
			t.Errorf("%v is reported as invalid data", err)
		}
	}
}
