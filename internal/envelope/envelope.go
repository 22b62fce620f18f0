// Package envelope encrypts a lead's contact record under a key of its own (decision 20).
//
// Each lead has a data key. A key wrapper (the local key, or Vault Transit)
// wraps it; what is stored and what the partner receives holds the wrapped form
// only. The content key is HKDF-SHA256(data key, salt): the salt stays in our
// row alone, so that erasing it makes every copy of the envelope unreadable,
// the partner's and the backups' included, whatever becomes of the wrapping key.
package envelope

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"

	"github.com/google/uuid"
)

const (
	// KeySize is the length of a data key in bytes (AES-256).
	KeySize = 32
	// SaltSize is the length of the salt that turns it into the content key.
	SaltSize = 16

	ivSize  = 12
	tagSize = 16
	info    = "pingpost/lead-envelope/v1"
)

// Envelope is a sealed contact record and what is needed, besides the key
// wrapper, to open it. Salt never leaves the lead's row.
type Envelope struct {
	Ciphertext []byte
	IV         []byte // 12 bytes
	AuthTag    []byte // 16 bytes
	Wrapped    []byte // the data key as the key wrapper returned it
	Salt       []byte // 16 bytes
}

// DataKey is a fresh key and its wrapped form, for one lead only.
type DataKey struct {
	Plain   [KeySize]byte
	Wrapped []byte
}

// Zero forgets the plaintext key.
func (k *DataKey) Zero() { clear(k.Plain[:]) }

// KeyWrapper wraps data keys and nothing else (decision 23). What Wrap returns names
// the wrapper and its key version, so that several can be read at once. Keys go
// in batches, since a wrapper may be across a network; an error is the whole
// batch's.
type KeyWrapper interface {
	// Name is the wrapper's first word in everything it wraps: "local", "vault".
	Name() string
	// Reads reports whether the wrapper holds a key version, as far as it can tell.
	Reads(version string) bool
	// Wrap encrypts data keys, all of them or none.
	Wrap(ctx context.Context, keys [][KeySize]byte) ([][]byte, error)
	// Unwrap decrypts what Wrap returned, under any key version still held. Each
	// has its own result: one that was changed must not hide the others.
	Unwrap(ctx context.Context, wrapped [][]byte) ([]Unwrapped, error)
}

// Unwrapped is a data key, or why there is none.
type Unwrapped struct {
	Key [KeySize]byte
	Err error
}

// Rewrapper is a KeyWrapper that moves what it wrapped to its newest key version
// by itself, so that no data key is seen on the way.
type Rewrapper interface {
	KeyWrapper
	Rewrap(ctx context.Context, wrapped [][]byte) ([]Rewrapped, error)
}

// Rewrapped is a data key under the newest key version, or why there is none.
type Rewrapped struct {
	Wrapped []byte
	Err     error
}

var (
	// ErrNotOpened says that an envelope was changed, or belongs to another
	// lead or partner, or that its salt was erased.
	ErrNotOpened = errors.New("the contact record does not open: it was changed, moved from another lead, or erased")
	// ErrNotWrapped says that a wrapped data key is not this wrapper's, or was changed.
	ErrNotWrapped = errors.New("the data key does not unwrap: it was changed, or wrapped by a key that is not configured")
)

// NewDataKeys makes data keys and has them wrapped in one call.
func NewDataKeys(ctx context.Context, w KeyWrapper, n int) ([]DataKey, error) {
	plain := make([][KeySize]byte, n)
	defer clear(plain)
	for i := range plain {
		rand.Read(plain[i][:])
	}
	wrapped, err := w.Wrap(ctx, plain)
	if err != nil {
		return nil, err
	}
	keys := make([]DataKey, n)
	for i := range keys {
		keys[i] = DataKey{plain[i], wrapped[i]}
	}
	return keys, nil
}

// Seal encrypts a contact record for one lead of one partner.
func Seal(key DataKey, lead, partner uuid.UUID, plain []byte) (Envelope, error) {
	// One allocation holds salt, iv, ciphertext and tag; the slices are cut so
	// that none can grow into the next.
	buf := make([]byte, SaltSize+ivSize, SaltSize+ivSize+len(plain)+tagSize)
	rand.Read(buf)
	salt, iv := buf[:SaltSize:SaltSize], buf[SaltSize:SaltSize+ivSize:SaltSize+ivSize]
	aead, err := contentCipher(&key.Plain, (*[SaltSize]byte)(salt))
	if err != nil {
		return Envelope{}, err
	}
	sealed := aead.Seal(buf[len(buf):], iv, plain, additionalData(lead, partner))
	n := len(plain)
	return Envelope{
		Ciphertext: sealed[:n:n], AuthTag: sealed[n:], IV: iv, Salt: salt, Wrapped: key.Wrapped,
	}, nil
}

// Open decrypts an envelope with its unwrapped data key.
func Open(e Envelope, key [KeySize]byte, lead, partner uuid.UUID) ([]byte, error) {
	if len(e.Salt) != SaltSize || len(e.IV) != ivSize || len(e.AuthTag) != tagSize {
		return nil, ErrNotOpened
	}
	aead, err := contentCipher(&key, (*[SaltSize]byte)(e.Salt))
	if err != nil {
		return nil, err
	}
	sealed := append(append(make([]byte, 0, len(e.Ciphertext)+tagSize), e.Ciphertext...), e.AuthTag...)
	plain, err := aead.Open(sealed[:0], e.IV, sealed, additionalData(lead, partner))
	if err != nil {
		return nil, ErrNotOpened
	}
	return plain, nil
}

func contentCipher(dataKey *[KeySize]byte, salt *[SaltSize]byte) (cipher.AEAD, error) {
	content := contentKey(dataKey, salt)
	defer clear(content[:])
	block, err := aes.NewCipher(content[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// additionalData ties a contact record to its lead and partner, so that a row's
// ciphertext does not open in another row.
func additionalData(lead, partner uuid.UUID) []byte {
	return append(append(make([]byte, 0, 2*len(lead)), lead[:]...), partner[:]...)
}
