package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/models"
)

// TestAuditObjects checks that auditObjects contains every kind of object that the code writes, and no other.
func TestAuditObjects(t *testing.T) {
	t.Parallel()
	written := map[string]string{ // with the position in the code
		string(models.JobPayoutRun): "jobs", string(models.JobExport): "jobs", string(models.JobReconciliation): "jobs",
		string(models.JobReplay): "jobs", string(models.JobRetentionRun): "jobs",
	}
	files := token.NewFileSet()
	for _, dir := range []string{"internal", "admin", "api", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if kind, err := strconv.Unquote(kindIn(n)); err == nil && !strings.Contains(kind, ".") { // an action
					written[kind] = files.Position(n.Pos()).String()
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range auditObjects {
		if written[o.kind] == "" {
			t.Errorf("no code writes objects of the kind %q", o.kind)
		}
		delete(written, o.kind)
	}
	for kind, position := range written {
		t.Errorf("%s: auditObjects does not contain the kind %q", position, kind)
	}
}

// kindIn returns the quoted kind of object in an audit event, or in a call of a function auditChange.
func kindIn(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if event, ok := n.Type.(*ast.SelectorExpr); !ok || event.Sel.Name != "Event" {
			return ""
		}
		for _, e := range n.Elts {
			if field, ok := e.(*ast.KeyValueExpr); ok && field.Key.(*ast.Ident).Name == "Kind" {
				return literal(field.Value)
			}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "auditChange" && len(n.Args) > 2 {
			return literal(n.Args[2])
		}
	}
	return ""
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		return l.Value
	}
	return ""
}
