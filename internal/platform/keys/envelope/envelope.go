// Package envelope encrypts each lead's contact record with the lead's own key (decision 20).
//
// Each lead has a data key. A key wrapper (the local key, or Vault Transit) wraps it, and only
// the wrapped key is stored and sent to the partner. The content key is HKDF-SHA256(data key,
// salt). The salt is stored only in the table lead_keys. Without it, the partner's copy of the
// envelope is unreadable, even if the wrapping key still exists.
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
	// SaltSize is the length, in bytes, of the salt that is used to derive the content key.
	SaltSize = 16

	ivSize  = 12
	tagSize = 16
	info    = "pingpost/lead-envelope/v1"
)

// Envelope is an encrypted contact record with everything that is needed to decrypt it, except
// the wrapping key. The salt is stored only in the table lead_keys.
type Envelope struct {
	Ciphertext []byte
	IV         []byte // 12 bytes
	AuthTag    []byte // 16 bytes
	Wrapped    []byte // the data key, wrapped by the key wrapper
	Salt       []byte // 16 bytes
}

// DataKey is a new key and its wrapped form, for a single lead.
type DataKey struct {
	Plain       [KeySize]byte
	Wrapped     []byte
	WrappingKey WrappingKey // the key that wrapped it
}

// WrappingKey identifies a key that wraps data keys. A platform accepts leads only if their wrapping key
// is registered (decision 55).
type WrappingKey struct {
	Wrapper string // the name of its KeyWrapper
	Key     string // for the local key, its version; for Vault, the mount and the name of the key
}

// String returns the wrapper and the key, such as "local 5f1c09aa" or "vault transit/pingpost-leads".
func (k WrappingKey) String() string { return k.Wrapper + " " + k.Key }

// Zero overwrites the plaintext key.
func (k *DataKey) Zero() { clear(k.Plain[:]) }

// KeyWrapper encrypts data keys, and nothing else (decision 23). A wrapped key contains the name
// of its wrapper and the key version, so that keys from several wrappers can be unwrapped.
// Methods take batches, because a wrapper may need the network. An error applies to the whole
// batch.
type KeyWrapper interface {
	// Name returns the prefix of all keys that the wrapper wraps: "local" or "vault".
	Name() string
	// Keys returns the wrapping keys. The first one wraps new data keys. The versions of a key in Vault
	// count as one key.
	Keys() []string
	// Reads reports whether the wrapper can unwrap keys that were wrapped with the given key version. It
	// does no I/O, so it may return true for a key that cannot be unwrapped.
	Reads(version string) bool
	// Wrap encrypts data keys, either all or none.
	Wrap(ctx context.Context, keys [][KeySize]byte) ([][]byte, error)
	// Unwrap decrypts keys that Wrap returned, with any key version that still exists. Each key has a
	// result of its own, because an invalid key must not affect the others.
	Unwrap(ctx context.Context, wrapped [][]byte) ([]Unwrapped, error)
}

// Unwrapped is a data key, or the reason why it could not be unwrapped.
type Unwrapped struct {
	Key [KeySize]byte
	Err error
}

// Rewrapper is a KeyWrapper that can rewrap keys with its newest key version without
// revealing the data keys.
type Rewrapper interface {
	KeyWrapper
	Rewrap(ctx context.Context, wrapped [][]byte) ([]Rewrapped, error)
}

// Rewrapped is a data key wrapped with the newest key version, or the reason why it could
// not be rewrapped.
type Rewrapped struct {
	Wrapped []byte
	Err     error
}

var (
	// ErrNotOpened means that an envelope was changed or belongs to another lead or partner,
	// or that its salt was erased.
	ErrNotOpened = errors.New("cannot decrypt the contact record: it was changed, moved from another lead, or erased")
	// ErrNotWrapped means that a data key was wrapped by another wrapper, or was changed.
	ErrNotWrapped = errors.New("cannot unwrap the data key: it was changed, or its wrapping key is not configured")
)

// NewDataKeys returns n new data keys, wrapped in one call.
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
	key := WrappingKey{w.Name(), w.Keys()[0]}
	for i := range keys {
		keys[i] = DataKey{plain[i], wrapped[i], key}
	}
	return keys, nil
}

// Seal encrypts the contact record of a lead.
func Seal(key DataKey, lead, partner uuid.UUID, plain []byte) (Envelope, error) {
	// One allocation holds the salt, the iv, the ciphertext and the tag. The slices have limited
	// capacities, so that none can grow into the next.
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

// Open decrypts an envelope with its data key.
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

// additionalData binds a contact record to its lead and partner, so that its ciphertext
// cannot be decrypted in another row.
func additionalData(lead, partner uuid.UUID) []byte {
	return append(append(make([]byte, 0, 2*len(lead)), lead[:]...), partner[:]...)
}
