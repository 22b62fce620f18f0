package migrations_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/testkit"
)

// docs/reference/personal-data.md lists every column with text or bytes once, so that a new one cannot be
// added without deciding whether it can hold personal data.
func TestPersonalDataPageListsAllColumns(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/personal-data.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, m := range regexp.MustCompile("`([a-z_]+\\.[a-z_0-9]+)`").FindAllSubmatch(page, -1) {
		listed[string(m[1])]++
	}
	for _, setting := range []string{"retention.pings_days", "retention.exports_days"} {
		delete(listed, setting)
	}
	conn := testkit.Connect(t, testkit.NewDatabaseURLs(t).OwnerURL)
	rows, err := conn.Query(t.Context(), `
		SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> $1
			AND a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'bytea'::regtype, 'bytea[]'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text[]'::regtype, 'inet'::regtype, 'xml'::regtype)`, goosesTable)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range columns {
		if listed[column] != 1 {
			t.Errorf("%s is listed %d times, want once", column, listed[column])
		}
		delete(listed, column)
	}
	for column := range listed {
		t.Errorf("%s is listed, but is not a column with text or bytes", column)
	}
}
