package yamldoc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestParseReportsLine(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
	}{
		{"indentation", "a:\n  b: 1\n c: 2\n", 3},
		{"tab", "a:\n\tb: 1\n", 2},
		{"open list", "a: 1\nb: [1,\n  2\n", 2},
		{"open quote", "a: 1\nb: \"x\n\n\n", 2},
		{"brace closed too late", "a:\n  - {b: 1\n  - {c: 2}\n", 3},
		{"two values", "a: 1\nb: 1: 2\n", 2},
		{"unclosed list", "a: [\n", 2},
		{"not UTF-8", "a: 1\nb: \xff\n", 2},
		{"control character", "a: 1\n\nb: \x00\n", 3},
		{"alias without an anchor", "a: 1\nb: *c\n", 2},
		{"unknown tag handle", "a: 1\nb: !c!d 1\n", 2},
		{"second document", "a: 1\n---\nb: 1\n", 2},
		{"broken second document", "a: 1\n---\n\n[\n", 5},
		{"tag directive", "# a\n%TAG !a! tag:example.com,2026:\n---\n!a!b x\n", 2},
		{"UTF-16", "\xff\xfea\x00:\x00\n\x00", 1},
		{"too many keys", "\n" + strings.Repeat("a:\n", MaxNodes/2), MaxNodes/2 + 1},
		{"flow nesting", "\n" + strings.Repeat("[", 5<<20), 2},
		{"block nesting", "\n" + strings.Repeat("- ", 5<<19), 2},
	} {
		_, err := Parse([]byte(c.text))
		wrong, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: got error %v, want an *Error", c.name, err)
		} else if wrong.Line != c.line {
			t.Errorf("%s: got line %d, want %d", c.name, wrong.Line, c.line)
		}
	}
}

func TestParseReturnsRoot(t *testing.T) {
	for text, want := range map[string]yaml.Kind{
		"": 0, "# comment\n": 0, "---\n": yaml.ScalarNode, "a: 1": yaml.MappingNode, "[a]\n...\n": yaml.SequenceNode,
	} {
		root, err := Parse([]byte(text))
		if err != nil || (root == nil) != (want == 0) || root != nil && root.Kind != want {
			t.Errorf("%q: got %+v, %v, want a node of kind %d", text, root, err, want)
		}
	}
	if root, err := Parse([]byte("a: 1\n---\nb: 1\n")); err == nil || root == nil || root.Content[0].Value != "a" {
		t.Errorf("two documents: got %+v, %v", root, err)
	}
}

func TestParsePreservesScalars(t *testing.T) {
	for _, text := range []string{"45.60", "0.1", "1e3", "0x1F", "1_000", "99999999999999999999", "007", "2026-01-02", "yes"} {
		root, err := Parse([]byte("a: " + text))
		if err != nil || root.Content[1].Value != text {
			t.Errorf("%s: got %+v, %v", text, root, err)
		}
	}
}

func TestEntriesRejectsKeys(t *testing.T) {
	root, err := Parse([]byte("a: 1\nb: 2\na: 3\n[c]: 4\na: 5\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for key, value := range Entries(root, func(key *yaml.Node, first int) {
		got = append(got, fmt.Sprintf("%d rejected for %d", key.Line, first))
	}) {
		got = append(got, key.Value+"="+value.Value)
	}
	want := []string{"a=1", "b=2", "3 rejected for 1", "4 rejected for 0", "5 rejected for 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func countNodes(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	count := 1
	for _, child := range n.Content {
		count += countNodes(child)
	}
	return count
}

// The estimated number of nodes is never too low, whatever the syntax, and for rate cards, it is not much too high.
func TestNodesEnd(t *testing.T) {
	for text, most := range map[string]int{
		"a": 1, "a:": 3, "{a}": 3, "{a, b}": 5, "[a: , b: ]": 7, "[a, b, c]": 7, "{\"a\":b,'c':d}": 5, "? a": 3, "? a\n: b": 5,
		"- - - a\n  - b": 5, "- &a x\n- *a": 4, "-\n-\r\n-\t": 4, "a: &b\nc:": 6, "{[a]:b}": 6, "{a: {}}": 5,
		"-\u2028-\u0085- a": 4, "!!map {!!str a: !!str b}": 4, "- a: 1\n  b: {GBP: 45.6, EUR: 50}\n": 10, "a: b-c d-e\n": 3,
	} {
		root, _ := Parse([]byte(text))
		nodes := countNodes(root)
		if nodes > 0 && nodesEnd([]byte(text), nodes-1) < 0 || nodesEnd([]byte(text), most) >= 0 {
			t.Errorf("%q has %d nodes: it is within the limit %d: %t, and within %d: %t", text, nodes,
				nodes-1, nodesEnd([]byte(text), nodes-1) < 0, most, nodesEnd([]byte(text), most) < 0)
		}
	}
}

func FuzzParse(f *testing.F) {
	const canary = "c4nary"
	for _, seed := range []string{
		"CANARY: 1", "*CANARY", "&CANARY", "a: !CANARY x", "%CANARY", "%TAG ! CANARY\n---\n", "!!CANARY x", "!CAN{ARY x", "|CANARY", "\"\\CANARY", "'CANARY",
		"[a: , {b: c}]", "{\"a\":b,? c}", "? a\n? b", "-\u2028- a", "- &a x\n- *a",
		"{CANARY", "- CANARY\n a", "CANARY: a: b", "a: &CANARY [*CANARY]\nb: *CANARIES", "\ufeffCANARY", "\xff\xfeC\x00", "a\r\n{", "!!int CANARY",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(text, "CANARY", canary)
		root, err := Parse([]byte(text))
		if nodes := countNodes(root); nodes > 0 && nodesEnd([]byte(text), nodes-1) < 0 {
			t.Errorf("%q has %d nodes, which is more than the limit that nodesEnd applies", text, nodes)
		}
		if err == nil {
			return
		}
		wrong, ok := errors.AsType[*Error](err)
		if !ok || wrong.Line < 1 || wrong.Message == "" || strings.Contains(wrong.Message, canary) {
			t.Fatalf("%q: got error %+v, want an *Error that does not quote the text", text, err)
		}
	})
}
