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
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// versionTable is the table that lists the applied migrations.
const versionTable = "schema_migrations"

//go:embed *.sql
var files embed.FS

// Step is the status of a migration.
type Step struct {
	Version int64  `json:"version"`
	Name    string `json:"name"` // "" if this program does not contain the migration
	Applied bool   `json:"applied"`
}

// provider returns a goose provider for the migrations in sources and the one that creates River's
// tables. The parameter changes must be true if the provider will apply migrations. If it is false, the
// provider also works on a read-only standby.
func provider(db *sql.DB, sources fs.FS, changes bool) (*goose.Provider, error) {
	// The locker makes concurrent migrations wait for each other.
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, err
	}
	if changes {
		locker = lockTimeoutLocker{locker}
	}
	return goose.NewProvider(goose.DialectPostgres, db, sources, goose.WithSessionLocker(locker),
		goose.WithGoMigrations(riverTables()), goose.WithTableName(versionTable))
}

// Encoding is the required encoding of the database. UTF8 is needed because names can be in any
// script.
const Encoding = "UTF8"

// ErrEncoding means that the encoding of the database is not UTF8. The encoding cannot be changed after
// the database has been created.
var ErrEncoding = errors.New("the encoding of the database must be UTF8: create a new database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")

// Up applies the pending migrations and returns their names. It returns an error if the schema is newer
// than this program and this program does not work with it.
func Up(ctx context.Context, db *sql.DB) ([]string, error) {
	names, err := up(ctx, db, files)
	if err != nil {
		return names, err
	}
	s, err := ReadSchema(ctx, db)
	if err != nil {
		return names, err
	}
	return names, s.Check()
}

func up(ctx context.Context, db *sql.DB, sources fs.FS) ([]string, error) {
	var encoding string
	if err := db.QueryRowContext(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding); err != nil {
		return nil, fmt.Errorf("migrating: %w", explain(err))
	}
	if encoding != Encoding {
		return nil, ErrEncoding
	}
	p, err := provider(db, sources, true)
	if err != nil {
		return nil, err
	}
	var names []string
	for {
		// Declare before each step, so that a running program never reads a newer schema without its
		// declaration.
		if err := declare(ctx, db, sources); err != nil {
			return names, fmt.Errorf("migrating: %w", explain(err))
		}
		step, err := nextStep(ctx, p)
		if errors.Is(err, goose.ErrNoNextVersion) {
			break
		}
		if err != nil {
			return names, fmt.Errorf("migrating: %w", explain(err))
		}
		names = append(names, nameOf(step.Source))
	}
	// The service's role needs to read the schema's version.
	if _, err = db.ExecContext(ctx, "GRANT SELECT ON "+versionTable+" TO pingpost_app"); err != nil {
		return names, err
	}
	return names, explain(buildIndexes(ctx, db))
}

// UpTo applies the migrations up to a version. Only tests use it, to insert rows before the later
// migrations are applied.
func UpTo(ctx context.Context, db *sql.DB, version int64) error {
	p, err := provider(db, files, true)
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Status returns all migrations of this program, and whether each has been applied. It also returns
// the migrations of other programs that have been applied.
func Status(ctx context.Context, db *sql.DB) ([]Step, error) {
	p, err := provider(db, files, false)
	if err != nil {
		return nil, err
	}
	status, err := p.Status(ctx)
	if err != nil {
		return nil, explain(err)
	}
	var steps []Step
	var known []int64
	for _, s := range status {
		known = append(known, s.Source.Version)
		steps = append(steps, Step{
			Version: s.Source.Version,
			Name:    nameOf(s.Source),
			Applied: s.State == goose.StateApplied,
		})
	}
	unknown, err := db.QueryContext(ctx, `SELECT version_id FROM `+versionTable+`
		WHERE is_applied AND version_id > 0 AND version_id <> ALL ($1) ORDER BY version_id`, known)
	if err != nil {
		return nil, explain(err)
	}
	defer unknown.Close()
	for unknown.Next() {
		step := Step{Applied: true}
		if err := unknown.Scan(&step.Version); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, explain(unknown.Err())
}

// explain adds instructions to an error if the role is not the owner, if a table is locked, or if
// Postgres gives a hint.
func explain(err error) error {
	var rejected *pgconn.PgError
	switch {
	case !errors.As(err, &rejected):
	case rejected.Code == "42501": // insufficient privilege
		return errors.New("this role is not allowed to migrate: use the URL of pingpost_owner, which owns the tables")
	case rejected.Code == lockNotAvailable:
		return errors.New("a long transaction, perhaps a backup, is using a table that the migration has to change: find it in pg_stat_activity, and run the command again when it has ended; no migration was left incomplete")
	case rejected.Hint != "":
		return fmt.Errorf("%w: %s", err, rejected.Hint)
	}
	return err
}

// Latest returns the schema version that this program needs.
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
