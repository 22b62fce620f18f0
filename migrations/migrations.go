// Package migrations contains the schema as embedded goose migrations and applies them.
//
// Migrations run as the role that owns the tables (pingpost_owner). The service runs as
// pingpost_app, which owns nothing; see docs/how-to/deploy.md.
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

// Step is a migration and whether it has been applied.
type Step struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
}

// provider returns a goose provider. Without changes, it also works on a read-only standby.
func provider(db *sql.DB, changes bool) (*goose.Provider, error) {
	// Concurrent migrations wait for each other.
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

// Encoding is the required encoding of the database, because names can be in any script.
const Encoding = "UTF8"

// ErrEncoding means that the database has another encoding, which cannot be changed.
var ErrEncoding = errors.New("the database's encoding is not UTF8, which is required: create a new database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")

// Up applies the missing migrations and returns their names.
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
	// The service reads the schema's version with its own role.
	_, err = db.ExecContext(ctx, "GRANT SELECT ON goose_db_version TO pingpost_app")
	return names, err
}

// DownTo undoes the migrations after a version; 0 undoes all. Only tests use it.
func DownTo(ctx context.Context, db *sql.DB, version int64) error {
	p, err := provider(db, true)
	if err != nil {
		return err
	}
	_, err = p.DownTo(ctx, version)
	return err
}

// UpTo applies the migrations up to a version. Only tests use it, to insert rows in between.
func UpTo(ctx context.Context, db *sql.DB, version int64) error {
	p, err := provider(db, true)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Status returns all migrations of this program.
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

// explain replaces or extends an error with what to do: for the service's own URL, for a locked
// table, and for errors with a hint.
func explain(err error) error {
	var rejected *pgconn.PgError
	switch {
	case !errors.As(err, &rejected):
	case rejected.Code == "42501": // insufficient privilege
		return errors.New("this role has no right to migrate: use the URL of pingpost_owner, which owns the tables")
	case rejected.Code == lockNotAvailable:
		return errors.New("a long transaction, perhaps a backup, is using a table that has to change: find it in pg_stat_activity, and migrate again when it has ended; no migration is left incomplete")
	case rejected.Hint != "":
		return fmt.Errorf("%w: %s", err, rejected.Hint)
	}
	return err
}

// Latest returns the version of the schema that this program needs.
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
