package payload

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// answers reads the object with the answers to the partner's own form, and returns it as sent. The path
// of a problem is only "answers", because a longer path would reveal the keys that were sent.
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
		p.add(f, apperr.InvalidValue, "must not contain the character U+0000 in keys or values")
	}
	return bytes.Clone(f.raw)
}

// escapesNUL reports whether valid JSON contains the character U+0000. Valid JSON always escapes this
// character.
func escapesNUL(json []byte) bool {
	for {
		at := bytes.IndexByte(json, '\\')
		if at < 0 {
			return false
		}
		if bytes.HasPrefix(json[at:], []byte(`\u0000`)) {
			return true
		}
		json = json[at+2:] // skip the escaped character, which may be a backslash
	}
}
