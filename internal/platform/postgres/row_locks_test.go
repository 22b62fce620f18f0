package postgres_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// postTables are the tables into which a post inserts rows.
const postTables = `'{leads,lead_keys,consents,disclosures,disclosure_uses,ledger_entries,lead_events}'::text[]`

// rowLocks lists the Go files and SQL functions that lock rows with FOR UPDATE, and the tables of these
// rows. FOR UPDATE blocks inserts of rows that reference the locked row. A post must not wait for such a
// lock, so the tables of posts do not refer to these tables.
var rowLocks = map[string]string{
	"function drop_reconciliation_lines":      "reconciliations",
	"function erase_leads":                    "erasure_entries",
	"function release_payout_run":             "payout_runs",
	"internal/erasure/exports.go":             "files", // the transaction then deletes these rows
	"internal/notes/notes.go":                 "files", // likewise
	"internal/requests/export.go":             "files", // likewise
	"internal/requests/steps.go":              "privacy_requests",
	"internal/platform/audit/rejections.go":   "rejection_counts",
	"internal/platform/jobs/rescue.go":        "jobs",
	"internal/platform/jobs/run_now.go":       "jobs",
	"internal/leads/retention.go":             "lead_keys", // no table references it, and locked rows are skipped
	"internal/payouts/adjustments.go":         "adjustments",
	"internal/payouts/returns.go":             "returns",
	"internal/payouts/run_state.go":           "payout_runs",
	"internal/platform/postgres/retention.go": "traffic_minutes",
	"internal/ratecard/drafts.go":             "rate_cards",
	"internal/ratecard/publish.go":            "rate_cards",
	"internal/reconcile/compare.go":           "reconciliations",
	"internal/staff/staff.go":                 "staff",
}

// Rows of tables that posts reference are locked with FOR NO KEY UPDATE.
func TestRowLocks(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	got := functionsWithRowLocks(t, d)
	for _, folder := range []string{"internal", "admin", "api", "cmd"} {
		err := filepath.WalkDir(filepath.Join("../../..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() == "node_modules" || entry.Name() == "testkit" {
				return fs.SkipDir
			}
			if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && locksRows(t, path) {
				got = append(got, strings.TrimPrefix(path, "../../../"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(rowLocks)); !slices.Equal(got, want) {
		t.Errorf("FOR UPDATE is in\n%v\nwant\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// locksRows reports whether a string in a Go file is a row lock that blocks references, in SQL or for GORM.
func locksRows(t *testing.T, path string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			sql, err := strconv.Unquote(text.Value)
			found = found || err == nil && (sql == "UPDATE" || strings.Contains(sql, "FOR UPDATE") || strings.Contains(sql,
				"LOCK TABLE"))
		}
		return true
	})
	return found
}

func functionsWithRowLocks(t *testing.T, d *testkit.Database) []string {
	t.Helper()
	return testkit.Value[[]string](t, d, `SELECT array_agg('function ' || proname) FROM pg_proc
		WHERE pronamespace = 'public'::regnamespace AND prosrc ~* 'FOR UPDATE|LOCK TABLE'`)
}

// An update of a key column, or a deletion, locks a row like FOR UPDATE. The service's role cannot do either
// in tables that posts reference.
func TestServiceCannotChangeKeysThatPostsReference(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	referenced := testkit.Value[[]string](t, d, `SELECT array_agg(DISTINCT confrelid::regclass::text ORDER BY confrelid::regclass::text)
		FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text = ANY (`+postTables+`)`)
	if want := []string{"partners", "staff"}; !slices.Equal(referenced, want) { // staff only when a text is replaced
		t.Errorf("the tables of posts reference %v, want %v", referenced, want)
	}
	for _, table := range []string{"partners", "accounts", "signing_secrets"} {
		if testkit.Value[bool](t, d, `SELECT has_table_privilege('pingpost_app', $1, 'DELETE')`, table) {
			t.Errorf("the service can delete rows of %s", table)
		}
	}
	keys := testkit.Value[[]string](t, d, `SELECT coalesce(array_agg(a.attname::text), '{}') FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
		WHERE i.indrelid = 'partners'::regclass AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
			AND has_column_privilege('pingpost_app', i.indrelid, a.attnum, 'UPDATE')`)
	if len(keys) > 0 {
		t.Errorf("the service can change the key columns %v of partners", keys)
	}
}
