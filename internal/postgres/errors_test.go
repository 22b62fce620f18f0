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

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/testkit"
)

// canary stands for whatever a statement holds: an e-mail address, a secret.
const canary = "canary-5f1c09aa"

// every is an error in all the ways that a log or an answer may print it, with
// each error that can be unwrapped from it.
func every(err error) string {
	var text bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&text, nil))
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&text, "%v %+v %#v %s %q\n", e, e, e, e, e)
		log.Error("failed", "error", e)
	}
	return text.String()
}

// Whatever Postgres, the driver or GORM says about a statement, neither its
// values nor its text come out of Translate.
func TestTranslateLeaksNothing(t *testing.T) {
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
		"check":            exec(insertPartner, uuid.New(), "another", canary, canary, canary),
		"check told apart": exec(insertPartner, uuid.New(), "Upper-"+canary, canary, "required", canary),
		"not null":         exec(insertPartner, uuid.New(), canary, nil, "required", canary),
		"foreign key":      exec(insertAccount, uuid.New(), canary, canary, true),
		"too long":         exec(`INSERT INTO leads (country) VALUES ($1)`, canary),
		"not a uuid":       exec(`SELECT $1::text::uuid`, canary),
		"not a number":     exec(`SELECT $1::text::int`, canary),
		"not JSON":         exec(`SELECT $1::text::jsonb`, canary+`{`),
		"not encodable":    exec(`SELECT $1::int`, canary),
		"raised by a function": exec(`DO $$ BEGIN RAISE EXCEPTION '` + canary + `' USING DETAIL = '` + canary +
			`', HINT = '` + canary + `'; END $$`),
		"wrong SQL":           exec(`SELECT ` + `'` + canary + `' FROM WHERE`),
		"no table":            exec(`SELECT '` + canary + `' FROM "` + canary + `"`),
		"not allowed":         exec(`DELETE FROM partners WHERE slug = '` + canary + `'`),
		"wrong model":         d.Gorm.Model(&struct{ Canary string }{canary}).Where(canary+" = ?", canary).Take(&struct{ ID int }{}).Error,
		"a scan that fails":   d.Pool.QueryRow(t.Context(), `SELECT $1::text`, canary).Scan(new(int)),
		"cancelled":           d.Gorm.WithContext(cancelled).Exec(`SELECT '` + canary + `'`).Error,
		"no such host":        connectTo(t, "postgres://"+canary+":"+canary+"@"+canary+".invalid:1/"+canary),
		"nobody listens":      connectTo(t, "postgres://"+canary+":"+canary+"@127.0.0.1:1/"+canary),
		"no such database":    connectTo(t, strings.Replace(d.AppURL, "pingpost_test", canary, 1)),
		"a wrong password":    connectTo(t, strings.Replace(d.AppURL, "app-of-tests", canary, 1)),
		"joined with another": errors.Join(errors.New(canary), exec(insertAccount, partner, "x", "", true)),
	} {
		if err == nil {
			t.Errorf("%s: nothing was refused", name)
			continue
		}
		text := every(postgres.Translate(err))
		for _, leak := range []string{canary, "INSERT", "SELECT", "UPDATE", "DELETE", "127.0.0.1", "app-of-tests"} {
			if strings.Contains(text, leak) {
				t.Errorf("%s: %q comes out: %s", name, leak, text)
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

// A violation has the error of the constraint, from a statement and from a
// transaction, and no other error has one.
func TestConstraintsTranslate(t *testing.T) {
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
			return tx.Exec(`INSERT INTO partners (id, slug, name, status, signing_mode, shared_address, created_at, updated_at)
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
			t.Errorf("%s: the row comes out: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"another constraint":    known.Translate(add("A-Partner")),
		"no constraints":        postgres.Constraints(nil).Translate(add("a-partner")),
		"a transaction without": inTransaction(d.DB),
		"nil":                   known.Translate(nil),
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
			t.Errorf("no row %s: %v", name, err)
		}
	}
}

// What the schema refuses and nobody told apart is a defect of the service: it
// keeps its SQLSTATE, table and constraint for the log.
func TestTranslateKeepsWhatTheLogNeeds(t *testing.T) {
	d := testkit.NewDatabase(t)
	_, err := d.Pool.Exec(t.Context(), insertAccount, uuid.New(), "an-account", "An account", true)
	err = postgres.Translate(err)
	if apperr.As(err) != nil {
		t.Errorf("%v is a fault, which a partner or an operator would be told", err)
	}
	if want := `database: SQLSTATE 23503 (table "accounts", constraint "accounts_partner_fkey")`; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestTranslatePassesOn(t *testing.T) {
	if err := postgres.Translate(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
	known := fmt.Errorf("creating: %w", apperr.New(apperr.Conflict, "taken", "Taken."))
	if err := postgres.Translate(known); err != known {
		t.Errorf("a fault became %v", err)
	}
	for _, target := range []error{context.Canceled, context.DeadlineExceeded} {
		err := postgres.Translate(fmt.Errorf("asking: %w", target))
		if !errors.Is(err, target) {
			t.Errorf("%v is no longer %v", err, target)
		}
		if again := postgres.Translate(fmt.Errorf("%s: %w", canary, err)); strings.Contains(again.Error(), canary) || !errors.Is(again, target) {
			t.Errorf("translated twice it is %v", again)
		}
	}
	if err := postgres.Translate(errors.New(canary)); errors.Is(err, context.Canceled) || strings.Contains(err.Error(), canary) {
		t.Errorf("an unknown error became %v", err)
	}
}

func TestTemporary(t *testing.T) {
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
			t.Errorf("%s: %v, want temporary %t", state, err, want)
		}
	}
	var e *postgres.Err
	if err := postgres.Translate(errors.New("gone")); !errors.As(err, &e) || !e.Temporary() {
		t.Error("a lost connection is temporary")
	}
}

// Refused is for the values of a statement: another statement beside it may do
// better, which is not so when the server is in the wrong state or we are.
func TestRejected(t *testing.T) {
	for state, want := range map[string]bool{
		"23505": true, "23514": true, "23502": true, "22001": true, "22021": true,
		"42501": false, "42P01": false, "40001": false, "53100": false, "57014": false, "57P01": false, "P0001": false,
	} {
		if got := postgres.IsInvalidData(&pgconn.PgError{Code: state}); got != want {
			t.Errorf("%s: %t, want %t", state, got, want)
		}
	}
	known := postgres.Constraints{"partners_slug_key": apperr.New(apperr.Conflict, "taken", "Choose another slug.")}
	if !postgres.IsInvalidData(known.Translate(&pgconn.PgError{Code: "23505", ConstraintName: "partners_slug_key"})) {
		t.Error("what was told apart is refused no less")
	}
	for _, err := range []error{nil, errors.New("gone"), context.DeadlineExceeded, apperr.New(apperr.Invalid, "form", "No.")} {
		if postgres.IsInvalidData(err) {
			t.Errorf("%v was not refused by the server", err)
		}
	}
}
