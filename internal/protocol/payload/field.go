package payload

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/plaintext"
)

// noLimit is the limit for strings whose length is limited by another rule.
const noLimit = math.MaxInt

// raw is the JSON of one value, or nil if the field is absent. It shares memory with the body.
type raw []byte

// This method returns nil if r is null, because null has the same meaning as an absent field (decision
// 17).
func (r raw) given() raw {
	if len(r) > 0 && r[0] == 'n' {
		return nil
	}
	return r
}

// This method returns nil if r is a blank string. It is used for the fields in which an empty string means
// the same as an absent field (decisions 6, 7, 62).
func (r raw) filled() raw {
	if len(r) < 2 || r[0] != '"' || r[1] > ' ' && r[1] < utf8.RuneSelf && r[1] != '"' && r[1] != '\\' {
		return r
	}
	if text, _ := unquote(r); len(trim(text)) > 0 {
		return r
	}
	return nil
}

func trim(text []byte) []byte { return bytes.TrimFunc(text, plaintext.IsBlank) }

// field is a value and the name under which it was sent. Problems refer to the field by this name.
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

// This function returns the first of the alternatives that was sent, and ignores the others (decision
// 17). The alternatives must be in the specification's order. If none was sent, it returns
// alternatives[0].
func first(alternatives ...field) field {
	for _, f := range alternatives {
		if f.raw != nil {
			return f
		}
	}
	return alternatives[0]
}

// problems collects the problems and warnings of a payload. It contains at most one problem for each field
// except answers, which can have several. Each method reads one kind of field and adds any problem that it
// finds.
type problems struct {
	fields   []apperr.Field
	warnings []Warning
}

func (p *problems) add(f field, code apperr.FieldCode, message string) {
	p.fields = append(p.fields, apperr.Field{Code: code, Path: f.path(), Message: message})
}

func (p *problems) warn(f field, code WarningCode, message string) {
	p.warnings = append(p.warnings, Warning{Code: code, Path: f.path(), Message: message})
}

// text reads a string of at most limit code points. It returns false if the field is absent or was
// rejected. It rejects U+0000, which Postgres cannot store. The result may share memory with the body.
func (p *problems) text(f field, limit int) ([]byte, bool) {
	if f.raw == nil {
		return nil, false
	}
	if f.raw[0] != '"' {
		p.add(f, apperr.InvalidType, "must be a string")
		return nil, false
	}
	text, escaped := unquote(f.raw)
	if escaped && bytes.IndexByte(text, 0) >= 0 { // an unescaped U+0000 is not valid JSON
		p.add(f, apperr.InvalidValue, "must not contain the character U+0000")
		return nil, false
	}
	if len(text) > limit && utf8.RuneCount(text) > limit {
		p.tooLong(f, limit)
		return nil, false
	}
	return text, true
}

// trimmed is like the method text, but removes blanks from both ends before it checks the length.
func (p *problems) trimmed(f field, limit int) ([]byte, bool) {
	text, ok := p.text(f, noLimit)
	if !ok {
		return nil, false
	}
	if text = trim(text); len(text) > limit && utf8.RuneCount(text) > limit {
		p.tooLong(f, limit)
		return nil, false
	}
	return text, true
}

// copied is like the method text, but returns a copy, or "" if the field is absent or was rejected.
func (p *problems) copied(f field, limit int) string {
	text, _ := p.text(f, limit)
	return string(text)
}

func (p *problems) tooLong(f field, limit int) {
	p.add(f, apperr.TooLong, "must be at most "+strconv.Itoa(limit)+" characters long")
}

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

// postcode reads a postal code, which must have 1 to 16 characters after trimming and no control
// characters. It accepts all formats, because consumers type postal codes in many ways (decision 9).
func (p *problems) postcode(f field) []byte {
	if f.raw != nil && f.raw[0] != '"' {
		p.add(f, apperr.InvalidType, "must be a string, because a number loses leading zeros")
		return nil
	}
	text, ok := p.trimmed(f, maxPostcode)
	if ok && bytes.ContainsFunc(text, unicode.IsControl) {
		p.add(f, apperr.InvalidValue, "must not contain control characters")
		return nil
	}
	return text
}

// country reads a code of two ASCII letters, trimmed and converted to upper case
// (decision 7). It does not use Unicode's conversion, which converts a dotless i to I.
func (p *problems) country(f field) ([2]byte, bool) {
	var code [2]byte
	text, ok := p.text(f, noLimit)
	if !ok {
		return code, false
	}
	text = trim(text)
	ok = len(text) == len(code)
	for i := 0; ok && i < len(code); i++ {
		code[i] = text[i] &^ 0x20
		ok = 'A' <= code[i] && code[i] <= 'Z'
	}
	if !ok {
		p.add(f, apperr.InvalidValue, "must be a two-letter ISO 3166-1 alpha-2 country code, such as GB")
	}
	return code, ok
}

func notAnObject() apperr.Field {
	return apperr.Field{Code: apperr.InvalidType, Path: []string{}, Message: "the payload must be a JSON object"}
}
