package pricingrules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
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
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		r.fail(1, "the file is empty")
		return nil
	} else if err != nil {
		r.syntax(err)
		return nil
	}
	if err := decoder.Decode(&more); err == nil {
		r.fail(more.Line, "a second document begins: keep one in the file")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(err)
	}
	return document.Content[0]
}

// syntax reports what the YAML library says, with the line that its text names.
// The library counts lines from 0 where its parser complains, and from 1 where
// its scanner does.
func (r *reader) syntax(err error) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, message, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, text = n, message
			}
			switch text {
			case "did not find expected node content", "did not find expected key", "did not find expected '-' indicator",
				"did not find expected ',' or ']'", "did not find expected ',' or '}'", "did not find expected <document start>":
				line++
			}
		}
	}
	r.fail(line, "not YAML: %s", text)
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
	seen := make(map[string]int, len(node.Content)/2)
	list := make([]entry, 0, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.fail(key.Line, "a key of %s must be a word, not %s", what, kindName(key))
			continue
		}
		if first, ok := seen[key.Value]; ok {
			r.fail(key.Line, "key %s is there already, on line %d", quoted(key.Value), first)
			continue
		}
		seen[key.Value] = key.Line
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
