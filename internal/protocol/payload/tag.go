package payload

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// These are the maximum lengths of reference and subId in characters. White space at the ends does not
// count.
const (
	MaxReference = 64
	MaxSubID     = 32
)

// IsTag reports whether text is valid as a reference or subId of at most limit characters (decision 63).
func IsTag(text string, limit int) bool { return isTag([]byte(text), limit) }

func isTag(text []byte, limit int) bool {
	if len(text) > limit && utf8.RuneCount(text) > limit {
		return false
	}
	return !bytes.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// tag reads a reference or subId and trims it. A blank value is treated as absent. It returns false if
// the value is not valid, which must not reject the request. The result may share memory with the body.
func (r raw) tag(limit int) (text []byte, ok bool) {
	if r == nil {
		return nil, true
	}
	if r[0] != '"' {
		return nil, false
	}
	text, _ = unquote(r)
	if text = bytes.TrimSpace(text); !isTag(text, limit) {
		return nil, false
	}
	return text, true
}

// tag reads a reference or subId. A value that is not valid is ignored with a warning.
func (p *problems) tag(f field, limit int) string {
	text, ok := f.tag(limit)
	if !ok {
		p.warn(f, ValueIgnored, "was ignored. Send a string of at most "+strconv.Itoa(limit)+" printable characters")
	}
	return string(text)
}

// InheritTags sets a missing reference or subId to the ping's value from the quote. If that value was
// dropped, it adds a warning.
func (post *Post) InheritTags(reference, subID quote.Tag) {
	post.Reference = post.inherit("reference", post.Reference, reference)
	post.SubID = post.inherit("subId", post.SubID, subID)
}

func (post *Post) inherit(name, sent string, ping quote.Tag) string {
	if sent != "" {
		return sent
	}
	if ping.Dropped {
		post.warn(ValueIgnored, []string{name},
			"of the ping was ignored, because it is not valid or too long for the transactionId. Send it in the post")
	}
	return ping.Value
}

func (post *Post) warn(code WarningCode, path []string, message string) {
	post.Warnings = append(post.Warnings, Warning{Code: code, Path: path, Message: message})
}
