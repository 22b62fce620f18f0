package payload

import "github.com/nyaruka/phonenumbers"

// NormalisePhone converts the phone number to E.164 format, unless it was sent as phoneE164. It reads
// the number as if it were dialled in country, which is the lead's country as two upper-case letters. It
// sets Contact.PhoneE164 and clears Contact.PhoneFlagged. If it cannot convert the number, it changes
// nothing (decision 17).
func (p *Post) NormalisePhone(country string) {
	c := &p.Contact
	if !c.PhoneFlagged {
		return
	}
	if text, ok := E164(c.Phone, country); ok {
		c.PhoneE164, c.PhoneFlagged = text, false
	}
}

// E164 converts a phone number to E.164 format, reading it as if it were dialled in the given country.
// The number must have a possible length. It need not be in an assigned range, because the known ranges
// can be out of date, and lookups only need a unique form.
func E164(phone, country string) (text string, ok bool) {
	number, err := phonenumbers.Parse(phone, country)
	if err != nil || phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return "", false
	}
	text = phonenumbers.Format(number, phonenumbers.E164)
	return text, isE164(text)
}

func isE164(text string) bool {
	if len(text) < 3 || len(text) > 16 || text[0] != '+' || text[1] == '0' {
		return false
	}
	for _, d := range text[1:] {
		if d < '0' || d > '9' {
			return false
		}
	}
	return true
}
