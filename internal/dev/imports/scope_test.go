package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unscoped lists the methods of partners.Service that rely on the scope with which the caller found the
// partner. Other methods that take a partner or a secret must check the scope themselves.
var unscoped = []string{"Accounts", "LeadsToday", "PriceProposal", "Pricing"}

// TestPartnerMethodsTakeScope checks that the methods for a partner and its secrets take a scope after the
// context, so that no caller can use them for a partner that the user may not see.
func TestPartnerMethodsTakeScope(t *testing.T) {
	files, err := filepath.Glob("../../partners/*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked, used := 0, map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			types := parameterTypes(f)
			if !slices.Contains(types, "models.Partner") && !slices.Contains(types, "models.SigningSecret") {
				continue
			}
			checked++
			scoped := len(types) > 1 && types[0] == "context.Context" && types[1] == "scope.Scope"
			if listed := slices.Contains(unscoped, f.Name.Name); listed {
				used[f.Name.Name] = true
			} else if !scoped {
				t.Errorf("%s in %s must take a scope.Scope after the context", f.Name.Name, filepath.Base(file))
			}
		}
	}
	if len(used) != len(unscoped) {
		t.Errorf("remove the methods from unscoped that no longer exist: found only %v", used)
	}
	if checked < 15 {
		t.Errorf("checked only %d methods", checked)
	}
}

// parameterTypes returns the types from other packages in a function's parameters, such as "scope.Scope".
func parameterTypes(f *ast.FuncDecl) (types []string) {
	for _, p := range f.Type.Params.List {
		name := ""
		if s, ok := p.Type.(*ast.SelectorExpr); ok {
			if pkg, ok := s.X.(*ast.Ident); ok {
				name = pkg.Name + "." + s.Sel.Name
			}
		}
		types = append(types, name)
	}
	return types
}
