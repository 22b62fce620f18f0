package payload

import "github.com/nyaruka/phonenumbers"

// NormalisePhone brings a phone that was sent under an alias to E.164, reading
// it as it is dialled in country, the lead's: two letters, upper case. It fills
// Contact.PhoneE164 and clears Contact.PhoneFlagged; a phone that it cannot
// bring to that form stays as it is, flagged (decision 17). It does nothing to one that
// is in that form already.
func (p *Post) NormalisePhone(country string) {
	c := &p.Contact
	if !c.PhoneFlagged {
		return
	}
	if text, ok := E164(c.Phone, country); ok {
		c.PhoneE164, c.PhoneFlagged = text, false
	}
}

// E164 is the international form of a phone, read as it is dialled in country. A
// number need only have a possible length, not lie in an assigned range: the
// ranges known here are older than some customers' numbers, and the purpose is
// one form to find a person by.
func E164(phone, country string) (text string, ok bool) {
	number, err := phonenumbers.Parse(phone, country)
	if err != nil || phonenumbers.IsPossibleNumberWithReason(number) != phonenumbers.IS_POSSIBLE {
		return "", false
	}
	text = phonenumbers.Format(number, phonenumbers.E164)
	return text, isE164(text)
}

// isE164 reports whether text is a plus sign and 2 to 15 digits, the first of
// them no zero.
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
