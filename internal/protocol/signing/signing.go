// Package signing checks the signature of a post. The signature is the HMAC-SHA256, in hex, of the text
// of the X-Timestamp header, a dot, and the exact bytes of the body (specification: Authentication;
// decisions 12, 15).
//
// The package does no I/O. Callers pass the headers, the time and the secrets.
package signing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// Tolerance is the maximum difference between a timestamp and the service's clock.
const Tolerance = 300 * time.Second

// These are the errors that the specification defines for signatures. All have status 401.
var (
	ErrNoSignature = apperr.New(apperr.Unauthorized, "signature_missing",
		"Missing required X-Signature-SHA256 header").WithPublicCode(apperr.SignatureMissing)
	ErrSignature = apperr.New(apperr.Unauthorized, "signature",
		"Invalid HMAC SHA-256 signature").WithPublicCode(apperr.SignatureInvalid)
	errSignatureFormat = ErrSignature.WithPublicCode(apperr.SignatureMalformed)
	ErrNoTimestamp     = apperr.New(apperr.Unauthorized, "timestamp_missing",
		"Missing X-Timestamp header for replay attack protection").WithPublicCode(apperr.TimestampMissing)
	ErrTimestampFormat = apperr.New(apperr.Unauthorized, "timestamp_format",
		"Invalid X-Timestamp header format").WithPublicCode(apperr.TimestampMalformed)
	ErrTimestampWindow = apperr.New(apperr.Unauthorized, "timestamp_window",
		"Timestamp outside allowed 300s tolerance window").WithPublicCode(apperr.TimestampOutsideWindow)
)

// Headers contains the header values as sent, with one entry per occurrence.
type Headers struct {
	Timestamp []string // X-Timestamp
	Signature []string // X-Signature-SHA256
	Alias     []string // X-Signature
}

// Claim contains the signature and the timestamp from the headers of a post. It proves nothing until it
// is verified.
type Claim struct {
	Signed    bool
	timestamp string // as signed, without surrounding blanks
	mac       [sha256.Size]byte
}

// Check checks the format of the headers, and that the timestamp is within [Tolerance] of now. It makes
// these checks in the order of decision 12. An unsigned post needs no timestamp, but if it has one, the
// timestamp is checked.
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
		return claim, errSignatureFormat
	}
	claim.mac = mac
	return claim, nil
}

// CheckTimestamp checks that a timestamp is Unix time in seconds within [Tolerance] of now.
func CheckTimestamp(text string, now time.Time) error {
	if text == "" {
		return ErrTimestampFormat
	}
	const beyond = 1 << 50 // far outside the window; also caps numbers that overflow an int64
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

// ParseSignature decodes the signature in the headers. The result ok is false if the signature is
// malformed.
func ParseSignature(h Headers) (mac [sha256.Size]byte, ok bool) {
	if len(h.Signature) > 1 || len(h.Alias) > 1 {
		return mac, false
	}
	for i, values := range [][]string{h.Signature, h.Alias} {
		if len(values) == 0 {
			continue
		}
		var sum [sha256.Size]byte
		var digits [2 * len(sum)]byte
		text := TrimBlanks(values[0])
		if len(text) != copy(digits[:], text) || len(text) != len(digits) {
			return mac, false
		}
		if _, err := hex.Decode(sum[:], digits[:]); err != nil {
			return mac, false
		}
		if i == 1 && len(h.Signature) == 1 && sum != mac {
			return mac, false // the two headers have different values
		}
		mac = sum
	}
	return mac, true
}

// TrimBlanks removes HTTP's optional white space (spaces and tabs) from both ends of a value. A
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

// Verifier checks claims against one secret. It is faster than a new HMAC for each post, but is not safe
// for concurrent use.
type Verifier struct {
	mac hash.Hash
	// head and sum are buffers that save an allocation per post.
	head []byte
	sum  [sha256.Size]byte
}

// NewVerifier returns a Verifier for a secret. The secret is the UTF-8 text exactly as shown to the
// partner (decision 16).
func NewVerifier(secret []byte) *Verifier {
	return &Verifier{mac: hmac.New(sha256.New, secret), head: make([]byte, 0, 32)}
}

// Verify reports whether the secret signed a post with the given claim and body. It compares signatures
// in constant time.
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

// Sign returns the signature of a post, in lower-case hex.
func Sign(secret []byte, timestamp string, body []byte) string {
	return hex.EncodeToString(NewVerifier(secret).append(nil, timestamp, body))
}
