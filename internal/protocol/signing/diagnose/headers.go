package diagnose

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// readSig is a decoded signature. The field mac is nil if the signature could not be decoded. The
// length of mac depends on the hash that the partner used.
type readSig struct {
	mac   []byte
	wrong finding
	note  string
}

const digitsAlone = "Send only the 64 hex digits."

func readSignature(text string) readSig {
	if text == "" {
		return readSig{wrong: finding{
			"signature_missing", "The signature is missing.", "Send the signature in X-Signature-SHA256, as 64 hex digits.",
		}}
	}
	if mac, ok := signing.ParseSignature(signing.Headers{Signature: []string{text}}); ok {
		out := readSig{mac: mac[:]}
		if text != strings.ToLower(text) {
			out.note = "The hex digits are in upper case, which is accepted."
		}
		return out
	}
	bare := strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("\"'`<>", r)
	})
	if bare != text && bare != "" {
		if inner := readSignature(bare); inner.mac != nil {
			if inner.wrong.verdict == "" {
				inner.wrong = finding{"signature_quoted", "The signature has quotes, spaces or invisible characters around it.", digitsAlone}
			}
			return inner
		}
	}
	for _, read := range []func(string) readSig{prefixedHex, pairs, countedHex, inBase64, prefixedBase64} {
		if out := read(bare); out.wrong.verdict != "" {
			return out
		}
	}
	return readSig{wrong: finding{"signature_form", fmt.Sprintf(
		"The signature is not 64 hex digits. It has %d characters and is not a hash in hex or base64.",
		len([]rune(text))), digitsAlone}}
}

// prefixedHex decodes hex digits after a prefix, as in sha256=…, v1=…, 0x… and t=…,v1=….
func prefixedHex(text string) readSig {
	at := len(text)
	for at > 0 && isHex(text[at-1]) {
		at--
	}
	mac, err := hex.DecodeString(text[at:])
	if at == 0 || err != nil || hashName(len(mac)) == "" {
		return readSig{}
	}
	return readSig{
		mac:   mac,
		wrong: finding{"signature_prefix", "The signature has " + quotePrefix(text[:at]) + " before its hex digits.", digitsAlone},
	}
}

func quotePrefix(text string) string {
	if len(text) <= 20 && strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) < 0 {
		return "the prefix " + text
	}
	return "other text"
}

// pairs decodes hex digits with separators, as in AB-CD-… and ab:cd:….
func pairs(text string) readSig {
	joined := strings.NewReplacer("-", "", ":", "", " ", "").Replace(text)
	mac, err := hex.DecodeString(joined)
	if joined == text || err != nil || hashName(len(mac)) == "" {
		return readSig{}
	}
	return readSig{
		mac: mac,
		wrong: finding{"signature_separated", "The signature has separators between its hex digits.", digitsAlone +
			" In C#, use Convert.ToHexString instead of BitConverter.ToString."},
	}
}

// countedHex recognises a wrong number of hex digits, such as the length of a different hash.
func countedHex(text string) readSig {
	for i := range len(text) {
		if !isHex(text[i]) {
			return readSig{}
		}
	}
	const want = 2 * sha256.Size
	n := len(text)
	var mac []byte
	padded := text
	if n < want && n >= want-6 {
		padded = strings.Repeat("0", want-n) + text
	}
	if len(padded)%2 == 0 && (hashName(len(padded)/2) != "") {
		mac, _ = hex.DecodeString(padded)
	}
	f := finding{"signature_length", fmt.Sprintf("The signature has %d hex digits instead of 64.", n), "Send two hex digits for each of the 32 bytes of the HMAC SHA-256, including leading zeros."}
	if padded == text && mac != nil {
		f = finding{"signature_hash", fmt.Sprintf("The signature has %d hex digits, which is the length of %s. HMAC SHA-256 has 64.",
			n, hashName(len(mac))), "Use HMAC SHA-256."}
	}
	return readSig{mac: mac, wrong: f}
}

// inBase64 decodes a signature in base64, which may encode either the bytes or the hex digits.
func inBase64(text string) readSig {
	plain := strings.TrimRight(text, "=")
	name := "base64"
	mac, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		name = "base64url"
		mac, err = base64.RawURLEncoding.DecodeString(plain)
	}
	if err != nil {
		return readSig{}
	}
	if inner, err := hex.DecodeString(string(mac)); err == nil && len(inner) == sha256.Size {
		return readSig{
			mac:   inner,
			wrong: finding{"signature_base64_of_hex", "The signature is the " + name + " encoding of its hex digits.", digitsAlone},
		}
	}
	if hashName(len(mac)) == "" {
		return readSig{}
	}
	return readSig{
		mac:   mac,
		wrong: finding{"signature_base64", "The signature is in " + name + " instead of hex.", "Encode the 32 bytes of the HMAC as 64 hex digits."},
	}
}

func prefixedBase64(text string) readSig {
	at := strings.IndexAny(strings.TrimRight(text, "="), "=:,")
	if at < 0 {
		return readSig{}
	}
	out := inBase64(strings.TrimSpace(text[at+1:]))
	if out.wrong.verdict != "" {
		out.wrong = finding{"signature_prefix_base64", "The signature has " + quotePrefix(text[:at+1]) +
			" before it and is in base64 instead of hex.", "Encode the 32 bytes of the HMAC as 64 hex digits, without a prefix."}
	}
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

type sentTime struct {
	wrong   finding
	outside finding  // set if the timestamp is valid but too far from the current time
	instead []string // timestamps that may have been signed instead
}

func readTimestamp(text string, now time.Time) sentTime {
	if text == "" {
		return sentTime{wrong: finding{"timestamp_missing", "The timestamp is missing.", "Send the time of signing in X-Timestamp, as Unix time in whole seconds."}}
	}
	digits := strings.TrimLeft(text, "0")
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return notDigits(text)
		}
	}
	seconds, err := strconv.ParseInt("0"+digits, 10, 64)
	if err != nil {
		return sentTime{wrong: finding{"timestamp_too_large", "The timestamp is too large to be a time in seconds.", "Send Unix time in whole seconds."}}
	}
	for _, unit := range []struct {
		per  int64
		name string
	}{{1e9, "nanoseconds"}, {1e6, "microseconds"}, {1e3, "milliseconds"}} {
		if whole := seconds / unit.per; whole >= 1e8 { // 1e11 seconds would be in the year 5138
			right := strconv.FormatInt(whole, 10)
			return sentTime{
				wrong:   finding{"timestamp_" + unit.name, "The timestamp is in " + unit.name + ".", "Send and sign the time in whole seconds: " + right + "."},
				instead: []string{right},
			}
		}
	}
	out := sentTime{instead: []string{digits, digits + "000"}}
	if signing.CheckTimestamp(text, now) != nil {
		out.outside = outside(now.Unix() - seconds)
	}
	return out
}

// The function outside returns a finding that states how far a timestamp is from the service's clock.
// The parameter age is in seconds.
func outside(age int64) finding {
	const again = "Sign each post, including a retry, just before you send it."
	if age > 0 {
		return finding{"timestamp_late", fmt.Sprintf("The timestamp is %d s behind the service's clock. At most 300 s are allowed, so the post would be rejected now.",
			age),
			again + fmt.Sprintf(" If you have just signed it, your clock is %d s slow.", age)}
	}
	return finding{"timestamp_early", fmt.Sprintf("The timestamp is %d s ahead of the service's clock. At most 300 s are allowed, so the post would be rejected now.",
		-age),
		fmt.Sprintf("Your clock is %d s fast. Synchronise it with a time server.", -age)}
}

func notDigits(text string) sentTime {
	if bare := strings.Trim(text, "\"'+ \u00a0\r\n\t"); bare != text && bare != "" {
		return sentTime{
			wrong:   finding{"timestamp_quoted", "The timestamp has quotes, spaces or a sign around its digits.", "Send only the digits."},
			instead: []string{bare},
		}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", time.RFC1123,
		time.RFC1123Z, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			right := strconv.FormatInt(at.Unix(), 10)
			return sentTime{
				wrong:   finding{"timestamp_date", "The timestamp is a date.", "Send and sign the Unix time in whole seconds: " + right + "."},
				instead: []string{right},
			}
		}
	}
	if whole, _, cut := strings.Cut(text, "."); cut && whole != "" && strings.Trim(text, "0123456789.") == "" {
		return sentTime{
			wrong:   finding{"timestamp_fraction", "The timestamp has a fraction.", "Send and sign the time in whole seconds: " + whole + "."},
			instead: []string{whole},
		}
	}
	return sentTime{wrong: finding{"timestamp_form", "The timestamp is not a whole number.", "Send Unix time in whole seconds, digits only."}}
}
