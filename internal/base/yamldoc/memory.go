package yamldoc

import (
	"bytes"
	"fmt"
)

// checkMemory returns an error if the nodes of a document could need much more memory than its text.
func checkMemory(data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return &Error{1, "the text is in UTF-16; save it as UTF-8"}
	}
	// A tag directive defines a prefix of any length, and each node that uses it has a copy.
	if before, _, found := bytes.Cut(data, []byte("%TAG")); found {
		return &Error{lineAfter(before), "%TAG is not supported; remove it"}
	}
	if end := nodesEnd(data, MaxNodes); end >= 0 {
		return &Error{lineAfter(data[:end]), fmt.Sprintf("the text has more than %d keys and values; split it", MaxNodes)}
	}
	return nil
}

func lineAfter(text []byte) int { return 1 + bytes.Count(text, []byte("\n")) }

// nodesEnd returns the offset at which a document can have more than the given number of nodes, or -1.
// It counts the characters that start nodes. The count is never too low, but such characters in strings
// make it too high.
func nodesEnd(data []byte, limit int) int {
	nodes := 1       // the root
	inEntry := false // after the start of an entry in a flow collection
	pair := 0        // the nodes of an entry with a colon, apart from its key and value
	if bytes.IndexByte(data, '[') >= 0 {
		pair = 1 // in a list, it is a mapping
	}
	for i, c := range data {
		switch {
		case c == '[' || c == '{' || c == ',': // the key and the value of an entry
			nodes, inEntry = nodes+2, true
		case c == ':' && inEntry:
			nodes, inEntry = nodes+pair, false
		case c == ':' || c == '?': // a key and its value
			nodes += 2
		case c == '-' && isItem(data[i+1:]), c == '&': // the map of anchors needs memory too
			nodes++
		}
		if nodes > limit {
			return i
		}
	}
	return -1
}

// isItem reports whether a dash before the text marks an item of a list.
func isItem(rest []byte) bool {
	return len(rest) == 0 || rest[0] <= ' ' || rest[0] >= 0x80 // line breaks such as U+2028 are not ASCII
}
