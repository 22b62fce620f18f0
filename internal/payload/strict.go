package payload

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep values may nest; the outermost object is 1 (decision 18).
const maxDepth = 32

// strict reports whether body is exactly one JSON value by decision 18: UTF-8 without a
// byte-order mark, no lone surrogate, no duplicate name at any level, nothing
// after the value, and no nesting beyond maxDepth.
//
// Value.IsValid draws on jsontext's own pool of decoders, so that this costs no
// allocation and needs no pool here.
func strict(body []byte) bool {
	return jsontext.Value(body).IsValid() && shallow(body)
}

// shallow reports whether sound JSON nests no deeper than maxDepth. Nearly
// every body has too few brackets to do so, and counting them is much cheaper
// than telling those of the structure from those inside texts.
func shallow(body []byte) bool {
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= maxDepth {
		return true
	}
	depth := 0
	for at := 0; at < len(body); at++ {
		switch body[at] {
		case '"':
			at = stringEnd(body, at) - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return false
			}
		case '}', ']':
			depth--
		}
	}
	return true
}

// members walks the members of one object in the order they were sent. It reads
// only what strict has passed and relies on that for its bounds.
type members struct {
	src []byte
	at  int // on the opening brace, a comma or the closing brace

	name  []byte // unquoted
	value raw
}

// objectIn finds the object that sound JSON consists of; false when it is
// another kind of value.
func objectIn(src []byte) (members, bool) {
	at := skipBlanks(src, 0)
	return members{src: src, at: at}, src[at] == '{'
}

// next moves to the following member and reports whether there is one.
func (m *members) next() bool {
	if m.src[m.at] == '}' {
		return false
	}
	start := skipBlanks(m.src, m.at+1)
	if m.src[start] == '}' { // an object without members
		m.at = start
		return false
	}
	end := stringEnd(m.src, start)
	m.name, _ = unquote(m.src[start:end])
	start = skipBlanks(m.src, end)     // the colon
	start = skipBlanks(m.src, start+1) // the value
	end = valueEnd(m.src, start)
	m.value = m.src[start:end]
	m.at = skipBlanks(m.src, end)
	return true
}

// unquote is the text of a sound JSON string and whether it had escapes. Without
// any, the text aliases quoted.
func unquote(quoted []byte) (text []byte, escaped bool) {
	text = quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, false
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		// strict has passed this string, so jsontext would have to contradict itself.
		panic("payload: a string of sound JSON cannot be unquoted")
	}
	return text, true
}

func skipBlanks(src []byte, at int) int {
	for at < len(src) && (src[at] == ' ' || src[at] == '\n' || src[at] == '\t' || src[at] == '\r') {
		at++
	}
	return at
}

// stringEnd is the index after the string that starts at at.
func stringEnd(src []byte, at int) int {
	for at++; src[at] != '"'; at++ {
		if src[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd is the index after the value that starts at at, a member of an object.
func valueEnd(src []byte, at int) int {
	switch src[at] {
	case '"':
		return stringEnd(src, at)
	case '{', '[':
		for depth := 0; ; at++ {
			switch src[at] {
			case '"':
				at = stringEnd(src, at) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
		}
	}
	for src[at] != ',' && src[at] != '}' && src[at] > ' ' {
		at++
	}
	return at
}
