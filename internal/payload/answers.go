package payload

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
)

// answers reads the answers to the questions in the partner's own form. The answers are an object whose
// values can be anything. They are returned as sent. Each kind of problem is reported once, with
// "answers" as its path, because a longer path would reveal the keys that were sent.
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

// escapesNUL reports whether valid JSON contains U+0000, which valid JSON always escapes.
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
