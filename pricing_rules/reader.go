package pricingrules

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/yamldoc"
)

// reader walks the nodes of one YAML file and collects every problem with its
// line. It reads the text of each scalar itself, so that an amount is never a
// float and a key that nobody reads is never passed over.
type reader struct {
	file     string
	problems Problems
}

func (r *reader) fail(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Rule: -1, Message: fmt.Sprintf(format, args...)})
}

// root is the file's one document; nil, with a problem, when there is none.
func (r *reader) root(data []byte) *yaml.Node {
	root, err := yamldoc.Parse(data)
	if wrong, ok := errors.AsType[*yamldoc.Error](err); ok {
		r.fail(wrong.Line, "not YAML: %s", wrong.Message)
	} else if root == nil {
		r.fail(1, "the file is empty")
	}
	return root
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	line  int // the key's
	value *yaml.Node
}

// entries are the keys of a mapping in the file's order, each once.
func (r *reader) entries(node *yaml.Node, what string) []entry {
	if node.Kind != yaml.MappingNode {
		r.fail(node.Line, "%s must be a mapping of keys to values, not %s", what, kindName(node))
		return nil
	}
	list := make([]entry, 0, len(node.Content)/2)
	for key, value := range yamldoc.Entries(node, func(key *yaml.Node, first int) {
		if key.Kind != yaml.ScalarNode {
			r.fail(key.Line, "a key of %s must be a word, not %s", what, kindName(key))
		} else {
			r.fail(key.Line, "key %s is there already, on line %d", quoted(key.Value), first)
		}
	}) {
		list = append(list, entry{key: key.Value, line: key.Line, value: value})
	}
	return list
}

// fields are the entries of a mapping by key; keys other than the known are problems.
func (r *reader) fields(node *yaml.Node, what string, known ...string) map[string]entry {
	found := make(map[string]entry, len(known))
	for _, e := range r.entries(node, what) {
		if !slices.Contains(known, e.key) {
			r.fail(e.line, "unknown key %s: %s takes %s", quoted(e.key), what, strings.Join(known, ", "))
			continue
		}
		found[e.key] = e
	}
	return found
}

// list is the items of a sequence.
func (r *reader) list(node *yaml.Node, what string) []*yaml.Node {
	if node.Kind != yaml.SequenceNode {
		r.fail(node.Line, "%s must be a list, not %s", what, kindName(node))
		return nil
	}
	return node.Content
}

// text is a scalar that is a text and not empty; "" after a problem.
func (r *reader) text(node *yaml.Node, what string) string {
	switch {
	case node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str":
		r.fail(node.Line, "%s must be a text, not %s", what, kindName(node))
		return ""
	case node.Value == "":
		r.fail(node.Line, "%s is empty: write a text or leave the key out", what)
	}
	return node.Value
}

// number is the text of a scalar that YAML takes for a number; "" after a problem.
func (r *reader) number(node *yaml.Node, what string) string {
	tag := node.ShortTag()
	if node.Kind != yaml.ScalarNode || (tag != "!!int" && tag != "!!float") {
		r.fail(node.Line, "%s must be a number, not %s", what, kindName(node))
		return ""
	}
	return node.Value
}

// kindName says what a node is, for messages.
func kindName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias: write the value out"
	}
	switch node.ShortTag() {
	case "!!str":
		return "a text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date"
	}
	return "a value with a tag of its own"
}

// quoted shows a word of the file in a message, cut when it is absurdly long.
func quoted(word string) string {
	const most = 40
	if runes := []rune(word); len(runes) > most {
		word = string(runes[:most]) + "…"
	}
	return strconv.Quote(word)
}
