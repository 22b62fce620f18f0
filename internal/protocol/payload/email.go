package payload

import (
	"bytes"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"github.com/pingpost/pingpost/internal/base/plaintext"
)

// NormaliseEmail returns the form of an address that is used for lookup digests (decisions 20, 30):
// trimmed, in NFC, in lower case, with the domain in its ASCII form. RFC 5321 allows case-sensitive
// local parts, but mail providers do not use them, and an erasure request must find the address
// regardless of case. The lead itself stores the address as sent.
func NormaliseEmail(address string) string {
	address = plaintext.Trim(address)
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

// splitEmail splits an address after its last @. The local part includes the @.
func splitEmail(address string) (local, domain string) {
	at := strings.LastIndexByte(address, '@') + 1
	return address[:at], address[at:]
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// These are maximum lengths in octets, from RFC 5321 (4.5.3.1) and RFC 1035 (2.3.4).
const (
	maxLocalPart = 64
	maxDomain    = 255
	maxLabel     = 63
)

// IsEmail reports whether text is a single email address in a form that posts may use (decision 17).
func IsEmail(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxEmail && isEmail([]byte(text))
}

// isEmail reports whether address is a Mailbox as defined in RFC 5321, with non-ASCII characters allowed
// as letters (RFC 6531). Unlike RFC 5321, it rejects white space, even in a quoted local part, and
// invisible characters. Such characters come from copying and pasting, and a search for the address as
// displayed would not find the lead.
func isEmail(address []byte) bool {
	at := bytes.LastIndexByte(address, '@') // a quoted local part may contain an @ too
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
		if inner[i] == '\\' { // escapes the next character, whatever it is
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

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return isVisible(r)
}

// isVisible reports whether r is neither white space nor a control character nor an invisible
// character, such as a joiner, a filler or a variation selector.
func isVisible(r rune) bool {
	return !unicode.IsSpace(r) && !unicode.IsControl(r) &&
		!unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
