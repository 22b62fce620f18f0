package payload

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
)

// noLimit is for texts whose length another rule bounds.
const noLimit = math.MaxInt

// raw is one value as it stands in the body, nil when the field is absent. It
// aliases the body.
type raw []byte

// given is nil for null too: null counts as not given, for every field (decision 17).
func (r raw) given() raw {
	if len(r) > 0 && r[0] == 'n' {
		return nil
	}
	return r
}

// filled is nil for the empty string as well, for the few fields where that
// counts as not given (decisions 6, 7).
func (r raw) filled() raw {
	if string(r) == `""` {
		return nil
	}
	return r
}

// field is a value and the name it was sent under, for the path of its problem.
type field struct {
	raw
	parent string // "" at the top level
	name   string
}

func (f field) path() []string {
	if f.parent == "" {
		return []string{f.name}
	}
	return []string{f.parent, f.name}
}

// first is the first given one of a field's alternatives, which stand in the
// specification's order; the others are not looked at (decision 17). Without any it is
// the field under its own name, not given.
func first(alternatives ...field) field {
	for _, f := range alternatives {
		if f.raw != nil {
			return f
		}
	}
	return alternatives[0]
}

// problems collects what is wrong with a payload, at most one entry for a field
// apart from answers. Its methods read one kind of field each and note what
// they refuse; a field that is not given is no problem to them.
type problems []apperr.Field

func (p *problems) add(f field, code apperr.FieldCode, message string) {
	*p = append(*p, apperr.Field{Code: code, Path: f.path(), Message: message})
}

// text reads a string of at most limit code points without U+0000, which
// Postgres cannot store. The result may alias the body; false stands for a
// field that is not given or was refused.
func (p *problems) text(f field, limit int) ([]byte, bool) {
	if f.raw == nil {
		return nil, false
	}
	if f.raw[0] != '"' {
		p.add(f, apperr.InvalidType, "must be a string")
		return nil, false
	}
	text, escaped := unquote(f.raw)
	if escaped && bytes.IndexByte(text, 0) >= 0 { // unescaped, it is no JSON
		p.add(f, apperr.InvalidValue, "must not contain the character U+0000")
		return nil, false
	}
	if len(text) > limit && utf8.RuneCount(text) > limit {
		p.tooLong(f, limit)
		return nil, false
	}
	return text, true
}

// copied is text as a string of its own, "" when there is none.
func (p *problems) copied(f field, limit int) string {
	text, _ := p.text(f, limit)
	return string(text)
}

func (p *problems) tooLong(f field, limit int) {
	p.add(f, apperr.TooLong, "must be at most "+strconv.Itoa(limit)+" characters long")
}

// object opens an object; false when the field is not given or is none.
func (p *problems) object(f field) (members, bool) {
	if f.raw == nil {
		return members{}, false
	}
	m, ok := objectIn(f.raw)
	if !ok {
		p.add(f, apperr.InvalidType, "must be an object")
	}
	return m, ok
}

// postcode reads a postal code: trimmed, 1 to 16 characters, no control
// characters; nothing about its form, because the partner's customer typed it
// (decision 9).
func (p *problems) postcode(f field) []byte {
	if f.raw != nil && f.raw[0] != '"' {
		p.add(f, apperr.InvalidType, "must be a string: a number would lose its leading zero")
		return nil
	}
	text, ok := p.text(f, noLimit)
	if !ok {
		return nil
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		p.add(f, apperr.InvalidValue, "must not be blank: send the postal code of the job")
	case len(text) > maxPostcode && utf8.RuneCount(text) > maxPostcode:
		p.tooLong(f, maxPostcode)
	case bytes.ContainsFunc(text, unicode.IsControl):
		p.add(f, apperr.InvalidValue, "must not contain control characters")
	default:
		return text
	}
	return nil
}

// country reads two ASCII letters, trimmed, into upper case (decision 7). Only ASCII is
// raised: Unicode would also turn a dotless i into an I.
func (p *problems) country(f field) ([2]byte, bool) {
	var code [2]byte
	text, ok := p.text(f, noLimit)
	if !ok {
		return code, false
	}
	text = bytes.TrimSpace(text)
	ok = len(text) == len(code)
	for i := 0; ok && i < len(code); i++ {
		code[i] = text[i] &^ 0x20
		ok = 'A' <= code[i] && code[i] <= 'Z'
	}
	if !ok {
		p.add(f, apperr.InvalidValue, "must be the two letters of an ISO 3166-1 alpha-2 country code, like GB")
	}
	return code, ok
}

// notAnObject is the one problem of a payload that is valid JSON of another kind.
func notAnObject() apperr.Field {
	return apperr.Field{Code: apperr.InvalidType, Path: []string{}, Message: "the payload must be a JSON object"}
}
