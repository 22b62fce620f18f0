// Package id formats UUIDv7 identifiers as a prefix for their kind and 26 digits of Crockford base32,
// such as ld_01JD3Z…. It writes the digits in upper case and reads them in either case.
package id

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Kind is the prefix of an identifier, including the underscore.
type Kind string

const (
	Lead     Kind = "ld_"
	Partner  Kind = "pt_"
	Account  Kind = "ac_"
	Secret   Kind = "sk_"
	RateCard Kind = "rc_"
	Payout   Kind = "po_"
	Return   Kind = "rt_"
	Export   Kind = "ex_"
	Request  Kind = "rq_"
	Staff    Kind = "st_"
	Session  Kind = "se_"
	Hold     Kind = "lh_"

	Adjustment     Kind = "ad_"
	Disclosure     Kind = "ds_"
	Reconciliation Kind = "rn_"
	PrivacyRequest Kind = "pr_"
	RetentionRun   Kind = "rr_"
)

// Kinds lists all kinds of identifiers.
var Kinds = []Kind{
	Lead, Partner, Account, Secret, RateCard, Payout, Return, Export, Request, Staff, Session, Hold, Adjustment,
	Disclosure, Reconciliation, PrivacyRequest, RetentionRun,
}

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// digits is the number of base32 digits for 128 bits.
const digits = 26

// Append appends the identifier as text to dst.
func Append(dst []byte, kind Kind, u uuid.UUID) []byte {
	dst = append(dst, kind...)
	hi, lo := binary.BigEndian.Uint64(u[:8]), binary.BigEndian.Uint64(u[8:])
	var out [digits]byte
	for i := digits - 1; i >= 0; i-- {
		out[i] = alphabet[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return append(dst, out[:]...)
}

// Format returns the identifier as text.
func Format(kind Kind, u uuid.UUID) string {
	return string(Append(make([]byte, 0, len(kind)+digits), kind, u))
}

// Parse parses an identifier of the given kind, in upper or lower case. As Crockford specifies, I and L
// are read as 1, and O is read as 0.
func Parse(kind Kind, text string) (uuid.UUID, error) {
	if len(text) != len(kind)+digits || !strings.EqualFold(text[:len(kind)], string(kind)) {
		return uuid.Nil, notOf(kind)
	}
	body := text[len(kind):]
	if value(body[0]) > 7 { // 26 digits are 130 bits, but an identifier has 128
		return uuid.Nil, notOf(kind)
	}
	var hi, lo uint64
	for i := range digits {
		v := value(body[i])
		if v < 0 {
			return uuid.Nil, notOf(kind)
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(v)
	}
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:8], hi)
	binary.BigEndian.PutUint64(u[8:], lo)
	return u, nil
}

func notOf(kind Kind) error {
	return fmt.Errorf("not a valid identifier: use %s followed by %d letters and digits", kind, digits)
}

func value(c byte) int {
	if c >= 'a' && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch c {
	case 'I', 'L':
		return 1
	case 'O':
		return 0
	}
	return strings.IndexByte(alphabet, c)
}

// New returns a random UUIDv7 for the given time.
func New(at time.Time) uuid.UUID {
	var random [10]byte
	rand.Read(random[:]) // crypto/rand never returns an error
	return NewV7(at, random)
}

// Compare compares identifiers as Postgres does. In this order, UUIDv7s are sorted by time.
func Compare(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }

// First returns the smallest possible id for a time. Queries use it as the bound of a range of ids. It
// returns the same id for all times before 1970.
func First(at time.Time) (u uuid.UUID) {
	putTime(&u, at)
	return u
}

// NewV7 returns a UUIDv7 that contains the given time and 74 of the 80 bits of the parameter random. It
// is meant for callers that choose these bits, for example for quotes.
func NewV7(at time.Time, random [10]byte) uuid.UUID {
	var u uuid.UUID
	putTime(&u, at)
	copy(u[6:], random[:])
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return u
}

func putTime(u *uuid.UUID, at time.Time) {
	ms := uint64(max(0, at.UnixMilli()))
	u[0], u[1], u[2] = byte(ms>>40), byte(ms>>32), byte(ms>>24)
	u[3], u[4], u[5] = byte(ms>>16), byte(ms>>8), byte(ms)
}

// Time returns the time that a UUIDv7 contains, with millisecond precision.
func Time(u uuid.UUID) time.Time {
	ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5])
	return time.UnixMilli(ms).UTC()
}
