package api_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/api"
)

func TestReferences(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal(api.Document(), &root); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	walkYAML(root.Content[0], "", func(path string, n *yaml.Node) {
		target, ok := strings.CutPrefix(n.Value, "#/")
		if !strings.HasSuffix(path, "/$ref") {
			return
		}
		used[target] = true
		if at := lookUp(root.Content[0], strings.Split(target, "/")); !ok || at == nil {
			t.Errorf("%s: %s does not exist", path, n.Value)
		}
	})
	for _, kind := range keysOf(lookUp(root.Content[0], []string{"components"})) {
		for _, name := range keysOf(lookUp(root.Content[0], []string{"components", kind})) {
			if place := "components/" + kind + "/" + name; !used[place] && kind != "securitySchemes" {
				t.Errorf("%s is not referenced", place)
			}
		}
	}
}

// TestSources checks that each schema and response of the API has an x-source that cites the
// specification or decisions, and that no other text cites decisions.
func TestSources(t *testing.T) {
	source := regexp.MustCompile(`^(Specification: [A-Z][A-Za-z, ]+|decisions? [0-9]+(, [0-9]+)*)(; decisions? [0-9]+(, [0-9]+)*)?$`)
	cites := regexp.MustCompile(`\bdecisions? [0-9]+\b`)
	var root yaml.Node
	if err := yaml.Unmarshal(api.Document(), &root); err != nil {
		t.Fatal(err)
	}
	walkYAML(root.Content[0], "", func(path string, n *yaml.Node) {
		if strings.HasSuffix(path, "/x-source") {
			if !source.MatchString(n.Value) {
				t.Errorf("%s: %q is not a source", path, n.Value)
			}
		} else if cites.MatchString(n.Value) {
			t.Errorf("%s cites a decision outside x-source", path)
		}
	})
	httpOnly := []string{"Document", "Page", "Stylesheet", "Script", "NotModified"} // defined by HTTP, not by the specification
	for _, kind := range []string{"schemas", "responses"} {
		for _, name := range keysOf(lookUp(root.Content[0], []string{"components", kind})) {
			if !slices.Contains(httpOnly, name) && lookUp(root.Content[0], []string{"components", kind, name, "x-source"}) == nil {
				t.Errorf("%s/%s has no x-source", kind, name)
			}
		}
	}
}

func walkYAML(n *yaml.Node, path string, visit func(path string, n *yaml.Node)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			walkYAML(n.Content[i+1], path+"/"+n.Content[i].Value, visit)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			walkYAML(item, fmt.Sprintf("%s/%d", path, i), visit)
		}
	default:
		visit(path, n)
	}
}

func keysOf(n *yaml.Node) []string {
	var all []string
	for i := 0; n != nil && i < len(n.Content); i += 2 {
		all = append(all, n.Content[i].Value)
	}
	return all
}

func lookUp(n *yaml.Node, path []string) *yaml.Node {
	for _, key := range path {
		i := slices.Index(keysOf(n), key)
		if i < 0 {
			return nil
		}
		n = n.Content[2*i+1]
	}
	return n
}
