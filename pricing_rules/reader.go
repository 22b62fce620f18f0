package pricingrules

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/base/yamldoc"
)

// reader reads one YAML file and collects the problems that it finds. It reads YAML nodes and does not
// decode into structs, so that it can report the lines of unknown keys and never converts amounts to
// floats.
type reader struct {
	file     string
	problems Problems
}

func (r *reader) fail(line int, format string, args ...any) {
	r.problems.add(Problem{File: r.file, Line: line, Rule: -1, Message: fmt.Sprintf(format, args...)})
}

// root parses the file and returns the root of its document. If the file is empty, root reports a
// problem and returns nil.
func (r *reader) root(data []byte) *yaml.Node {
	root, err := yamldoc.Parse(data)
	if wrong, ok := errors.AsType[*yamldoc.Error](err); ok {
		r.fail(wrong.Line, "the file is not valid YAML: %s", wrong.Message)
	} else if root == nil {
		r.fail(1, "the file is empty")
	}
	return root
}

type entry struct {
	key   string
	line  int // the key's line
	value *yaml.Node
}

// entries yields the entries of a mapping. It stops when there are too many problems.
func (r *reader) entries(node *yaml.Node, what string) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		if node.Kind != yaml.MappingNode {
			r.fail(node.Line, "%s must be a mapping of keys to values, not %s", what, kindName(node))
			return
		}
		for key, value := range yamldoc.Entries(node, func(key *yaml.Node, first int) {
			if key.Kind != yaml.ScalarNode {
				r.fail(key.Line, "a key in %s must be a string, not %s", what, kindName(key))
			} else {
				r.fail(key.Line, "key %s is already on line %d", quoted(key.Value), first)
			}
		}) {
			if r.problems.full() || !yield(entry{key: key.Value, line: key.Line, value: value}) {
				return
			}
		}
	}
}

func (r *reader) fields(node *yaml.Node, what string, known ...string) map[string]entry {
	found := make(map[string]entry, len(known))
	for e := range r.entries(node, what) {
		if !slices.Contains(known, e.key) {
			r.fail(e.line, "unknown key %s; %s can have %s", quoted(e.key), what, strings.Join(known, ", "))
			continue
		}
		found[e.key] = e
	}
	return found
}

func (r *reader) list(node *yaml.Node, what string) []*yaml.Node {
	if node.Kind != yaml.SequenceNode {
		r.fail(node.Line, "%s must be a list, not %s", what, kindName(node))
		return nil
	}
	return node.Content
}

func (r *reader) text(node *yaml.Node, what string) string {
	switch {
	case node.Kind != yaml.ScalarNode || node.ShortTag() != "!!str":
		r.fail(node.Line, "%s must be a string, not %s", what, kindName(node))
		return ""
	case node.Value == "":
		r.fail(node.Line, "%s is empty; enter a value or remove the key", what)
	}
	return node.Value
}

func (r *reader) number(node *yaml.Node, what string) string {
	tag := node.ShortTag()
	if node.Kind != yaml.ScalarNode || (tag != "!!int" && tag != "!!float") {
		r.fail(node.Line, "%s must be a number, not %s", what, kindName(node))
		return ""
	}
	return node.Value
}

func kindName(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch node.ShortTag() {
	case "!!str":
		return "a string"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date"
	}
	return "a value with a custom tag"
}

func quoted(word string) string {
	const most = 40
	if runes := []rune(word); len(runes) > most {
		word = string(runes[:most]) + "…"
	}
	return strconv.Quote(word)
}
