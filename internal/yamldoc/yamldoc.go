// Package yamldoc reads a YAML document as nodes, which have their line and the
// text of each scalar as it is written.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"go.yaml.in/yaml/v4"
)

// Error reports a text that is not one YAML document. Message does not repeat the
// text, which may be a secret in the wrong place.
type Error struct {
	Line    int // counts from 1
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Parse returns the root of the document, or nil if the text is empty. The error is
// an *Error. When something follows the document, both results are set.
func Parse(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(data, err)
	}
	root := document.Content[0]
	if err := decoder.Decode(&next); err == nil {
		return root, &Error{next.Line, "a second document begins; keep one"}
	} else if !errors.Is(err, io.EOF) {
		return root, syntaxError(data, err)
	}
	return root, nil
}

// syntaxError finds the line of an error of the library, and leaves out text of the
// document.
func syntaxError(data []byte, err error) error {
	failed, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return &Error{1, "the text cannot be read"}
	}
	line, message, begins := failed.Mark.Line, failed.Message, failed.ContextMark.Line
	switch {
	case failed.Stage == yaml.ReaderStage: // it counts bytes
		line = 1 + bytes.Count(data[:min(failed.Mark.Index, len(data))], []byte("\n"))
	case failed.Stage == yaml.ComposerStage:
		message = "an alias (*) names no anchor (&); write values out, and quote those that begin with *"
	case begins == 0 || begins == line:
	case failed.Mark.Column == 1 && line > bytes.Count(data, []byte("\n")):
		line = begins // the file ends before something is closed
	default:
		message += fmt.Sprintf(" (%s on line %d)", failed.ContextMsg, begins)
	}
	return &Error{line, message}
}

// Entries yields the keys of a mapping with their values. It passes to reject a key
// that is not a scalar, and a key that was given before, with the line of the first.
func Entries(mapping *yaml.Node, reject func(key *yaml.Node, first int)) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		lines := make(map[string]int, len(mapping.Content)/2)
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
