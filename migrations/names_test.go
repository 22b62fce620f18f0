package migrations_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

var (
	comment     = regexp.MustCompile(`--.*`)
	constraint  = regexp.MustCompile(`(PRIMARY KEY|UNIQUE|CHECK|REFERENCES)\b`)
	named       = regexp.MustCompile(`(CONSTRAINT\s+[a-z_]+\s+|FOREIGN KEY\s+\([a-z_, ]+\)\s+|CREATE\s+)$`)
	index       = regexp.MustCompile(`CREATE\s+(UNIQUE\s+)?INDEX\s+(?:CONCURRENTLY\s+)?(\S+\s+)?ON\b`)
	byPostgres  = regexp.MustCompile(`_(check|idx|excl|not_null)\d*$|_(key|fkey|pkey)\d+$`)
	goosesTable = "schema_migrations"
)

// Constraints and indexes need explicit names, because packages map violations to errors by name.
// Names that Postgres chooses differ between versions.
func TestConstraintsAndIndexesAreNamedInTheSource(t *testing.T) {
	files, err := filepath.Glob("*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files (%v)", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := comment.ReplaceAllString(string(raw), "")
		found := 0
		for _, at := range constraint.FindAllStringIndex(text, -1) {
			if found++; !named.MatchString(text[:at[0]]) {
				t.Errorf("%s: constraint without a name: …%s", file, strings.TrimSpace(text[max(0, at[0]-60):at[1]+20]))
			}
		}
		for _, m := range index.FindAllStringSubmatch(text, -1) {
			if found++; m[2] == "" {
				t.Errorf("%s: index without a name: %s", file, m[0])
			}
		}
		if found == 0 && strings.Contains(text, "CREATE TABLE") {
			t.Errorf("%s: found no constraint or index, so the patterns no longer match", file)
		}
	}
}

// Names start with the name of the table, so that the table is clear from an error. Postgres chooses
// the names in partitions, which also start with the name of the table.
func TestConstraintsAndIndexesAreNamedAfterTheirTable(t *testing.T) {
	d := testkit.NewDatabaseURLs(t)
	conn := testkit.Connect(t, d.OwnerURL)
	exec(t, conn, `SELECT create_partitions('{pings}', 'day', '2026-01-02', '2026-01-03')`)
	rows, err := conn.Query(t.Context(), `
		WITH named (table_id, name) AS (
			SELECT conrelid, conname FROM pg_constraint WHERE contype <> 'n'
			UNION SELECT indrelid, relname FROM pg_index JOIN pg_class ON oid = indexrelid)
		SELECT relname, name FROM named JOIN pg_class ON oid = table_id
		WHERE relnamespace = 'public'::regnamespace AND NOT relispartition`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var table, name string
		if err := rows.Scan(&table, &name); err != nil {
			t.Fatal(err)
		}
		if table == goosesTable {
			continue
		}
		if n++; !strings.HasPrefix(name, table+"_") || byPostgres.MatchString(name) {
			t.Errorf("%s has a constraint or index named %s", table, name)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 40 {
		t.Errorf("found only %d names", n)
	}
}
