// Package signing checks the signature of a post: HMAC-SHA256, hex, over the
// X-Timestamp header's text, a dot, and the body's exact bytes (the
// specification's Authentication; decisions 12, 15).
//
// The package is pure: it is given the headers, the time and the secrets.
package signing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
)

// Tolerance is how far a timestamp may be from the service's clock, either way.
const Tolerance = 300 * time.Second

// The specification's refusals. Each is a 401.
var (
	ErrNoSignature = apperr.New(apperr.Unauthorized, "signature_missing", "Missing required X-Signature-SHA256 header")
	ErrSignature   = apperr.New(apperr.Unauthorized, "signature", "Invalid HMAC SHA-256 signature")
	ErrNoTimestamp = apperr.New(apperr.Unauthorized, "timestamp_missing",
		"Missing X-Timestamp header for replay attack protection")
	ErrTimestampFormat = apperr.New(apperr.Unauthorized, "timestamp_format", "Invalid X-Timestamp header format")
	ErrTimestampWindow = apperr.New(apperr.Unauthorized, "timestamp_window", "Timestamp outside allowed 300s tolerance window")
)

// Headers are the values as they were sent, one entry each time a name occurs.
type Headers struct {
	Timestamp []string // X-Timestamp
	Signature []string // X-Signature-SHA256
	Alias     []string // X-Signature
}

// Claim is what the headers say once their form has been checked. It proves
// nothing until Verify does.
type Claim struct {
	Signed    bool
	timestamp string // as sent, surrounding blanks trimmed: part of the signed bytes
	mac       [sha256.Size]byte
}

// Check judges the headers' form and the timestamp's window at now, in the
// order of decision 12. An unsigned post may have no timestamp; one that is there is
// still checked.
func Check(h Headers, now time.Time) (Claim, error) {
	claim := Claim{Signed: len(h.Signature)+len(h.Alias) > 0}
	switch {
	case len(h.Timestamp) == 0 && claim.Signed:
		return claim, ErrNoTimestamp
	case len(h.Timestamp) == 0:
		return claim, nil
	case len(h.Timestamp) > 1:
		return claim, ErrTimestampFormat
	}
	claim.timestamp = TrimBlanks(h.Timestamp[0])
	if err := CheckTimestamp(claim.timestamp, now); err != nil {
		return claim, err
	}
	if !claim.Signed {
		return claim, nil
	}
	mac, ok := ParseSignature(h)
	if !ok {
		return claim, ErrSignature
	}
	claim.mac = mac
	return claim, nil
}

// CheckTimestamp checks that a timestamp is Unix time in seconds within [Tolerance] of now.
func CheckTimestamp(text string, now time.Time) error {
	if text == "" {
		return ErrTimestampFormat
	}
	const beyond = 1 << 50 // far outside the window: a number that no integer holds ends here too
	var seconds int64
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return ErrTimestampFormat
		}
		seconds = min(10*seconds+int64(text[i]-'0'), beyond)
	}
	if age := now.Unix() - seconds; age > int64(Tolerance/time.Second) || age < -int64(Tolerance/time.Second) {
		return ErrTimestampWindow
	}
	return nil
}

// ParseSignature decodes the signature of the headers; ok is false if its form is wrong.
func ParseSignature(h Headers) (mac [sha256.Size]byte, ok bool) {
	if len(h.Signature) > 1 || len(h.Alias) > 1 {
		return mac, false
	}
	for i, values := range [][]string{h.Signature, h.Alias} {
		if len(values) == 0 {
			continue
		}
		var one [sha256.Size]byte
		var digits [2 * len(one)]byte
		text := TrimBlanks(values[0])
		if len(text) != copy(digits[:], text) || len(text) != len(digits) {
			return mac, false
		}
		if _, err := hex.Decode(one[:], digits[:]); err != nil {
			return mac, false
		}
		if i == 1 && len(h.Signature) == 1 && one != mac {
			return mac, false // the two names with different values
		}
		mac = one
	}
	return mac, true
}

// TrimBlanks removes what HTTP calls optional white space, and nothing else: a
// no-break space is part of the value and makes it malformed.
func TrimBlanks(s string) string {
	for s != "" && blank(s[0]) {
		s = s[1:]
	}
	for s != "" && blank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// Verifier checks claims against one secret without deriving its pads each
// time. It is not safe for concurrent use; Reset between posts is implied.
type Verifier struct {
	mac hash.Hash
	// What crosses hash.Hash's interface is otherwise allocated for each post.
	head []byte
	sum  [sha256.Size]byte
}

// NewVerifier takes the secret's UTF-8 bytes exactly as shown to the partner (decision 16).
func NewVerifier(secret []byte) *Verifier {
	return &Verifier{mac: hmac.New(sha256.New, secret), head: make([]byte, 0, 32)}
}

// Verify reports, in constant time, whether the claim was signed with the secret.
func (v *Verifier) Verify(c Claim, body []byte) bool {
	if !c.Signed {
		return false
	}
	v.mac.Reset()
	return hmac.Equal(v.append(v.sum[:0], c.timestamp, body), c.mac[:])
}

func (v *Verifier) append(dst []byte, timestamp string, body []byte) []byte {
	v.head = append(append(v.head[:0], timestamp...), '.')
	v.mac.Write(v.head)
	v.mac.Write(body)
	return v.mac.Sum(dst)
}

// Sign is the signature that a partner sends: hex, lower case.
func Sign(secret []byte, timestamp string, body []byte) string {
	return hex.EncodeToString(NewVerifier(secret).append(nil, timestamp, body))
}
