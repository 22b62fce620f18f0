package migrations

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"
)

// RiverSchema is the database schema that contains the tables of River, the job queue.
const RiverSchema = "river"

const (
	riverStep = 12
	riverName = "00012_river.go"
	// riverVersion is the version of River's tables that this program needs. To move to a newer
	// version, add a migration. Version 8 is not needed, because it changes nothing in Postgres.
	riverVersion = 7
)

// riverTables returns the migration that creates the tables of River, the job queue. It does not run in
// a transaction, because each of River's own migrations needs a separate transaction. If it is
// interrupted, the next attempt continues where it stopped.
func riverTables() *goose.Migration {
	up := func(ctx context.Context, db *sql.DB) error {
		if _, err := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS river; REVOKE ALL ON SCHEMA river FROM PUBLIC`); err != nil {
			return err
		}
		return migrateRiver(ctx, db)
	}
	return goose.NewGoMigration(riverStep, &goose.GoFunc{RunDB: up}, nil)
}

func migrateRiver(ctx context.Context, db *sql.DB) error {
	m, err := rivermigrate.New(riverdatabasesql.New(db), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
	return err
}

// nameOf returns the file name of a migration. goose does not know the names of Go migrations.
func nameOf(source *goose.Source) string {
	if source.Version == riverStep {
		return riverName
	}
	return source.Path
}
