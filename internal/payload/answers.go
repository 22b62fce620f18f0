package payload

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
)

// answers reads the answers to the partner form's own questions: an object
// whose values may be anything, kept with the bytes that were sent. It reports
// each rule it breaks once, on answers as a whole, because a path through the
// keys would repeat what was sent.
func (p *problems) answers(f field) []byte {
	object, ok := p.object(f)
	if !ok {
		return nil
	}
	count, longKey := 0, false
	for object.next() {
		count++
		longKey = longKey || (len(object.name) > maxAnswerKey && utf8.RuneCount(object.name) > maxAnswerKey)
	}
	if count > maxAnswers {
		p.add(f, apperr.TooManyItems, "must have at most "+strconv.Itoa(maxAnswers)+" keys")
	}
	if longKey {
		p.add(f, apperr.TooLong, "must have keys of at most "+strconv.Itoa(maxAnswerKey)+" characters")
	}
	if escapesNUL(f.raw) {
		p.add(f, apperr.InvalidValue, "must not contain the character U+0000, neither in keys nor in values")
	}
	return bytes.Clone(f.raw)
}

// escapesNUL finds U+0000 in sound JSON, where it can only stand as an escape.
func escapesNUL(json []byte) bool {
	for {
		at := bytes.IndexByte(json, '\\')
		if at < 0 {
			return false
		}
		if bytes.HasPrefix(json[at:], []byte(`\u0000`)) {
			return true
		}
		json = json[at+2:] // past the escaped character, which may be a backslash
	}
}
