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

// layers contains the layers in docs/explanation/architecture.md. A package may only import packages from
// lower layers and those in sameLayerImports.
var layers = map[string]int{
	"internal/apperr":           0,
	"internal/id":               0,
	"internal/money":            0,
	"internal/clock":            0,
	"internal/scope":            0,
	"internal/journal":          0,
	"internal/clientaddr":       0,
	"internal/aeszip":           0,
	"internal/csvcell":          0,
	"internal/yamldoc":          0,
	"internal/devprogram":       0,
	"internal/pemfile":          0,
	"internal/letters":          0,
	"internal/iso3166":          0,
	"internal/failurelog":       0,
	"internal/suggest":          0,
	"migrations":                0,
	"models":                    1,
	"pricing_rules":             1,
	"internal/quote":            1,
	"internal/signing":          1,
	"internal/envelope":         1,
	"internal/postgres":         1,
	"internal/config":           1,
	"internal/keyring":          1,
	"internal/devpg":            1,
	"internal/devvault":         1,
	"internal/signing/diagnose": 2,
	"internal/audit":            2,
	"internal/authz":            2,
	"internal/ledger":           2,
	"internal/payload":          2,
	"internal/snapshot":         2,
	"internal/transit":          2,
	"internal/blobstore":        2,
	"internal/evidence/pack":    3,
	"internal/leads":            3,
	"internal/jobs":             3,
	"internal/partners":         3,
	"internal/ratecard":         3,
	"internal/staff":            3,
	"internal/httpserver":       4,
	"internal/privacy":          4,
	"internal/reporting":        4,
	"internal/payouts":          4,
	"internal/reconcile":        4,
	"internal/evidence":         5,
	"internal/intake":           5,
	"templates/ui":              5,
	"admin/assets":              5,
	"templates/account":         6,
	"templates/design":          6,
	"templates/disclosures":     6,
	"templates/docs":            6,
	"templates/jobs":            6,
	"templates/leads":           6,
	"templates/login":           6,
	"templates/notes":           6,
	"templates/overview":        6,
	"templates/partners":        6,
	"templates/payouts":         6,
	"templates/pricing":         6,
	"templates/reconciliation":  6,
	"templates/requests":        6,
	"templates/retention":       6,
	"templates/staff":           6,
	"templates":                 7, // contains only tests
	"admin/web":                 6,
	// The console's areas do not import each other.
	"admin/account":        7,
	"admin/audit":          7,
	"admin/disclosures":    7,
	"admin/jobs":           7,
	"admin/leads":          7,
	"admin/login":          7,
	"admin/notes":          7,
	"admin/overview":       7,
	"admin/partners":       7,
	"admin/payouts":        7,
	"admin/pricing":        7,
	"admin/reconciliation": 7,
	"admin/requests":       7,
	"admin/retention":      7,
	"admin/search":         7,
	"admin/staff":          7,
	"api/docs":             7,
	"api":                  8,
	"admin":                8,
	"internal/app":         9,
	"internal/devstack":    9,
	"cmd/pingpost":         10,
}

// excludedPackages are not part of the service: tests, benchmarks and tools.
var excludedPackages = []string{"admin/admintest", "test", "internal/testkit", "internal/browser", "internal/imports",
	"bench", "soak", "docs"}

// sameLayerImports lists the allowed imports between packages in one layer.
var sameLayerImports = map[string][]string{
	"internal/leads":     {"internal/partners", "internal/ratecard"},
	"internal/reconcile": {"internal/payouts"},
}

// allowedImporters lists, for each library, the only packages that may import it.
var allowedImporters = map[string][]string{
	"github.com/gin-gonic/gin":      {"api", "admin", "internal/httpserver", "internal/app"},
	"github.com/casbin/":            {"internal/authz"},
	"github.com/hashicorp/vault/":   {"internal/transit", "internal/devvault"},
	"github.com/a-h/templ":          {"templates", "admin"},
	"github.com/chromedp/":          nil,
	"net/http":                      {"api", "admin", "internal/httpserver", "internal/app", "cmd/pingpost"},
	"net/http/":                     {"internal/app"},
	"github.com/spf13/cobra":        {"cmd/pingpost"},
	"github.com/fergusstrange/":     {"internal/devpg"},
	"github.com/minio/minio-go/":    {"internal/journal"},
	"github.com/pressly/goose":      {"migrations"},
	"github.com/riverqueue/river":   {"internal/jobs", "migrations"},
	"github.com/go-json-experiment": {"internal/payload", "internal/evidence", "api", "api/docs"},
	"github.com/go-jose/":           {"internal/evidence"},
	"go.yaml.in/yaml/v4":            {"internal/yamldoc", "internal/config", "pricing_rules", "api/docs"},
}

// forbiddenImports lists, for each package, the libraries that it must not import.
var forbiddenImports = map[string][]string{
	"api":   {"gorm.io/", "github.com/jackc/", module + "admin"},
	"admin": {"gorm.io/", "github.com/jackc/", module + "api"},
	// Pure: no I/O, no clock, no randomness, no logging.
	"pricing_rules": {"os", "net", "log", "log/slog", "crypto/rand", "math/rand", module + "internal/clock",
		"gorm.io/", "context"},
	"internal/quote": {"os", "net", "log", "log/slog", "crypto/rand", "math/rand", module + "internal/clock",
		"gorm.io/", "context"},
	"internal/signing": {"os", "net", "log", "log/slog", "crypto/rand", "math/rand", module + "internal/clock",
		"gorm.io/", "context"},
	"internal/ledger": {"os", "net", "log", "log/slog", "crypto/rand", "math/rand", module + "internal/clock",
		"gorm.io/", "context"},
	"internal/payload": {"os", "log", "log/slog", "crypto/rand", module + "internal/clock", "gorm.io/", "context"},
	"templates":        {"gorm.io/", "net/http", module + "models"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
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
		if name == path || strings.HasPrefix(name, path+"/") || (strings.HasSuffix(path, "/") && strings.HasPrefix(name, path)) {
			return true
		}
	}
	return false
}

func TestEveryPackageHasLayer(t *testing.T) {
	for _, p := range packages(t) {
		if _, known := layers[p.ImportPath]; !known && !within(p.ImportPath, excludedPackages) {
			t.Errorf("%s has no layer. Add it here and in docs/explanation/architecture.md", p.ImportPath)
		}
	}
}

func TestImportsAreFromLowerLayers(t *testing.T) {
	for _, p := range packages(t) {
		layer, known := layers[p.ImportPath]
		if !known {
			continue
		}
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, module)
			if !ours || within(name, sameLayerImports[p.ImportPath]) {
				continue
			}
			below, known := layers[name]
			if !known {
				t.Errorf("%s imports %s, which is not part of the service", p.ImportPath, name)
			} else if below >= layer {
				t.Errorf("%s (layer %d) must not import %s (layer %d)", p.ImportPath, layer, name, below)
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
		{"time", "Now", []string{"internal/clock"}},
		{"time", "Since", nil},
		{"context", "Background", []string{"cmd/pingpost", "internal/app", "internal/devpg"}},
	}
	for _, p := range packages(t) {
		if within(p.ImportPath, excludedPackages) {
			continue
		}
		files, err := filepath.Glob(filepath.Join("../..", p.ImportPath, "*.go"))
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
