// Package quote seals and opens transactionIds (decision 1). A transactionId is a token that
// contains the price quoted to a partner. Only this platform can create or change it.
//
// A token is "tx_", followed by the unpadded base64url encoding of
//
//	version (1) | key id (1) | nonce (24) | ciphertext | tag (16)
//
// The quote is encrypted with XChaCha20-Poly1305, with the version and the key id as additional
// data. The first 16 bytes of the nonce are a UUIDv7, which identifies the transaction and contains
// the issue time. Sealing and opening a quote need no storage.
//
// The package does no I/O. Callers pass the time and random bytes.
package quote

import (
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
)

const (
	// Prefix starts every transactionId.
	Prefix = "tx_"
	// Validity is how long a quote is valid. A quote of exactly this age is still valid.
	Validity = 15 * time.Minute
	// MaxAhead is how far the clock of another node may be ahead of this node's clock.
	MaxAhead = 5 * time.Second
	// MaxLength is the maximum length of a transactionId in characters.
	MaxLength = 200
	// RandomSize is the number of random bytes that a quote needs.
	RandomSize = 10 + 8

	version  = 1
	head     = 2 // version and key id
	overhead = head + chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead
	maxPlain = (MaxLength-len(Prefix))*6/8 - overhead
)

var encoding = base64.RawURLEncoding.Strict()

// Quote contains the price for a ping and the data that is needed when a post uses the quote.
type Quote struct {
	// ID identifies the transaction and contains the issue time in milliseconds. Append sets it.
	ID uuid.UUID

	Price       money.Amount
	Country     [2]byte // ISO 3166-1 alpha-2, from the ping
	TermID      int     // the industry's taxonomy term id
	Urgency     uint8   // a pricing_rules.Class
	Postcode    string
	CardVersion int       // version of the rate card that the price comes from
	Partner     uuid.UUID // the partner that the quote was made for; Nil for the shared base URL
	Sandbox     bool

	Reference, SubID Tag
}

// Tag is a reference or subId from a ping. It is included in a quote if it fits (decision 63).
type Tag struct {
	Value   string
	Dropped bool // the partner sent a value that is not valid or did not fit, so Value is ""
}

// IssuedAt returns the time of the ping, in whole milliseconds.
func (q Quote) IssuedAt() time.Time { return id.Time(q.ID) }

// ExpiresAt returns the last time at which the quote is valid.
func (q Quote) ExpiresAt() time.Time { return q.IssuedAt().Add(Validity) }

// ErrFormat is returned for tokens that this platform did not issue. Such a token has the wrong
// prefix, alphabet, length, version, key, tag or encoding.
var ErrFormat = errors.New("transactionId does not have the format of the ping response")

// ErrExpired is returned for a genuine quote that has expired.
var ErrExpired = errors.New("quote has expired")

// Sealer seals quotes with its first key and opens them with any of its keys. It is safe for concurrent
// use.
type Sealer struct{ keys atomic.Pointer[[]sealingKey] }

type sealingKey struct {
	aead cipher.AEAD
	id   byte
	head [head]byte
}

// NewSealer returns a Sealer with 32-byte keys, such as those from keyring.Keys.QuoteKeys. The
// first key is used for sealing.
func NewSealer(keys [][]byte) (*Sealer, error) {
	s := &Sealer{}
	if err := s.Replace(keys); err != nil {
		return nil, err
	}
	return s, nil
}

// Replace uses other 32-byte keys from now on.
func (s *Sealer) Replace(keys [][]byte) error {
	if len(keys) == 0 {
		return errors.New("no quote key")
	}
	next := make([]sealingKey, len(keys))
	for i, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return fmt.Errorf("quote key: %w", err)
		}
		keyID := idOf(aead)
		next[i] = sealingKey{aead: aead, id: keyID, head: [head]byte{version, keyID}}
	}
	s.keys.Store(&next)
	return nil
}

// idOf returns the one-byte id of a key. It is the first byte of the tag that the key produces for an
// empty message and a zero nonce. A quote never has a zero nonce, because the version bits of a UUIDv7
// are not zero. If two keys have the same id, Open tries both.
func idOf(aead cipher.AEAD) byte {
	return aead.Seal(nil, make([]byte, chacha20poly1305.NonceSizeX), nil, nil)[0]
}

// Seal seals a quote and appends the token to dst. The parameter now is the time at which the quote
// is issued. It also returns the quote with its ID, and without the tags that did not fit. It returns an
// error if a field is out of range, such as a negative price or a postcode longer than 16 characters.
func (s *Sealer) Seal(dst []byte, q Quote, now time.Time, random [RandomSize]byte) ([]byte, Quote, error) {
	if err := q.check(); err != nil {
		return dst, q, err
	}
	q.ID = id.NewV7(now, [10]byte(random[:10]))

	space := scratches.Get().(*scratch)
	defer scratches.Put(space)
	key := &(*s.keys.Load())[0]
	buf := append(space.raw[:0], key.head[:]...)
	buf = append(buf, q.ID[:]...)
	buf = append(buf, random[10:]...)
	nonce := buf[head : head+chacha20poly1305.NonceSizeX]
	body := len(buf)
	buf = q.append(buf)
	buf = key.aead.Seal(buf[:body], nonce, buf[body:], key.head[:])

	dst = append(dst, Prefix...)
	return encoding.AppendEncode(dst, buf), q, nil
}

// Open opens a token and checks that it has not expired at the given time. If the error is ErrExpired,
// Open also returns the quote, because a lead may have been delivered before the quote expired
// (decision 3).
func (s *Sealer) Open(token string, now time.Time) (Quote, error) {
	if len(token) > MaxLength || len(token) < len(Prefix) || token[:len(Prefix)] != Prefix {
		return Quote{}, ErrFormat
	}
	space := scratches.Get().(*scratch)
	defer scratches.Put(space)
	text := space.text[:copy(space.text[:], token[len(Prefix):])]
	n, err := encoding.Decode(space.raw[:], text)
	// Only the text exactly as issued is a valid transactionId. Strict decoding rejects unused
	// bits that are not zero, but skips line breaks, so the length is checked too.
	if err != nil || encoding.EncodedLen(n) != len(text) || n < overhead || space.raw[0] != version {
		return Quote{}, ErrFormat
	}
	var q Quote
	if !s.open(&q, space.raw[:n], space) {
		return Quote{}, ErrFormat
	}
	switch age := now.UnixMilli() - q.IssuedAt().UnixMilli(); {
	case age < -MaxAhead.Milliseconds():
		return Quote{}, ErrFormat
	case age > Validity.Milliseconds():
		return q, ErrExpired
	}
	return q, nil
}

// scratch is the buffer for sealing or opening a quote. It is pooled, because buffers that
// are passed to the cipher.AEAD interface escape to the heap.
type scratch struct {
	text, raw [MaxLength]byte
	plain     [maxPlain]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *Sealer) open(q *Quote, raw []byte, space *scratch) bool {
	nonce, body := raw[head:head+chacha20poly1305.NonceSizeX], raw[head+chacha20poly1305.NonceSizeX:]
	for _, key := range *s.keys.Load() {
		if key.id != raw[1] {
			continue
		}
		// Do not decrypt in place, because a failed Open wipes the buffer, and another key may
		// have the same id.
		plain, err := key.aead.Open(space.plain[:0], nonce, body, raw[:head])
		if err != nil {
			continue
		}
		q.ID = uuid.UUID(nonce[:16])
		return q.parse(plain)
	}
	return false
}

// Flags in the first byte of a quote's plaintext. The low bits of that byte contain the urgency class.
const (
	flagPartner          = 1 << 7
	flagSandbox          = 1 << 6
	flagReferenceDropped = 1 << 5
	flagSubIDDropped     = 1 << 4
	urgencyMask          = 1<<4 - 1
	maxPostcode          = 16
	maxNumber            = 1<<31 - 1
)

// separator is the byte before each tag. Programs that do not know tags read them as part of the
// postcode, so they accept the quote.
const separator = "\x1f"

func (q Quote) check() error {
	switch {
	case q.Price.Minor < 0 || q.Price.Minor > maxNumber || !q.Price.Currency.Valid():
		return fmt.Errorf("price %s is out of range for a quote", q.Price)
	case len(q.Postcode) > maxPostcode && utf8.RuneCountInString(q.Postcode) > maxPostcode, !utf8.ValidString(q.Postcode):
		return errors.New("postcode of a quote exceeds 16 characters")
	case strings.Contains(q.Postcode, separator), strings.Contains(q.Reference.Value, separator),
		strings.Contains(q.SubID.Value, separator):
		return errors.New("text of a quote contains U+001F")
	case q.Urgency > urgencyMask || q.TermID < 0 || q.TermID > maxNumber || q.CardVersion < 0 || q.CardVersion > maxNumber:
		return errors.New("urgency, term id or rate card version is out of range for a quote")
	}
	return nil
}

// append drops the tags that do not fit, and appends the plaintext of the quote.
func (q *Quote) append(dst []byte) []byte {
	start, flags := len(dst), q.Urgency
	if q.Partner != uuid.Nil {
		flags |= flagPartner
	}
	if q.Sandbox {
		flags |= flagSandbox
	}
	dst = append(dst, flags, byte(q.Price.Currency), q.Country[0], q.Country[1])
	dst = binary.AppendUvarint(dst, uint64(q.Price.Minor))
	dst = binary.AppendUvarint(dst, uint64(q.TermID))
	dst = binary.AppendUvarint(dst, uint64(q.CardVersion))
	if flags&flagPartner != 0 {
		dst = append(dst, q.Partner[:]...)
	}
	dst = append(dst, q.Postcode...)
	room := maxPlain - (len(dst) - start) - 2*len(separator)
	room = q.Reference.fit(room)
	q.SubID.fit(room)
	if q.Reference.Value != "" || q.SubID.Value != "" {
		dst = append(append(dst, separator...), q.Reference.Value...)
		dst = append(append(dst, separator...), q.SubID.Value...)
	}
	if q.Reference.Dropped {
		dst[start] |= flagReferenceDropped
	}
	if q.SubID.Dropped {
		dst[start] |= flagSubIDDropped
	}
	return dst
}

// fit drops the tag if it needs more than the given number of bytes. It returns the number of bytes left.
func (t *Tag) fit(room int) int {
	if len(t.Value) > room {
		*t = Tag{Dropped: true}
	}
	return room - len(t.Value)
}

// parse reads the format that the method append writes. The bytes are authenticated, so a failure means
// that another version of pingpost wrote them, not that they were forged.
func (q *Quote) parse(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	q.Urgency = b[0] & urgencyMask
	q.Sandbox = b[0]&flagSandbox != 0
	q.Reference.Dropped = b[0]&flagReferenceDropped != 0
	q.SubID.Dropped = b[0]&flagSubIDDropped != 0
	q.Price.Currency = money.Currency(b[1])
	q.Country = [2]byte(b[2:4])
	partner := b[0]&flagPartner != 0
	b = b[4:]
	var numbers [3]int
	for i := range numbers {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > maxNumber {
			return false
		}
		numbers[i], b = int(n), b[size:]
	}
	q.Price.Minor, q.TermID, q.CardVersion = int64(numbers[0]), numbers[1], numbers[2]
	if partner {
		if len(b) < len(q.Partner) {
			return false
		}
		b = b[copy(q.Partner[:], b):]
	}
	var tags string
	q.Postcode, tags, _ = strings.Cut(string(b), separator)
	q.Reference.Value, q.SubID.Value, _ = strings.Cut(tags, separator)
	return true
}

// ParseLead returns the ID of the lead that a typed or pasted text names: its leadId, or the transactionId of its
// quote. It ignores white space, invisible characters and quotation marks around the text. A transactionId is not
// authenticated, so the lead may not exist (decision 32).
func ParseLead(text string) (lead uuid.UUID, err error) {
	text = strings.TrimFunc(text, isAroundID)
	if strings.HasPrefix(text, Prefix) {
		return Identity(text)
	}
	return id.Parse(id.Lead, text)
}

// isAroundID reports whether a character is one that spreadsheets and web pages add around a copied ID.
func isAroundID(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Quotation_Mark)
}

// Identity returns the ID of a token's transaction, to look up its lead. It does not authenticate
// the token, so callers must compare the whole token with the lead's token.
func Identity(token string) (uuid.UUID, error) {
	text, prefixed := strings.CutPrefix(token, Prefix)
	raw, err := encoding.DecodeString(text)
	if !prefixed || err != nil || len(token) > MaxLength || encoding.EncodedLen(len(raw)) != len(text) ||
		len(raw) < overhead || raw[0] != version {
		return uuid.Nil, ErrFormat
	}
	return uuid.UUID(raw[head : head+16]), nil
}
