package payload

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the maximum depth of nesting. The outermost object has depth 1 (decision 18).
const maxDepth = 32

// strict reports whether body is exactly one JSON value as defined in decision 18. It must be UTF-8, and
// must not contain a byte-order mark, a lone surrogate, duplicate names at any level, data after the
// value, or nesting beyond maxDepth.
//
// It allocates no memory, because Value.IsValid uses jsontext's pool of decoders.
func strict(body []byte) bool {
	return jsontext.Value(body).IsValid() && shallow(body)
}

// shallow reports whether the nesting of valid JSON is within maxDepth. It first counts all brackets,
// even those in strings. This is fast, and nearly all bodies contain so few brackets that it is
// sufficient.
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

// members iterates over the members of an object in the order of the body. The body must have been
// accepted by the function strict, because members does not check bounds.
type members struct {
	src []byte
	at  int // index of the opening brace, a comma or the closing brace

	name  []byte // unquoted
	value raw
}

// objectIn returns the members of an object. It returns false if src, which must be valid JSON, is not
// an object.
func objectIn(src []byte) (members, bool) {
	at := skipBlanks(src, 0)
	return members{src: src, at: at}, src[at] == '{'
}

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

// unquote returns the text of a valid JSON string, and whether the string contains escapes. If it does
// not, the text shares memory with quoted.
func unquote(quoted []byte) (text []byte, escaped bool) {
	text = quoted[1 : len(quoted)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, false
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		panic("payload: cannot unquote a string that jsontext accepted as valid")
	}
	return text, true
}

func skipBlanks(src []byte, at int) int {
	for at < len(src) && (src[at] == ' ' || src[at] == '\n' || src[at] == '\t' || src[at] == '\r') {
		at++
	}
	return at
}

func stringEnd(src []byte, at int) int {
	for at++; src[at] != '"'; at++ {
		if src[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// valueEnd returns the index after the end of the value that starts at src[at]. The value must be in an
// object.
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
