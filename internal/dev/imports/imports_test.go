// Package imports enforces the architecture's rules for imports between packages. It checks only
// direct imports.
package imports

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pingpost/pingpost/"

// rows are the rows of the picture in docs/explanation/architecture.md, the lowest first. A package may import packages
// of its own folder and of folders in lower rows.
var rows = [][]string{
	{"internal/base", "migrations", "models"},
	{"internal/platform", "pricing_rules"},
	{"internal/protocol"},
	{"internal/ledger", "internal/partners", "internal/ratecard", "internal/reporting", "internal/staff"},
	{"internal/leads"},
	{"internal/erasure", "internal/intake", "internal/payouts"},
	{"internal/consents", "internal/reconcile", "internal/retention", "internal/reveal"},
	{"internal/evidence", "internal/notes", "internal/requests"},
	{"templates"},
	{"admin", "api"},
	{"internal/app"},
	{"cmd/pingpost"},
}

// sharedPackages lists, for each folder of areas, the packages that all areas use. Areas do not import each other.
var sharedPackages = map[string][]string{
	"admin":     {"admin/assets", "admin/web"},
	"templates": {"templates/ui"},
}

// excludedPackages are not part of the service: tests, benchmarks, tools, and what development needs.
var excludedPackages = []string{"admin/admintest", "bench", "docs", "internal/dev", "soak", "test"}

// devImporters are the only packages of the service that may import internal/dev, for the command pingpost dev.
var devImporters = []string{"cmd/pingpost"}

// allowedImporters lists, for each library, the only packages that may import it.
var allowedImporters = map[string][]string{
	"github.com/gin-gonic/gin":    {"api", "admin", "internal/platform/httpserver", "internal/app"},
	"github.com/casbin/":          {"internal/platform/authz"},
	"github.com/hashicorp/vault/": {"internal/platform/keys/transit"},
	"github.com/a-h/templ":        {"templates", "admin"},
	"github.com/chromedp/":        nil,
	"net/http": {
		"api", "admin", "internal/platform/httpserver", "internal/platform/tracing", "internal/app", "cmd/pingpost",
	},
	"net/http/":                     {"internal/app"},
	"go.opentelemetry.io/":          {"internal/platform/tracing", "internal/platform/httpserver"},
	"github.com/spf13/cobra":        {"cmd/pingpost"},
	"github.com/fergusstrange/":     nil,
	"github.com/minio/minio-go/":    {"internal/platform/journal"},
	"github.com/pressly/goose":      {"migrations"},
	"github.com/riverqueue/river":   {"internal/platform/jobs", "migrations"},
	"github.com/go-json-experiment": {"internal/protocol/payload", "internal/evidence", "api", "api/docs"},
	"github.com/go-jose/":           {"internal/evidence"},
	"go.yaml.in/yaml/v4":            {"internal/base/yamldoc", "internal/platform/config", "pricing_rules", "api/docs"},
}

const clock = module + "internal/base/clock"

// impure lists what pure packages must not import: I/O, the clock, randomness and logging.
var impure = []string{"os", "net", "log", "log/slog", "crypto/rand", "math/rand", clock, "gorm.io/", "context"}

// forbiddenImports lists, for each package, the libraries that it must not import.
var forbiddenImports = map[string][]string{
	"api":                       {"gorm.io/", "github.com/jackc/", module + "admin"},
	"admin":                     {"gorm.io/", "github.com/jackc/", module + "api"},
	"pricing_rules":             impure,
	"internal/protocol/quote":   impure,
	"internal/protocol/signing": impure,
	"internal/ledger":           impure,
	"internal/protocol/payload": {"os", "log", "log/slog", "crypto/rand", clock, "gorm.io/", "context"},
	"templates":                 {"gorm.io/", "net/http", module + "models"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module)
		all = append(all, p)
	}
}

// within reports whether a package is in the list or below a path in the list.
func within(name string, list []string) bool {
	for _, path := range list {
		if name == path || strings.HasPrefix(name, path+"/") ||
			(strings.HasSuffix(path, "/") && strings.HasPrefix(name, path)) {
			return true
		}
	}
	return false
}

// place returns the folder in rows that contains a package, and the index of its row.
func place(name string) (folder string, row int, found bool) {
	for row, folders := range rows {
		for _, folder := range folders {
			if within(name, []string{folder}) {
				return folder, row, true
			}
		}
	}
	return "", 0, false
}

func TestImportsAreFromLowerRows(t *testing.T) {
	for _, p := range packages(t) {
		if within(p.ImportPath, excludedPackages) {
			continue
		}
		folder, row, known := place(p.ImportPath)
		if !known {
			t.Errorf("%s has no row. Add its folder here and in docs/explanation/architecture.md", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			name, inModule := strings.CutPrefix(imported, module)
			if !inModule || within(name, []string{"internal/dev"}) && within(p.ImportPath, devImporters) {
				continue
			}
			importedFolder, importedRow, known := place(name)
			shared, areas := sharedPackages[folder]
			switch {
			case !known || within(name, excludedPackages):
				t.Errorf("%s imports %s, which is not part of the service", p.ImportPath, name)
			case importedFolder != folder && importedRow >= row:
				t.Errorf("%s must not import %s, which is not in a lower row", p.ImportPath, name)
			case importedFolder == folder && areas && p.ImportPath != folder && !within(name, shared):
				t.Errorf("%s must not import %s, which is another area", p.ImportPath, name)
			}
		}
	}
}

func TestLibraryImports(t *testing.T) {
	for _, p := range packages(t) {
		if within(p.ImportPath, excludedPackages) {
			continue
		}
		for _, imported := range p.Imports {
			for library, users := range allowedImporters {
				if matches(imported, library) && !within(p.ImportPath, users) {
					t.Errorf("%s imports %s, which only %s may import", p.ImportPath, imported, strings.Join(users, ", "))
				}
			}
			part, _, _ := strings.Cut(p.ImportPath, "/")
			for _, banned := range slices.Concat(forbiddenImports[p.ImportPath], forbiddenImports[part]) {
				if matches(imported, banned) {
					t.Errorf("%s must not import %s", p.ImportPath, imported)
				}
			}
		}
	}
}

// matches treats a pattern that ends with a slash as a prefix. "net/http" and other packages in
// the standard library match exactly. A module matches all of its packages.
func matches(imported, pattern string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(imported, pattern) && imported != "net/http/"
	}
	return imported == pattern || (strings.Contains(pattern, ".") && strings.HasPrefix(imported, pattern+"/"))
}

// TestForbiddenCalls checks that code gets the time from package clock and contexts from its
// caller.
func TestForbiddenCalls(t *testing.T) {
	rules := []struct {
		pkg, fn string
		allowed []string
	}{
		{"time", "Now", []string{"internal/base/clock"}},
		{"time", "Since", nil},
		{"context", "Background", []string{"cmd/pingpost", "internal/app"}},
	}
	for _, p := range packages(t) {
		if within(p.ImportPath, excludedPackages) {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../../..", p.ImportPath, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
					t.Errorf("%s has an init function. Use an explicit call instead", p.ImportPath)
				}
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, ok := call.X.(*ast.Ident)
				for _, rule := range rules {
					if ok && of.Name == rule.pkg && call.Sel.Name == rule.fn && !within(p.ImportPath, rule.allowed) {
						t.Errorf("%s must not use %s.%s", p.ImportPath, rule.pkg, rule.fn)
					}
				}
				return true
			})
		}
	}
}
