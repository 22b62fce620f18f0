package payload

import (
	"strings"
	"unicode"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

type contactFields struct {
	email, name, fullName, phoneE164, phone raw
}

func (p *problems) contact(f *postFields) Contact {
	var in contactFields
	if object, ok := p.object(field{raw: f.contact, name: "contact"}); ok {
		in = pickContact(object)
	}
	var c Contact
	c.Email = p.email(first(
		field{raw: in.email, parent: "contact", name: "email"},
		field{raw: f.email, name: "email"},
	))
	c.Name = p.name(first(
		field{raw: in.name, parent: "contact", name: "name"},
		field{raw: in.fullName, parent: "contact", name: "fullName"},
		field{raw: f.name, name: "name"},
	))
	phone := first(
		field{raw: in.phoneE164, parent: "contact", name: "phoneE164"},
		field{raw: in.phone, parent: "contact", name: "phone"},
		field{raw: f.phone, name: "phone"},
	)
	if number, ok := p.trimmed(phone, maxPhone); ok {
		c.Phone, c.PhonePath = string(number), phone.path()
	}
	if in.phoneE164 != nil && c.Phone != "" && !isE164(strings.ReplaceAll(visiblePhone(c.Phone), " ", "")) {
		p.add(phone, apperr.InvalidValue, "must be in E.164 format: a plus sign, the country code and the number, "+
			"with at most 15 digits. Send other formats as phone")
	}
	return c
}

func pickContact(object members) contactFields {
	var f contactFields
	for object.next() {
		value := object.value.given()
		switch string(object.name) {
		case "email":
			f.email = value
		case "name":
			f.name = value.filled()
		case "fullName":
			f.fullName = value.filled()
		case "phoneE164":
			f.phoneE164 = value.filled()
		case "phone":
			f.phone = value.filled()
		}
	}
	return f
}

func (p *problems) email(f field) string {
	if f.raw == nil {
		p.add(f, apperr.Required, "an email address is required")
	}
	address, ok := p.trimmed(f, maxEmail)
	if ok && !isEmail(address) {
		p.add(f, apperr.InvalidValue,
			"must be one email address, such as name@example.com, without a display name, spaces or invisible characters")
	}
	return string(address)
}

// name reads a name. Control characters, such as tabs from a spreadsheet, are replaced by spaces, because a
// lead is worth more than an exact name (decision 62).
func (p *problems) name(f field) string {
	name := p.copied(f, maxName)
	if !strings.ContainsFunc(name, unicode.IsControl) {
		return name
	}
	p.warn(f, ControlCharacters, "contained control characters, which were replaced by spaces. Send the name without them")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name))
}
