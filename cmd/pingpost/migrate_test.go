package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/migrations"
)

// newerSchema migrates a database whose schema is newer than this program, as a future program would
// leave it. The parameters are the settings for the owner of the tables and for a node.
func newerSchema(t *testing.T, owner, app []string) {
	t.Helper()
	known, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	later := fmt.Sprint(known + 1)
	conn := testkit.Connect(t, strings.TrimPrefix(owner[0], "PINGPOST_DATABASE_URL="))
	future := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	future(`INSERT INTO schema_migrations (version_id, is_applied) VALUES ($1, true)`, known+1)
	call(t, "", owner, "migrate", "up").fails(t, 1, later)
	call(t, "", app, "partner", "list").fails(t, 1, later)
	call(t, "", app, "serve").logsFatal(t, later)
	if table := call(t, "", owner, "migrate", "status").ok(t); !strings.Contains(table, "\n"+later+" ") {
		t.Errorf("printed %s", table)
	}

	future(`INSERT INTO schema_requirements (version, oldest_program) VALUES ($1, $2)`, known+1, known)
	if out := call(t, "", owner, "migrate", "up").ok(t); !strings.Contains(out, later) || strings.Contains(out, "applied ") {
		t.Errorf("printed %s", out)
	}
	call(t, "", app, "partner", "list").ok(t)
	future(`DELETE FROM schema_migrations WHERE version_id = $1`, known+1)
	future(`DELETE FROM schema_requirements WHERE version = $1`, known+1)
}
