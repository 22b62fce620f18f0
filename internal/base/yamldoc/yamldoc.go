// Package yamldoc parses a YAML document into nodes. Nodes contain their line numbers. Scalars stay text
// and are not converted to numbers or other types.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"go.yaml.in/yaml/v4"
)

// Error reports that the input is not a valid YAML document. Message never quotes the input, in case
// someone pasted a secret in the wrong place.
type Error struct {
	Line    int // counted from 1
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// MaxNodes is the maximum number of nodes that Parse may have to create for a document. A node takes
// about 180 bytes of memory, and one byte of text can be enough for it.
const MaxNodes = 800_000

// Parse returns the root of the document, or nil if the document is empty. The error has type
// *Error. If a second document follows, Parse returns both the root of the first document and an
// error. Parse rejects documents that could need much more memory than their text.
func Parse(data []byte) (*yaml.Node, error) {
	if err := checkMemory(data); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(data, err)
	}
	root := document.Content[0]
	if err := decoder.Decode(&next); err == nil {
		return root, &Error{next.Line, "a second document starts here; keep only one"}
	} else if !errors.Is(err, io.EOF) {
		return root, syntaxError(data, err)
	}
	return root, nil
}

// syntaxError converts a parser error to an Error. It determines the line and leaves out text from the
// document.
func syntaxError(data []byte, err error) error {
	failed, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &Error{1, "the text is not valid YAML"}
	}
	line, message, begins := failed.Mark.Line, failed.Message, failed.ContextMark.Line
	switch {
	case failed.Stage == yaml.ReaderStage: // the error states a byte offset instead of a line
		line = 1 + bytes.Count(data[:min(failed.Mark.Index, len(data))], []byte("\n"))
	case failed.Stage == yaml.ComposerStage:
		message = "an alias (*) has no anchor (&); repeat the value, or quote values that start with *"
	case begins == 0 || begins == line:
	case failed.Mark.Column == 1 && line > bytes.Count(data, []byte("\n")):
		line = begins // a bracket or quote is never closed, so report the line on which it was opened
	default:
		message += fmt.Sprintf(" (%s on line %d)", failed.ContextMsg, begins)
	}
	return &Error{line, message}
}

// Entries yields the keys of a mapping and their values. If a key is not a scalar or is repeated,
// Entries does not yield it, but calls the function reject. For a repeated key, the argument first is
// the line on which the key first occurs.
func Entries(mapping *yaml.Node, reject func(key *yaml.Node, first int)) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		lines := map[string]int{}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			key, value := mapping.Content[i], mapping.Content[i+1]
			first, again := lines[key.Value]
			if key.Kind != yaml.ScalarNode || again {
				reject(key, first)
				continue
			}
			lines[key.Value] = key.Line
			if !yield(key, value) {
				return
			}
		}
	}
}
