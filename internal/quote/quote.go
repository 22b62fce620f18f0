// Package quote seals and opens transactionIds (decision 1): the price a partner was
// told, in a token that only this platform can make and nobody can change.
//
// A token is "tx_" and unpadded base64url of
//
//	version (1) | key id (1) | nonce (24) | ciphertext | tag (16)
//
// under XChaCha20-Poly1305, version and key id as additional data. The first 16
// bytes of the nonce are a UUIDv7: the issue time and the transaction's
// identity. Nothing is stored to make a quote and nothing is read to check one.
//
// The package is pure: time and randomness are the caller's.
package quote

import (
	"crypto/cipher"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
)

const (
	// Prefix starts every transactionId.
	Prefix = "tx_"
	// Validity is how long a price holds: up to and including this age.
	Validity = 15 * time.Minute
	// MaxAhead is how far another node's clock may be ahead of ours.
	MaxAhead = 5 * time.Second
	// MaxLength bounds a transactionId in characters.
	MaxLength = 200
	// RandomSize is how many random bytes a quote needs.
	RandomSize = 10 + 8

	version  = 1
	head     = 2 // version and key id
	maxPlain = 112
	overhead = head + chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead
)

var encoding = base64.RawURLEncoding.Strict()

// Quote is what a ping promised and a post needs.
type Quote struct {
	// ID is the transaction's identity; its time is the issue time in ms.
	// Seal sets it.
	ID uuid.UUID

	Price       money.Amount
	Country     [2]byte // ISO 3166-1 alpha-2, as the ping gave it
	TermID      int     // the industry's taxonomy term id
	Urgency     uint8   // pricing_rules' urgency class
	Postcode    string
	CardVersion int       // the rate card that priced it
	Partner     uuid.UUID // the partner it was made for; Nil when the ping named none
	Sandbox     bool
}

// IssuedAt is the moment of the ping, in whole milliseconds.
func (q Quote) IssuedAt() time.Time { return id.Time(q.ID) }

// ExpiresAt is the last moment at which the quote is valid.
func (q Quote) ExpiresAt() time.Time { return q.IssuedAt().Add(Validity) }

// ErrFormat is every token that this platform did not make, or not in this
// form: wrong prefix, alphabet, length, version, key, tag, or encoding.
var ErrFormat = errors.New("the transactionId does not have the format that a ping returned")

// ErrExpired is a genuine quote past its validity.
var ErrExpired = errors.New("the quote has expired")

// Sealer seals with its first key and opens with all. Safe for concurrent use.
type Sealer struct {
	keys  []cipher.AEAD
	ids   []byte
	heads [][head]byte
}

// NewSealer takes 32-byte keys, the sealing one first (keyring.Keys.QuoteKeys).
func NewSealer(keys [][]byte) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no quote key")
	}
	s := &Sealer{}
	for _, key := range keys {
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, fmt.Errorf("quote key: %w", err)
		}
		keyID := idOf(aead)
		s.keys = append(s.keys, aead)
		s.ids = append(s.ids, keyID)
		s.heads = append(s.heads, [head]byte{version, keyID})
	}
	return s, nil
}

// idOf names a key by one byte: the tag of nothing under a fixed nonce that a
// quote never has (a UUIDv7's version bits are not zero). Two keys may share an
// id; Open then tries both.
func idOf(aead cipher.AEAD) byte {
	return aead.Seal(nil, make([]byte, chacha20poly1305.NonceSizeX), nil, nil)[0]
}

// Append seals the quote, issued at now, and appends the token to dst. It
// returns the quote with its identity. The error is a quote that cannot be
// written: a price below zero, or a postcode beyond its 16 characters.
func (s *Sealer) Append(dst []byte, q Quote, now time.Time, random [RandomSize]byte) ([]byte, Quote, error) {
	if err := q.check(); err != nil {
		return dst, q, err
	}
	q.ID = id.NewV7(now, [10]byte(random[:10]))

	space := scratches.Get().(*scratch)
	defer scratches.Put(space)
	buf := append(space.raw[:0], s.heads[0][:]...)
	buf = append(buf, q.ID[:]...)
	buf = append(buf, random[10:]...)
	nonce := buf[head : head+chacha20poly1305.NonceSizeX]
	body := len(buf)
	buf = q.append(buf)
	buf = s.keys[0].Seal(buf[:body], nonce, buf[body:], s.heads[0][:])

	dst = append(dst, Prefix...)
	return encoding.AppendEncode(dst, buf), q, nil
}

// Open reads a token and judges its age at now. ErrExpired comes with the
// quote, since an expired transaction may still hold a lead (decision 3).
func (s *Sealer) Open(token string, now time.Time) (Quote, error) {
	if len(token) > MaxLength || len(token) < len(Prefix) || token[:len(Prefix)] != Prefix {
		return Quote{}, ErrFormat
	}
	space := scratches.Get().(*scratch)
	defer scratches.Put(space)
	text := space.text[:copy(space.text[:], token[len(Prefix):])]
	n, err := encoding.Decode(space.raw[:], text)
	// Strict refuses spare bits but still skips line breaks: without the check of
	// the length several texts would open as one quote, and none but the text that
	// was issued is the transactionId.
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

// scratch is the room that a quote is sealed or opened in. It is kept: what
// crosses cipher.AEAD's interface is otherwise allocated anew for each quote.
type scratch struct {
	text, raw [MaxLength]byte
	plain     [maxPlain]byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *Sealer) open(q *Quote, raw []byte, space *scratch) bool {
	nonce, body := raw[head:head+chacha20poly1305.NonceSizeX], raw[head+chacha20poly1305.NonceSizeX:]
	for i, keyID := range s.ids {
		if keyID != raw[1] {
			continue
		}
		// Not in place: a failed Open wipes what another key of this id may still open.
		plain, err := s.keys[i].Open(space.plain[:0], nonce, body, raw[:head])
		if err != nil {
			continue
		}
		q.ID = uuid.UUID(nonce[:16])
		return q.parse(plain)
	}
	return false
}

// Flags of the plaintext's first byte; the urgency class takes the low bits.
const (
	flagPartner = 1 << 7
	flagSandbox = 1 << 6
	urgencyMask = 1<<4 - 1
	maxPostcode = 16
	maxNumber   = 1<<31 - 1
)

func (q Quote) check() error {
	switch {
	case q.Price.Minor < 0 || q.Price.Minor > maxNumber || !q.Price.Currency.Valid():
		return fmt.Errorf("a quote cannot hold the price %s", q.Price)
	case len(q.Postcode) > maxPostcode && utf8.RuneCountInString(q.Postcode) > maxPostcode, !utf8.ValidString(q.Postcode):
		return errors.New("a quote holds a postcode of at most 16 characters")
	case q.Urgency > urgencyMask || q.TermID < 0 || q.TermID > maxNumber || q.CardVersion < 0 || q.CardVersion > maxNumber:
		return errors.New("a quote's urgency, term id or rate card version is out of range")
	}
	return nil
}

func (q Quote) append(dst []byte) []byte {
	flags := q.Urgency
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
	return append(dst, q.Postcode...)
}

// parse reads what append wrote. The bytes are authenticated, so that a
// failure means a format of another version, never an attack.
func (q *Quote) parse(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	q.Urgency = b[0] & urgencyMask
	q.Sandbox = b[0]&flagSandbox != 0
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
	q.Postcode = string(b)
	return true
}

// Identity is the transaction of a token of the present form: what leads are found by.
// It opens nothing, so that a token from elsewhere has one too; whoever looks a lead up
// compares the whole token.
func Identity(token string) (uuid.UUID, error) {
	text, ours := strings.CutPrefix(token, Prefix)
	raw, err := encoding.DecodeString(text)
	if !ours || err != nil || len(token) > MaxLength || encoding.EncodedLen(len(raw)) != len(text) ||
		len(raw) < overhead || raw[0] != version {
		return uuid.Nil, ErrFormat
	}
	return uuid.UUID(raw[head : head+16]), nil
}
