package migrations

import (
	"context"
	"database/sql"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"
)

// RiverSchema is where River keeps its tables, apart from ours.
const RiverSchema = "river"

const (
	riverStep = 12
	riverName = "00012_river.go"
	// riverVersion is the version of River's own schema that this program works with. A
	// newer River brings its next versions in a step of their own. Version 8 changes
	// nothing in Postgres and has none.
	riverVersion = 7
)

// riverTables is River's queue of background work, made by River's own migrations. They
// need a transaction each, so that the step has none: broken off, it goes on where it was.
func riverTables() *goose.Migration {
	up := func(ctx context.Context, db *sql.DB) error {
		if _, err := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS river; REVOKE ALL ON SCHEMA river FROM PUBLIC`); err != nil {
			return err
		}
		if err := migrateRiver(ctx, db); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, `
			GRANT USAGE ON SCHEMA river TO pingpost_app;
			GRANT SELECT, INSERT, UPDATE, DELETE ON river.river_job, river.river_leader, river.river_queue, river.river_notification TO pingpost_app;
			GRANT USAGE ON ALL SEQUENCES IN SCHEMA river TO pingpost_app`)
		return err
	}
	down := func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, `DROP SCHEMA river CASCADE`)
		return err
	}
	return goose.NewGoMigration(riverStep, &goose.GoFunc{RunDB: up}, &goose.GoFunc{RunDB: down})
}

// migrateRiver applies the versions of River's schema that are missing.
func migrateRiver(ctx context.Context, db *sql.DB) error {
	m, err := rivermigrate.New(riverdatabasesql.New(db), &rivermigrate.Config{Schema: RiverSchema})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
	return err
}

// nameOf is a step's: goose knows none of those that are not files.
func nameOf(source *goose.Source) string {
	if source.Version == riverStep {
		return riverName
	}
	return source.Path
}
