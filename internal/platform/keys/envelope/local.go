package envelope

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// LocalName is the prefix of keys wrapped with the local key.
const LocalName = "local"

// Local wraps data keys with the keys in LEAD_VAULT_KEK, which are in the memory of the process. It is
// the default. The first key wraps, and all of them can unwrap. A wrapped key has the form
//
//	local:<key version>:<base64 of iv, ciphertext and tag>
//
// The key version is a fingerprint of the key.
type Local struct{ current atomic.Pointer[[]localKey] }

type localKey struct {
	aead    cipher.AEAD
	version string
	prefix  []byte
}

// NewLocal returns a wrapper that uses the keys of LEAD_VAULT_KEK, 32 bytes each.
func NewLocal(keks ...[]byte) (*Local, error) {
	if len(keks) == 0 {
		return nil, errors.New("LEAD_VAULT_KEK contains no key")
	}
	keys := make([]localKey, len(keks))
	for i, kek := range keks {
		var err error
		if keys[i], err = newLocalKey(kek); err != nil {
			return nil, err
		}
	}
	l := &Local{}
	l.current.Store(&keys)
	return l, nil
}

// Replace uses the keys of next from now on.
func (l *Local) Replace(next *Local) { l.current.Store(next.current.Load()) }

func (l *Local) keys() []localKey { return *l.current.Load() }

func newLocalKey(kek []byte) (k localKey, err error) {
	if len(kek) != KeySize {
		return k, fmt.Errorf("a key in LEAD_VAULT_KEK has %d bytes, want %d", len(kek), KeySize)
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return k, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return k, err
	}
	sum := sha256.Sum256(append([]byte("pingpost/local-key-version"), kek...))
	version := hex.EncodeToString(sum[:4])
	return localKey{aead: aead, version: version, prefix: []byte(LocalName + ":" + version + ":")}, nil
}

// Name implements KeyWrapper.
func (l *Local) Name() string { return LocalName }

// Keys implements KeyWrapper. It returns the versions of the keys.
func (l *Local) Keys() []string {
	keys := l.keys()
	versions := make([]string, len(keys))
	for i, key := range keys {
		versions[i] = key.version
	}
	return versions
}

// Reads implements KeyWrapper.
func (l *Local) Reads(version string) bool { return slices.Contains(l.Keys(), version) }

// Wrap implements KeyWrapper. It needs no I/O.
func (l *Local) Wrap(_ context.Context, keys [][KeySize]byte) ([][]byte, error) {
	kek := l.keys()[0]
	out := make([][]byte, len(keys))
	for i := range keys {
		out[i] = kek.wrap(&keys[i])
	}
	return out, nil
}

func (l localKey) wrap(key *[KeySize]byte) []byte {
	var space [ivSize + KeySize + tagSize]byte
	iv := space[:ivSize]
	rand.Read(iv)
	sealed := l.aead.Seal(iv, iv, key[:], l.prefix)
	out := make([]byte, 0, len(l.prefix)+base64.StdEncoding.EncodedLen(len(sealed)))
	return base64.StdEncoding.AppendEncode(append(out, l.prefix...), sealed)
}

// Unwrap implements KeyWrapper.
func (l *Local) Unwrap(_ context.Context, wrapped [][]byte) ([]Unwrapped, error) {
	out := make([]Unwrapped, len(wrapped))
	for i, w := range wrapped {
		out[i].Key, out[i].Err = l.unwrap(w)
	}
	return out, nil
}

func (l *Local) unwrap(wrapped []byte) (key [KeySize]byte, err error) {
	for _, candidate := range l.keys() {
		if bytes.HasPrefix(wrapped, candidate.prefix) {
			return candidate.unwrap(wrapped)
		}
	}
	return key, ErrNotWrapped
}

func (l localKey) unwrap(wrapped []byte) (key [KeySize]byte, err error) {
	text, prefixed := bytes.CutPrefix(wrapped, l.prefix)
	sealed, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if !prefixed || err != nil || len(sealed) != ivSize+KeySize+tagSize {
		return key, ErrNotWrapped
	}
	plain, err := l.aead.Open(key[:0], sealed[:ivSize], sealed[ivSize:], l.prefix)
	if err != nil || len(plain) != KeySize {
		return [KeySize]byte{}, ErrNotWrapped
	}
	return key, nil
}
