package docs

import (
	"testing"

	"go.yaml.in/yaml/v4"
)

func parseNode(t *testing.T, text string) node {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return node{at: root.Content[0], root: root.Content[0]}
}

func TestNodeFollowsReferences(t *testing.T) {
	doc := parseNode(t, `{here: {$ref: '#/there', says: beside}, there: {$ref: '#/end'}, end: {says: target, only: this}}`)
	if here := doc.get("here"); here.text("says") != "beside" || here.text("only") != "this" {
		t.Errorf("got %q and %q", here.text("says"), here.text("only"))
	}
	if lost := doc.get("there", "not", "here"); lost.at != nil || lost.text("x") != "" || lost.json("") != "" || lost.has("x") {
		t.Errorf("missing node: got %+v", lost)
	}
}

func TestNodeJSONKeepsTheOrder(t *testing.T) {
	doc := parseNode(t, `{b: 45.60, a: [true, null, "1", 1, '<&"'], date: 2026-01-02, c: {}, d: .inf}`)
	const want = `{"b":45.60,"a":[true,null,"1",1,"<&\""],"date":"2026-01-02","c":{},"d":".inf"}`
	if got := doc.json(""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := parseNode(t, `{a: [1]}`).json("  "); got != "{\n  \"a\": [\n    1\n  ]\n}" {
		t.Errorf("indented: got %q", got)
	}
}
