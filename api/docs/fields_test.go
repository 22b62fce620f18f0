package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrouped(t *testing.T) {
	for digits, want := range map[string]string{"1": "1", "200": "200", "2048": "2,048", "10000": "10,000"} {
		if got := grouped(digits); got != want {
			t.Errorf("grouped(%s) = %s, want %s", digits, got, want)
		}
	}
}

func TestFieldRows(t *testing.T) {
	schema := parseNode(t, `
required: [id]
properties:
  id: {type: string, maxLength: 2000, description: The id.}
  old: {x-alternative-to: id}
  email: {x-required: 'yes'}
  slug: {x-required: 'one of slug, id'}
  kind: {type: [string, 'null'], enum: [a, b], x-alternatives: [sort], description: What.}
  list: {type: array, items: {properties: {n: {anyOf: [{type: integer}, {type: string}, {enum: [null]}], default: 1}}}}
  in: {required: [x], properties: {x: {type: boolean, const: true}}}
`)
	code := func(before, code, after string) []span {
		return []span{{Text: before}, {Text: code, Code: true}, {Text: after}}
	}
	want := []fieldRow{
		{Name: "id", Type: "string", Required: "required", Rules: []span{{Text: "The id. At most 2,000 characters."}}},
		{Name: "email", Required: "required"},
		{Name: "slug", Required: "one of slug, id"},
		{Name: "kind", Type: "string", Required: "optional", Alternatives: []string{"sort"},
			Rules: append(code("What. One of ", "a", ", "), code("", "b", ".")[1:]...)},
		{Name: "list[].n", Type: "integer or string", Required: "optional", Rules: code("Default ", "1", ".")},
		{Name: "in.x", Type: "boolean", Required: "required", Rules: code("Always ", "true", ".")},
	}
	if diff := cmp.Diff(want, fieldRows("", schema), unexported); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
