package payload

import "github.com/pingpost/pingpost/internal/apperr"

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
	c.Name = p.copied(first(
		field{raw: in.name, parent: "contact", name: "name"},
		field{raw: in.fullName, parent: "contact", name: "fullName"},
		field{raw: f.name, name: "name"},
	), maxName)
	if in.phoneE164 != nil {
		c.Phone = p.phoneE164(field{raw: in.phoneE164, parent: "contact", name: "phoneE164"})
		c.PhoneE164 = c.Phone
		return c
	}
	phone, given := p.text(first(
		field{raw: in.phone, parent: "contact", name: "phone"},
		field{raw: f.phone, name: "phone"},
	), maxPhone)
	c.Phone, c.PhoneFlagged = string(phone), given
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
			f.name = value
		case "fullName":
			f.fullName = value
		case "phoneE164":
			f.phoneE164 = value
		case "phone":
			f.phone = value
		}
	}
	return f
}

func (p *problems) email(f field) string {
	if f.raw == nil {
		p.add(f, apperr.Required, "an email address is required")
	}
	address, ok := p.text(f, maxEmail)
	if ok && !isEmail(address) {
		p.add(f, apperr.InvalidValue,
			"must be one email address, such as name@example.com, without a display name, spaces or invisible characters")
	}
	return string(address)
}

func (p *problems) phoneE164(f field) string {
	number, ok := p.text(f, maxPhone)
	if ok && !isE164(string(number)) {
		p.add(f, apperr.InvalidValue,
			"must be in E.164 format: a plus sign, the country code and the number, with at most 15 digits. Send other formats as phone")
	}
	return string(number)
}
