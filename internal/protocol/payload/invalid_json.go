package payload

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// JSONReason is the reason why a body is not valid JSON. The constants below are the only reasons
// (decision 64).
type JSONReason string

const (
	JSONEmpty            JSONReason = "empty"
	JSONCompressed       JSONReason = "compressed"
	JSONByteOrderMark    JSONReason = "byte_order_mark"
	JSONInvalidUTF8      JSONReason = "invalid_utf8"
	JSONLoneSurrogate    JSONReason = "lone_surrogate"
	JSONInvalidEscape    JSONReason = "invalid_escape"
	JSONControlCharacter JSONReason = "control_character" // unescaped, in a string
	JSONInvalidNumber    JSONReason = "invalid_number"
	JSONDuplicateName    JSONReason = "duplicate_name"
	JSONTooDeep          JSONReason = "too_deep"
	JSONTruncated        JSONReason = "truncated"
	JSONTrailingData     JSONReason = "trailing_data"
	JSONSyntax           JSONReason = "syntax" // any other error
)

const byteOrderMark = "\ufeff"

// contentCodings are the values of Content-Encoding that compress a body.
var contentCodings = []string{"gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"}

// WithContentEncoding returns err. If err is an ErrJSON, and the request's header Content-Encoding states
// that the body is compressed, the result has the reason compressed. A body that is valid JSON in spite of
// this header is accepted.
func WithContentEncoding(err error, contentEncoding string) error {
	coding := strings.ToLower(strings.TrimSpace(contentEncoding))
	if !errors.Is(err, ErrJSON) || !slices.Contains(contentCodings, coding) {
		return err
	}
	return jsonError(JSONCompressed, 0)
}

func jsonError(reason JSONReason, offset int) error {
	return ErrJSON.WithDetail(apperr.Detail{Reason: string(reason), Offset: offset})
}

// explain returns an ErrJSON with the first error in a body that the function strict has rejected.
func explain(body []byte) error {
	in := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		_, err := in.ReadToken()
		end := int(in.InputOffset())
		switch {
		case err != nil:
			return jsonError(classify(body, end, err))
		case in.StackDepth() > maxDepth:
			return jsonError(JSONTooDeep, end-1)
		case in.StackDepth() == 0:
			return jsonError(JSONTrailingData, skipBlanks(body, end))
		}
	}
}

// classify returns the reason and the offset of an error from jsontext. The parameter end is the end of the last token
// before the error.
func classify(body []byte, end int, err error) (JSONReason, int) {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return JSONEmpty, 0 // io.EOF before the first token
	}
	offset := int(syntax.ByteOffset)
	rest := body[offset:]
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return JSONTruncated, len(body)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return JSONDuplicateName, offset
	case offset == 0 && bytes.HasPrefix(rest, []byte(byteOrderMark)):
		return JSONByteOrderMark, 0
	}
	if r, size := utf8.DecodeRune(rest); r == utf8.RuneError && size == 1 {
		return JSONInvalidUTF8, offset
	}
	for end < offset && strings.IndexByte(" \t\r\n:,", body[end]) >= 0 {
		end++
	}
	switch {
	case end < offset && body[end] == '"' && isSurrogate(rest):
		return JSONLoneSurrogate, offset
	case end < offset && body[end] == '"' && rest[0] == '\\':
		return JSONInvalidEscape, offset
	case end < offset && body[end] == '"':
		return JSONControlCharacter, offset
	case isNumber(body, end, offset):
		return JSONInvalidNumber, offset
	}
	return JSONSyntax, offset
}

// isSurrogate reports whether a text begins with the escape of a surrogate, such as \ud800.
func isSurrogate(text []byte) bool {
	return len(text) > 3 && text[0] == '\\' && text[1] == 'u' && text[2]|0x20 == 'd' && text[3] >= '8'
}

// isNumber reports whether the invalid value in a body is a number, or the name of one in a programming
// language, such as NaN. Its first byte is at start, and its first invalid byte is at offset.
func isNumber(body []byte, start, offset int) bool {
	text := body[start:]
	switch first := text[0]; {
	case start < offset:
		return first == '-' || isDigit(first)
	case start > 0 && isDigit(body[start-1]): // such as 01 and 0x10; their first digit is valid
		return isDigit(first) || first == '.' || first|0x20 == 'x'
	default:
		return first == '+' || first == '.' ||
			bytes.HasPrefix(text, []byte("NaN")) || bytes.HasPrefix(text, []byte("Infinity"))
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
