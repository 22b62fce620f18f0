package migrations

import (
	"context"
	"database/sql"
	"io/fs"
	"strings"
	"testing/fstest"
)

// Explain exports explain for tests.
var Explain = explain

// Declaration returns the version of an SQL migration and the oldest program that it declares.
func Declaration(name string) (version, oldest int64, err error) { return declaration(files, name) }

// UpWith applies the pending migrations, and then one more with the given text, which may be indented.
func UpWith(ctx context.Context, db *sql.DB, text string) error {
	sources := fstest.MapFS{"99999_next.sql": {Data: []byte(strings.ReplaceAll(text, "\t", ""))}}
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sources[name] = &fstest.MapFile{Data: data}
	}
	_, err = up(ctx, db, sources)
	return err
}
