package migrations_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// columnsSQL selects the columns that are neither numbers, booleans, times, durations or UUIDs, nor
// arrays of these.
const columnsSQL = `
	SELECT CASE relnamespace WHEN 'public'::regnamespace THEN '' ELSE relnamespace::regnamespace || '.' END || relname || '.' || attname
	FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
		JOIN pg_type t ON t.oid = atttypid JOIN pg_type element ON element.oid = CASE t.typcategory WHEN 'A' THEN t.typelem ELSE t.oid END
	WHERE relnamespace IN ('public'::regnamespace, 'river'::regnamespace) AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> $1
		AND element.typcategory NOT IN ('N', 'B', 'D', 'T') AND element.oid <> 'uuid'::regtype`

// docs/reference/personal-data.md lists each of these columns once, so that a new one cannot be added
// without deciding whether it can hold personal data.
func TestPersonalDataPageListsAllColumns(t *testing.T) {
	page, err := os.ReadFile("../docs/reference/personal-data.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, m := range regexp.MustCompile("`((?:[a-z_]+\\.)+[a-z_0-9]+)`").FindAllSubmatch(page, -1) {
		if name := string(m[1]); !strings.HasPrefix(name, "retention.") && !strings.HasPrefix(name, "console.") { // settings
			listed[name]++
		}
	}
	conn := testkit.Connect(t, testkit.NewDatabaseURLs(t).OwnerURL)
	rows, err := conn.Query(t.Context(), columnsSQL, goosesTable)
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
		t.Errorf("%s is listed, but is not a column of one of these types", column)
	}
}
