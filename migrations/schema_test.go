package migrations_test

import (
	"path/filepath"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// baseline is the newest migration of the initial release. Every later migration must declare the oldest program that
// works after it.
const baseline = 16

// latest returns the newest migration of this program.
func latest(t *testing.T) int64 {
	t.Helper()
	v, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// migrationFiles returns the names of the SQL migrations. Their versions can have gaps.
func migrationFiles(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d files (%v)", len(names), err)
	}
	return names
}

func TestMigrationsDeclareTheOldestProgram(t *testing.T) {
	for _, name := range migrationFiles(t) {
		version, oldest, err := migrations.Declaration(name)
		if err != nil {
			t.Error(err)
		}
		if version > baseline && (oldest < 1 || oldest > version) {
			t.Errorf("%s needs a line `-- oldest program: N`: N is the newest migration of the oldest program that still works after it, or %d if none does",
				name, version)
		}
	}
}

// The service can read what migrations declare, also what a newer program has declared.
func TestUpWritesDeclarations(t *testing.T) {
	d := testkit.NewEmptyDatabase(t)
	owner := openOwner(t, d)
	if _, err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	app := testkit.Connect(t, d.AppURL)
	declared := func(version int64) int64 {
		t.Helper()
		return value[int64](t, app, `SELECT coalesce(max(oldest_program), 0) FROM schema_requirements WHERE version = $1`, version)
	}
	for _, name := range migrationFiles(t) {
		version, oldest, err := migrations.Declaration(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := declared(version); got != oldest {
			t.Errorf("%s: got %d, want %d", name, got, oldest)
		}
	}
	if err := migrations.UpWith(t.Context(), owner, "-- oldest program: 16\n-- +goose Up\nSELECT 1;"); err != nil {
		t.Fatal(err)
	}
	if got := declared(99999); got != 16 {
		t.Errorf("the newer program declares %d, want 16", got)
	}
	want := migrations.Schema{Version: 99999, OldestProgram: 16}
	if s, err := migrations.ReadSchema(t.Context(), owner); err != nil || s != want {
		t.Errorf("got %+v (%v), want %+v", s, err, want)
	}
}

// A future program has applied migrations that this program does not know.
func TestNewerSchema(t *testing.T) {
	known := latest(t)
	type future struct{ version, oldest int64 }
	const undeclared = 0
	for name, c := range map[string]struct {
		applied []future
		oldest  int64
		works   bool
	}{
		"this program's schema":           {nil, 0, true},
		"works with this program":         {[]future{{known + 1, known}}, known, true},
		"works with older programs":       {[]future{{known + 3, 1}, {known + 5, known - 1}}, known - 1, true},
		"needs a newer program":           {[]future{{known + 1, known + 1}}, known + 1, false},
		"the newest one needs less":       {[]future{{known + 1, known + 1}, {known + 2, known}}, known + 1, false},
		"declares nothing":                {[]future{{known + 2, undeclared}}, known + 2, false},
		"an earlier one declares nothing": {[]future{{known + 1, undeclared}, {known + 2, known}}, known + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := testkit.NewDatabaseURLs(t)
			owner := openOwner(t, d)
			want := migrations.Schema{Version: known, OldestProgram: c.oldest}
			for _, one := range c.applied {
				d.Exec(t, `INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, one.version)
				if one.oldest != undeclared {
					d.Exec(t, `INSERT INTO schema_requirements (version, oldest_program) VALUES ($1, $2)`, one.version, one.oldest)
				}
				want.Version = one.version
			}
			// A migration that was undone declares nothing.
			d.Exec(t, `INSERT INTO schema_requirements (version, oldest_program) VALUES ($1, $1)`, known+9)

			s, err := migrations.ReadSchema(t.Context(), owner)
			if err != nil || s != want {
				t.Errorf("got %+v (%v), want %+v", s, err, want)
			}
			if err := s.Check(); (err == nil) != c.works || s.IsNewer() != (c.applied != nil) {
				t.Errorf("got %v, and newer %t", err, s.IsNewer())
			}
			if names, err := migrations.Up(t.Context(), owner); (err == nil) != c.works || len(names) != 0 {
				t.Errorf("applied %v (%v)", names, err)
			}
			steps, err := migrations.Status(t.Context(), owner)
			if err != nil {
				t.Fatal(err)
			}
			for i, one := range steps[len(steps)-len(c.applied):] {
				if one != (migrations.Step{Version: c.applied[i].version, Applied: true}) {
					t.Errorf("got the unknown migration %+v, want %d", one, c.applied[i].version)
				}
			}
		})
	}
}

// If a future program has removed the declarations, older programs do not work.
func TestNewerSchemaWithoutTableOfDeclarations(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	d.Exec(t, `INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, latest(t)+1)
	d.Exec(t, `DROP TABLE schema_requirements`)
	s, err := testkit.Open(t, d.AppURL).Inspect(t.Context())
	if err != nil || s.CheckSchema() == nil {
		t.Errorf("got %+v (%v)", s, err)
	}
}
