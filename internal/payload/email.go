package payload

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// NormaliseEmail returns the form of an address that lookup digests are made of
// (decisions 20, 30): trimmed, in NFC, in lower case as a whole, with the domain in its
// ASCII form. RFC 5321 lets a mailbox distinguish the letter case of its local
// part, but none in use does, and a person who asks for erasure must be found
// however the address was typed. The lead itself keeps the address as it was sent.
func NormaliseEmail(address string) string {
	address = strings.TrimSpace(address)
	if isASCII(address) {
		return strings.ToLower(address)
	}
	address = norm.NFC.String(strings.ToLower(norm.NFC.String(address)))
	local, domain := splitEmail(address)
	if ascii, err := idna.Lookup.ToASCII(domain); err == nil {
		domain = ascii
	}
	return local + domain
}

// EmailForms returns the forms under which the leads of an address may be stored:
// the normalised one first, then those from before domains were normalised, when
// an address was stored as it was typed, in lower case.
func EmailForms(address string) []string {
	normalised := NormaliseEmail(address)
	earlier := []string{strings.ToLower(strings.TrimSpace(address))}
	local, domain := splitEmail(normalised)
	if readable, err := idna.Lookup.ToUnicode(domain); err == nil {
		earlier = append(earlier, norm.NFC.String(local+readable), norm.NFD.String(local+readable))
	}
	forms := []string{normalised}
	for _, form := range earlier {
		if !slices.Contains(forms, form) {
			forms = append(forms, form)
		}
	}
	return forms
}

// splitEmail cuts an address after its last @, which goes with the local part.
func splitEmail(address string) (local, domain string) {
	at := strings.LastIndexByte(address, '@') + 1
	return address[:at], address[at:]
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Lengths of RFC 5321 (4.5.3.1) and RFC 1035 (2.3.4), in octets.
const (
	maxLocalPart = 64
	maxDomain    = 255
	maxLabel     = 63
)

// IsEmail reports whether a text is one e-mail address, as a post's (decision 17).
func IsEmail(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxEmail && isEmail([]byte(text))
}

// isEmail reports whether address has the form of RFC 5321's Mailbox, in which
// non-ASCII characters count as letters (RFC 6531). It is stricter in refusing
// blanks, also where a quoted local part may hold them, and what nobody sees:
// nobody's address has any, and a pasted one does. With one it would be another
// address than the one that is seen, and a look-up by that would miss it.
func isEmail(address []byte) bool {
	at := bytes.LastIndexByte(address, '@') // a quoted local part may hold others
	if at < 1 || at > maxLocalPart || len(address)-at-1 > maxDomain {
		return false
	}
	local, domain := address[:at], address[at+1:]
	return (isDotString(local) || isQuotedString(local)) && (isDomain(domain) || isAddressLiteral(domain))
}

func isDotString(local []byte) bool {
	for atom := range bytes.SplitSeq(local, []byte{'.'}) {
		if len(atom) == 0 {
			return false
		}
		for _, r := range string(atom) {
			if !isLetter(r) && !strings.ContainsRune("0123456789!#$%&'*+-/=?^_`{|}~", r) {
				return false
			}
		}
	}
	return true
}

func isQuotedString(local []byte) bool {
	if len(local) < 2 || local[0] != '"' || local[len(local)-1] != '"' {
		return false
	}
	inner := local[1 : len(local)-1]
	for i := 0; i < len(inner); {
		if inner[i] == '\\' { // takes the next character whatever it is
			i++
		} else if inner[i] == '"' {
			return false
		}
		r, size := utf8.DecodeRune(inner[i:])
		if size == 0 || !isVisible(r) {
			return false
		}
		i += size
	}
	return true
}

func isDomain(domain []byte) bool {
	for label := range bytes.SplitSeq(domain, []byte{'.'}) {
		if len(label) == 0 || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range string(label) {
			if !isLetter(r) && r != '-' && (r < '0' || r > '9') {
				return false
			}
		}
	}
	return true
}

// isAddressLiteral reads the bracketed IP address that may stand for a domain.
func isAddressLiteral(domain []byte) bool {
	inner, opened := bytes.CutPrefix(domain, []byte{'['})
	inner, closed := bytes.CutSuffix(inner, []byte{']'})
	if !opened || !closed {
		return false
	}
	six, tagged := bytes.CutPrefix(inner, []byte("IPv6:"))
	ip, err := netip.ParseAddr(string(six))
	return err == nil && ip.Zone() == "" && ip.Is4() == !tagged
}

// isLetter is ASCII's letters and everything beyond ASCII that is visible.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return isVisible(r)
}

// isVisible is false for blanks, controls, and what leaves no trace on a screen:
// formats, joiners, fillers and variation selectors.
func isVisible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsControl(r) &&
		!unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
