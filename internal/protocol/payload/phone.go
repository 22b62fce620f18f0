package payload

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"github.com/pingpost/pingpost/internal/base/plaintext"
)

// E164 converts a phone number to E.164 format, reading it as if it were dialled in the given country,
// which is two upper-case letters or "". It returns false unless the number is valid in its country: it has
// a possible length and is in an assigned range (decision 62).
//
// A zero after the country code, as in +44 (0)20, is dropped if the number is valid only without it. Some
// numbers keep it, such as those in Italy. Extensions are left out.
func E164(phone, country string) (text string, ok bool) {
	phone = visiblePhone(phone)
	if isE164(phone) && isValidE164(phone, country) {
		return phone, true
	}
	number, err := phonenumbers.ParseAndKeepRawInput(phone, country)
	if err != nil || !isValid(number, country) && !dropTrunkZero(number) {
		return "", false
	}
	text = phonenumbers.Format(number, phonenumbers.E164)
	return text, isE164(text)
}

// isValidE164 reports whether a number in E.164 format is valid without a change. The library's parser is
// needed only for other numbers, and takes longer than everything else.
func isValidE164(phone, country string) bool {
	for end := 2; end <= min(4, len(phone)-1); end++ {
		code, _ := strconv.ParseInt(phone[1:end], 10, 32)
		if phonenumbers.GetRegionCodeForCountryCode(int(code)) == phonenumbers.UNKNOWN_REGION {
			continue
		}
		code32 := int32(code)
		national, _ := strconv.ParseUint(phone[end:], 10, 64)
		number := &phonenumbers.PhoneNumber{CountryCode: &code32, NationalNumber: &national}
		return phone[end] != '0' && isValid(number, country)
	}
	return false
}

// isValid reports whether a number is valid in a country with its calling code. It first tries the given country or, if
// that has another calling code, the main country of the number's calling code. In most cases, this is enough.
// Otherwise, the library tries all countries with this calling code.
func isValid(number *phonenumbers.PhoneNumber, country string) bool {
	code := int(number.GetCountryCode())
	if phonenumbers.GetCountryCodeForRegion(country) != code {
		country = phonenumbers.GetRegionCodeForCountryCode(code)
	}
	return phonenumbers.IsValidNumberForRegion(number, country) || phonenumbers.IsValidNumber(number)
}

// dropTrunkZero drops a zero after the country code, and reports whether this makes the number valid. It is
// needed for countries without a trunk prefix. For the others, the library drops the zero.
func dropTrunkZero(number *phonenumbers.PhoneNumber) bool {
	if number.GetCountryCodeSource() == phonenumbers.PhoneNumber_FROM_DEFAULT_COUNTRY ||
		!number.GetItalianLeadingZero() || number.GetNumberOfLeadingZeros() > 1 {
		return false
	}
	number.ItalianLeadingZero = nil // the library uses this field for all countries
	return phonenumbers.IsValidNumber(number)
}

// PhoneDigits returns the digits of a phone number in ASCII. The lookup digest of a number that is not
// valid is made from its digits.
func PhoneDigits(phone string) string {
	return strings.Map(func(r rune) rune {
		if digit := decimalDigit(r); digit >= 0 {
			return '0' + digit
		}
		return -1
	}, phone)
}

// LooksLikePhone reports whether a text consists of 7 to 15 digits, like a phone number, and of characters that people
// write between the digits.
func LooksLikePhone(text string) bool {
	n := len(PhoneDigits(text))
	return n >= 7 && n <= 15 && strings.TrimFunc(visiblePhone(text), func(r rune) bool {
		return unicode.IsDigit(r) || strings.ContainsRune("+()-./ ‐‑‒–", r)
	}) == ""
}

// decimalDigit returns the value of a decimal digit in any script, or -1. In Unicode, the digits of a script
// follow one another from 0 to 9, and so do adjacent sets of digits.
func decimalDigit(r rune) rune {
	if !unicode.IsDigit(r) {
		return -1
	}
	var before rune
	for unicode.IsDigit(r - 1 - before) {
		before++
	}
	return before % 10
}

// PhoneForms returns the forms of a phone number from which lookup digests are made: the number in E.164 format, if
// it is valid, and its digits.
func PhoneForms(phone, country string) (forms []string) {
	valid, _ := E164(phone, country)
	for _, form := range []string{valid, PhoneDigits(phone)} {
		if form != "" {
			forms = append(forms, form)
		}
	}
	return forms
}

// visiblePhone removes invisible format characters from a phone number, and replaces white space of any
// kind by spaces.
func visiblePhone(phone string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case plaintext.IsBlank(r):
			return -1
		}
		return r
	}, phone)
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
