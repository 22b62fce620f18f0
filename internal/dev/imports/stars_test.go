package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// star matches a * that stands for columns, with the table or the start of the select list.
var star = regexp.MustCompile(`(?i)\b(?:(?:select|returning)\s+(?:distinct\s+)?\*(?:\s+from\s+\w+)?|[a-z_]+\.\*)`)

// allowedStars lists the stars over subqueries that name their columns, by file.
var allowedStars = map[string][]string{
	"internal/leads/deliver_statement.go":  {"SELECT * FROM unnest", "active.*", "SELECT * FROM disclosed"},
	"internal/leads/query_rows.go":         {"one.*"},
	"internal/payouts/balances.go":         {"SELECT * FROM unnest"},
	"internal/payouts/search.go":           {"found.*"},
	"internal/reconcile/run_comparison.go": {"r.*", "SELECT *"}, // a temporary table, and WITH queries
}

// TestSQLNamesColumns checks that the SQL of the service names the columns that it reads. Otherwise a prepared
// statement fails when a migration adds a column to a table while nodes are running.
func TestSQLNamesColumns(t *testing.T) {
	const root = "../../.."
	used := map[string]bool{}
	check := func(file, where, text string) {
		for _, found := range star.FindAllString(text, -1) {
			found = strings.Join(strings.Fields(found), " ")
			if slices.Contains(allowedStars[file], found) {
				used[file+found] = true
				continue
			}
			t.Errorf("%s: name the columns instead of %s, for example with postgres.Columns", where, found)
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		switch {
		case d.IsDir():
			if within(file, excludedPackages) || within(file, []string{".git", "tools", "admin/assets"}) {
				return filepath.SkipDir
			}
		case strings.HasSuffix(file, ".sql"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			check(file, file, string(text))
		case strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
			checkGo(t, path, file, check)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, all := range allowedStars {
		for _, one := range all {
			if !used[file+one] {
				t.Errorf("%s no longer contains %s: remove it from allowedStars", file, one)
			}
		}
	}
}

// checkGo calls the function check with each string in a Go file. It also finds clauses of GORM that return
// all columns.
func checkGo(t *testing.T, path, file string, check func(file, where, text string)) {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				check(file, positions.Position(n.Pos()).String(), text)
			}
		case *ast.CompositeLit:
			if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Returning" && len(n.Elts) == 0 {
				check(file, positions.Position(n.Pos()).String(), "RETURNING *")
			}
		}
		return true
	})
}
