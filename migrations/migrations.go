// Package migrations holds the schema as goose SQL, embedded, and applies it.
//
// It runs as the role that owns the tables (pingpost_owner). The service runs
// as pingpost_app, which owns nothing; see docs/operations.md.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var files embed.FS

// Step is one migration and whether it has been applied.
type Step struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// provider takes steps, or only looks: at a standby too, so that it writes nothing.
func provider(db *sql.DB, changes bool) (*goose.Provider, error) {
	// Two nodes that migrate at once take turns.
	turns, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	if changes {
		turns = lockTimeoutLocker{turns}
	}
	return goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(turns),
		goose.WithGoMigrations(riverTables()))
}

// Encoding is what the database's must be: partners and people write in every script.
const Encoding = "UTF8"

// ErrEncoding says that it is another, which cannot be changed in place.
var ErrEncoding = errors.New("the database's encoding is not UTF8, and it would garble names: create another with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")

// Up applies what is missing and returns the names of what it applied.
func Up(ctx context.Context, db *sql.DB) ([]string, error) {
	var encoding string
	if err := db.QueryRowContext(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return nil, fmt.Errorf("migrating: %w", explain(err))
	}
	if encoding != Encoding {
		return nil, ErrEncoding
	}
	p, err := provider(db, true)
	if err != nil {
		return nil, err
	}
	var names []string
	for {
		step, err := nextStep(ctx, p)
		if errors.Is(err, goose.ErrNoNextVersion) {
			break
		}
		if err != nil {
			return names, fmt.Errorf("migrating: %w", explain(err))
		}
		names = append(names, nameOf(step.Source))
	}
	// The service asks for the schema's version with its own, lesser role.
	_, err = db.ExecContext(ctx, "GRANT SELECT ON goose_db_version TO pingpost_app")
	return names, err
}

// DownTo steps back to a version; 0 is an empty schema. Tests use it.
func DownTo(ctx context.Context, db *sql.DB, version int64) error {
	p, err := provider(db, true)
	if err != nil {
		return err
	}
	_, err = p.DownTo(ctx, version)
	return err
}

// UpTo steps up to a version. Tests use it to put rows in between.
func UpTo(ctx context.Context, db *sql.DB, version int64) error {
	p, err := provider(db, true)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Status lists every migration that this program knows.
func Status(ctx context.Context, db *sql.DB) ([]Step, error) {
	p, err := provider(db, false)
	if err != nil {
		return nil, err
	}
	status, err := p.Status(ctx)
	var steps []Step
	for _, s := range status {
		steps = append(steps, Step{
			Version: s.Source.Version,
			Name:    nameOf(s.Source),
			Applied: s.State == goose.StateApplied,
		})
	}
	return steps, explain(err)
}

// explain names the mend: of what happens with the service's own URL, and what
// else the database hints at.
func explain(err error) error {
	var rejected *pgconn.PgError
	switch {
	case !errors.As(err, &rejected):
	case rejected.Code == "42501": // insufficient privilege
		return errors.New("this role may not migrate: give the URL of pingpost_owner, which owns the tables")
	case rejected.Code == lockNotAvailable:
		return errors.New("a table that has to change is in use by a transaction that does not end, a backup perhaps: pg_stat_activity shows it; migrate again when it is over, nothing is half done")
	case rejected.Hint != "":
		return fmt.Errorf("%w: %s", err, rejected.Hint)
	}
	return err
}

// Latest is the version that this program needs.
func Latest() (int64, error) {
	sources, err := files.ReadDir(".")
	if err != nil {
		return 0, err
	}
	var latest int64
	for _, s := range sources {
		v, err := goose.NumericComponent(s.Name())
		if err != nil {
			return 0, err
		}
		latest = max(latest, v)
	}
	return latest, nil
}
