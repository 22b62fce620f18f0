package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/pressly/goose/v3"
)

// Schema is the state of a database's schema. A program is identified by the newest migration that it
// contains, which is its schema version.
type Schema struct {
	Version       int64 // the newest migration applied
	OldestProgram int64 // the oldest program that works with the schema; 0 if the schema is not newer than this program
}

// ReadSchema reads the state of the schema. For each of its migrations, a newer program has declared in
// schema_requirements the oldest program that still works. If a declaration is missing, ReadSchema assumes
// that no older program works.
func ReadSchema(ctx context.Context, db *sql.DB) (s Schema, err error) {
	known, err := Latest()
	if err != nil {
		return s, err
	}
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+versionTable+` WHERE is_applied`).
		Scan(&s.Version)
	if err != nil || s.Version <= known {
		return s, err
	}
	s.OldestProgram = s.Version
	err = db.QueryRowContext(ctx, `SELECT max(coalesce(r.oldest_program, m.version_id)) FROM `+versionTable+` m
		LEFT JOIN schema_requirements r ON r.version = m.version_id
		WHERE m.is_applied AND m.version_id > $1`, known).Scan(&s.OldestProgram)
	return s, err
}

// IsNewer reports whether the schema has migrations that are newer than this program's.
func (s Schema) IsNewer() bool { return s.OldestProgram > 0 }

// Check returns an error if this program does not work with the schema. The error tells operators what
// to do.
func (s Schema) Check() error {
	known, err := Latest()
	switch {
	case err != nil:
		return err
	case s.Version < known:
		return fmt.Errorf("the schema has version %d, but this program needs %d: run `pingpost migrate up` with the owner's URL",
			s.Version, known)
	case s.OldestProgram > known:
		return fmt.Errorf("the schema has version %d, which needs a program with migration %d, but this program has only %d: upgrade this program",
			s.Version, s.OldestProgram, known)
	}
	return nil
}

// oldestProgram matches the line in which a migration declares the oldest program that works after it.
var oldestProgram = regexp.MustCompile(`(?m)^-- oldest program: (\d+)$`)

// declare writes the declarations of all migrations to schema_requirements, if the table exists and the
// schema is not newer than this program. A newer program may have corrected a declaration.
func declare(ctx context.Context, db *sql.DB, sources fs.FS) error {
	var exists bool
	err := db.QueryRowContext(ctx, `SELECT to_regclass('schema_requirements') IS NOT NULL`).Scan(&exists)
	if err != nil || !exists {
		return err
	}
	if schema, err := ReadSchema(ctx, db); err != nil || schema.IsNewer() {
		return err
	}
	declared, err := declarations(sources)
	if err != nil {
		return err
	}
	for version, oldest := range declared {
		_, err = db.ExecContext(ctx, `INSERT INTO schema_requirements (version, oldest_program) VALUES ($1, $2)
			ON CONFLICT (version) DO UPDATE SET oldest_program = excluded.oldest_program`, version, oldest)
		if err != nil {
			return err
		}
	}
	return nil
}

// OldestProgram returns the oldest program that works with this program's schema.
func OldestProgram() (oldest int64, err error) {
	declared, err := declarations(files)
	for _, program := range declared {
		oldest = max(oldest, program)
	}
	return oldest, err
}

// declarations returns the oldest programs that the migrations declare, by the migration's version.
func declarations(sources fs.FS) (map[int64]int64, error) {
	names, err := fs.Glob(sources, "*.sql")
	if err != nil {
		return nil, err
	}
	declared := map[int64]int64{}
	for _, name := range names {
		version, oldest, err := declaration(sources, name)
		if err != nil {
			return nil, err
		}
		if oldest != 0 {
			declared[version] = oldest
		}
	}
	return declared, nil
}

// declaration returns a migration's version and the oldest program that it declares, or 0 if it
// declares none.
func declaration(sources fs.FS, name string) (version, oldest int64, err error) {
	if version, err = goose.NumericComponent(name); err != nil {
		return 0, 0, err
	}
	text, err := fs.ReadFile(sources, name)
	if err != nil {
		return 0, 0, err
	}
	if found := oldestProgram.FindSubmatch(text); found != nil {
		oldest, err = strconv.ParseInt(string(found[1]), 10, 64)
	}
	return version, oldest, err
}
