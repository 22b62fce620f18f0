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

	"github.com/pingpost/pingpost/internal/signing"
)

// readSig is a signature as far as it can be read. mac is nil when it cannot be; its
// length is that of whatever hash it is of.
type readSig struct {
	mac   []byte
	wrong finding
	note  string
}

const digitsAlone = "Send the 64 hex digits alone."

// readSignature reads what is no signature by the rules all the same, to say what it
// is instead.
func readSignature(text string) readSig {
	if text == "" {
		return readSig{wrong: finding{"signature_missing", "There is no signature.", "Send it as X-Signature-SHA256: 64 hex digits."}}
	}
	if mac, ok := signing.ParseSignature(signing.Headers{Signature: []string{text}}); ok {
		out := readSig{mac: mac[:]}
		if text != strings.ToLower(text) {
			out.note = "The hex digits are in upper case: that is accepted."
		}
		return out
	}
	bare := strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("\"'`<>", r)
	})
	if bare != text && bare != "" {
		if inner := readSignature(bare); inner.mac != nil {
			if inner.wrong.verdict == "" {
				inner.wrong = finding{"signature_quoted", "The signature has quotes, blanks or invisible characters around it.", digitsAlone}
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
		"The signature is not 64 hex digits: it has %d characters, and they are neither hex nor base64 of a hash.",
		len([]rune(text))), digitsAlone}}
}

// prefixedHex knows sha256=…, v1=…, 0x… and t=…,v1=….
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

// quotePrefix shows a prefix that is one, and of anything longer only that it is there.
func quotePrefix(text string) string {
	if len(text) <= 20 && strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) < 0 {
		return "the prefix " + text
	}
	return "a text"
}

// pairs knows AB-CD-… and ab:cd:….
func pairs(text string) readSig {
	joined := strings.NewReplacer("-", "", ":", "", " ", "").Replace(text)
	mac, err := hex.DecodeString(joined)
	if joined == text || err != nil || hashName(len(mac)) == "" {
		return readSig{}
	}
	return readSig{
		mac: mac,
		wrong: finding{"signature_separated", "The signature's hex digits are separated.", digitsAlone +
			" C# writes such pairs with BitConverter.ToString: use Convert.ToHexString."},
	}
}

// countedHex knows hex digits that are too few, too many, or of another hash.
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
	f := finding{"signature_length", fmt.Sprintf("The signature has %d hex digits, and not 64.", n), "Send all 64 of them: two for each of the 32 bytes of HMAC SHA-256, leading zeros included."}
	if padded == text && mac != nil {
		f = finding{"signature_hash", fmt.Sprintf("The signature has %d hex digits, as of %s, and not the 64 of HMAC SHA-256.",
			n, hashName(len(mac))), "Use SHA-256."}
	}
	return readSig{mac: mac, wrong: f}
}

// inBase64 knows base64 of the bytes, and of the hex digits.
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
			wrong: finding{"signature_base64_of_hex", "The signature is " + name + " of its hex digits.", digitsAlone},
		}
	}
	if hashName(len(mac)) == "" {
		return readSig{}
	}
	return readSig{
		mac:   mac,
		wrong: finding{"signature_base64", "The signature is in " + name + ", and not in hex.", "Write the 32 bytes of the HMAC as 64 hex digits."},
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
			" in front, and is in base64 and not in hex.", "Write the 32 bytes of the HMAC as 64 hex digits, and nothing else."}
	}
	return out
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// sentTime is a timestamp as far as it can be read.
type sentTime struct {
	wrong   finding
	outside finding  // a right one that is out of the window now
	instead []string // the texts that may have been signed instead
}

func readTimestamp(text string, now time.Time) sentTime {
	if text == "" {
		return sentTime{wrong: finding{"timestamp_missing", "There is no timestamp.", "Send the time of signing as X-Timestamp: Unix time in whole seconds."}}
	}
	digits := strings.TrimLeft(text, "0")
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return notDigits(text)
		}
	}
	seconds, err := strconv.ParseInt("0"+digits, 10, 64)
	if err != nil {
		return sentTime{wrong: finding{"timestamp_too_large", "The timestamp is no time in seconds: the number is too large.", "Send Unix time in whole seconds."}}
	}
	for _, unit := range []struct {
		per  int64
		name string
	}{{1e9, "nanoseconds"}, {1e6, "microseconds"}, {1e3, "milliseconds"}} {
		if whole := seconds / unit.per; whole >= 1e8 { // as a number of seconds it would be after the year 5138
			right := strconv.FormatInt(whole, 10)
			return sentTime{
				wrong:   finding{"timestamp_" + unit.name, "The timestamp is in " + unit.name + ".", "Send whole seconds, and sign the text that is sent: " + right + "."},
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

// outside tells how far a timestamp is from the window's middle.
func outside(age int64) finding {
	const again = "Sign each post right before it is sent, a retry too"
	if age > 0 {
		return finding{"timestamp_late", fmt.Sprintf("Its timestamp is %d s before the service's clock, and 300 s are allowed: sent now, it would be refused.",
			age),
			again + fmt.Sprintf("; if it was signed just now, the clock is %d s slow.", age)}
	}
	return finding{"timestamp_early", fmt.Sprintf("Its timestamp is %d s after the service's clock, and 300 s are allowed: sent now, it would be refused.",
		-age),
		fmt.Sprintf("The clock is %d s fast: set it by a time server.", -age)}
}

func notDigits(text string) sentTime {
	if bare := strings.Trim(text, "\"'+ \u00a0\r\n\t"); bare != text && bare != "" {
		return sentTime{
			wrong:   finding{"timestamp_quoted", "The timestamp has quotes, blanks or a sign around its digits.", "Send the digits alone."},
			instead: []string{bare},
		}
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05", time.RFC1123,
		time.RFC1123Z, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			right := strconv.FormatInt(at.Unix(), 10)
			return sentTime{
				wrong:   finding{"timestamp_date", "The timestamp is a date.", "Send Unix time in whole seconds, and sign the text that is sent: " + right + "."},
				instead: []string{right},
			}
		}
	}
	if whole, _, cut := strings.Cut(text, "."); cut && whole != "" && strings.Trim(text, "0123456789.") == "" {
		return sentTime{
			wrong:   finding{"timestamp_fraction", "The timestamp has a fraction.", "Send whole seconds, and sign the text that is sent: " + whole + "."},
			instead: []string{whole},
		}
	}
	return sentTime{wrong: finding{"timestamp_form", "The timestamp is no whole number.", "Send Unix time in whole seconds: digits, and nothing else."}}
}
