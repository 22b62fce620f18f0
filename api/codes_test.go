package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// parseGo returns the Go files in a folder, without its tests.
func parseGo(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// constantsOf returns the values of the string constants that a package declares with the given type.
func constantsOf(t *testing.T, folder, name string) (values []string) {
	t.Helper()
	for _, file := range parseGo(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == name {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, value)
			}
			return true
		})
	}
	return values
}

// Each list of codes in the document has exactly the codes that the service can send, each with a cause,
// a fix and an example.
func TestListsOfCodes(t *testing.T) {
	schemas := loadDocument(t).Components.Schemas
	for name, c := range map[string]struct{ folder, constants string }{
		"FieldCode":   {"../internal/base/apperr", "FieldCode"},
		"JSONReason":  {"../internal/protocol/payload", "JSONReason"},
		"WarningCode": {"../internal/protocol/payload", "WarningCode"},
	} {
		values := valuesOf(schemas[name])
		got, want := slices.Sorted(maps.Keys(values)), slices.Sorted(slices.Values(constantsOf(t, c.folder, c.constants)))
		if !slices.Equal(got, want) {
			t.Errorf("%s: the document has %v, the service %v", name, got, want)
		}
		for code, value := range values {
			if value["cause"] == "" || value["fix"] == "" || value["example"] == nil {
				t.Errorf("%s %s has no cause, no fix or no example", name, code)
			}
		}
	}
}

func valuesOf(schema *openapi3.SchemaRef) map[string]map[string]any {
	values := map[string]map[string]any{}
	for code, value := range schema.Value.Extensions["x-values"].(map[string]any) {
		values[code] = value.(map[string]any)
	}
	return values
}

// Each public code is in the document's list and in an example of an error. The list and the examples contain no other
// codes.
func TestErrorCodes(t *testing.T) {
	doc := loadDocument(t)
	codes := slices.Sorted(slices.Values(constantsOf(t, "../internal/base/apperr", "PublicCode")))
	var listed []string
	for _, code := range doc.Components.Schemas["ErrorCode"].Value.Extensions["x-extensible-enum"].([]any) {
		listed = append(listed, code.(string))
	}
	inExamples := map[string]bool{}
	for _, example := range doc.Components.Examples {
		inExamples[example.Value.Value.(map[string]any)["code"].(string)] = true
	}
	slices.Sort(listed)
	if got := slices.Sorted(maps.Keys(inExamples)); !slices.Equal(listed, codes) || !slices.Equal(got, codes) {
		t.Errorf("got %v in the list and %v in the examples, want %v", listed, got, codes)
	}
}

// Reasons and currencies are open lists. Generated clients would reject new values if the lists were enums.
func TestOpenLists(t *testing.T) {
	schemas := loadDocument(t).Components.Schemas
	for name, schema := range map[string]*openapi3.Schema{
		"reason":   schemas["Declined"].Value.Properties["reason"].Value,
		"currency": schemas["Currency"].Value,
	} {
		if values, _ := schema.Extensions["x-extensible-enum"].([]any); len(values) == 0 || schema.Enum != nil {
			t.Errorf("%s: got the open list %v and the enum %v", name, values, schema.Enum)
		}
	}
}

// Each error that the packages of the partner API declare has a public code. Without one, the response
// would contain internal_error.
func TestDeclaredErrorsHaveAPublicCode(t *testing.T) {
	for _, folder := range []string{
		".", "../internal/intake", "../internal/protocol/payload", "../internal/protocol/signing",
	} {
		for _, file := range parseGo(t, folder) {
			coded := map[ast.Node]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if f.Sel.Name == "WithPublicCode" {
					coded[f.X] = true
				}
				from, ok := f.X.(*ast.Ident)
				if !ok || from.Name != "apperr" || f.Sel.Name != "New" && f.Sel.Name != "Wrap" && f.Sel.Name != "AtField" {
					return true
				}
				if internal := isInternal(call.Args); coded[call] == internal {
					t.Errorf("%s: the error with %v has a public code: %t, want %t", folder, texts(call.Args), coded[call], !internal)
				}
				return true
			})
		}
	}
}

func isInternal(args []ast.Expr) bool {
	return slices.ContainsFunc(args, func(arg ast.Expr) bool {
		code, ok := arg.(*ast.SelectorExpr)
		return ok && code.Sel.Name == "Internal"
	})
}

// texts returns the literals among the arguments of a call.
func texts(args []ast.Expr) (all []string) {
	for _, arg := range args {
		if text, ok := arg.(*ast.BasicLit); ok {
			all = append(all, text.Value)
		}
	}
	return all
}
