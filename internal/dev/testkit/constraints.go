package testkit

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// CheckConstraints checks that each name in the map known is a constraint, index or trigger in the
// schema. If a name is not, CheckConstraints fails the test, because the error for this name could
// never be returned.
func CheckConstraints(t *testing.T, known postgres.Constraints) {
	t.Helper()
	d := NewDatabase(t)
	rows, err := d.Pool.Query(t.Context(), `SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION SELECT indexname FROM pg_indexes WHERE schemaname = 'public' UNION SELECT tgname FROM pg_trigger`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(known) == 0 {
		t.Error("no constraints to check")
	}
	for name := range known {
		if !slices.Contains(names, name) {
			t.Errorf("the schema has no constraint, index or trigger named %s", name)
		}
	}
}
