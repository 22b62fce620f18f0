package docs

import (
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// mediaJSON is the media type of JSON bodies. In the document, it is also the key of their schemas and
// examples.
const mediaJSON = "application/json"

// node is an element of the OpenAPI document. If the element is a reference, node is the element
// that it refers to. The zero node stands for an element that does not exist.
type node struct {
	at   *yaml.Node // after following the reference
	root *yaml.Node

	// beside is the object that contained the reference. Its keys take precedence, because OpenAPI 3.1
	// allows a description next to a $ref.
	beside *yaml.Node
}

// follow resolves a reference within the document. If the target is also a reference, follow resolves it
// as well. TestReferences ensures that every reference has a target.
func (n node) follow() node {
	for target, ok := child(n.at, "$ref"); ok; target, ok = child(n.at, "$ref") {
		place := n.root
		for part := range strings.SplitSeq(strings.TrimPrefix(target.Value, "#/"), "/") {
			place, _ = child(place, part)
		}
		if n.beside == nil {
			n.beside = n.at
		}
		n.at = place
	}
	return n
}

func child(object *yaml.Node, key string) (*yaml.Node, bool) {
	if object == nil || object.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		if object.Content[i].Value == key {
			return object.Content[i+1], true
		}
	}
	return nil, false
}

// get returns the node at the path given by keys.
func (n node) get(keys ...string) node {
	for _, key := range keys {
		next, ok := child(n.beside, key)
		if !ok {
			next, _ = child(n.at, key)
		}
		n = node{at: next, root: n.root}.follow()
	}
	return n
}

func (n node) has(key string) bool { return n.get(key).at != nil }

// text returns the scalar at the given key, or "" if there is none.
func (n node) text(key string) string {
	if v := n.get(key); v.at != nil {
		return strings.TrimSpace(v.at.Value)
	}
	return ""
}

// entries yields the entries of an object in the document's order.
func (n node) entries() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		if n.at == nil || n.at.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.at.Content); i += 2 {
			if !yield(n.at.Content[i].Value, node{at: n.at.Content[i+1], root: n.root}.follow()) {
				return
			}
		}
	}
}

func (n node) items() iter.Seq[node] {
	return func(yield func(node) bool) {
		if n.at == nil || n.at.Kind != yaml.SequenceNode {
			return
		}
		for _, item := range n.at.Content {
			if !yield(node{at: item, root: n.root}.follow()) {
				return
			}
		}
	}
}

// json encodes the node as JSON, with its keys in the document's order. If indent is "", the result
// is one line. For the zero node, json returns "".
func (n node) json(indent string) string {
	if n.at == nil {
		return ""
	}
	text := jsontext.Value(appendJSON(nil, n.at))
	if indent != "" {
		if err := text.Indent(jsontext.WithIndent(indent)); err != nil {
			panic("docs: indenting generated JSON: " + err.Error())
		}
	}
	return string(text)
}

func appendJSON(dst []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		dst = append(dst, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, n.Content[i].Value), ':')
			dst = appendJSON(dst, n.Content[i+1])
		}
		return append(dst, '}')
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range n.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	}
	if n.Tag != "!!str" && jsontext.Value(n.Value).IsValid() {
		return append(dst, n.Value...)
	}
	return appendText(dst, n.Value)
}

func appendText(dst []byte, text string) []byte {
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		panic("docs: document has a string that is not UTF-8: " + err.Error()) // the YAML parser rejects such strings
	}
	return dst
}
