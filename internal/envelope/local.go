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
	"fmt"
)

// LocalName is the prefix of keys wrapped with the local key.
const LocalName = "local"

// Local wraps data keys with LEAD_VAULT_KEK, a key in the memory of the process. It is the
// default. A wrapped key has the form
//
//	local:<key version>:<base64 of iv, ciphertext and tag>
//
// The key version is a fingerprint of the key.
type Local struct {
	aead    cipher.AEAD
	version string
	prefix  []byte
}

// NewLocal returns a wrapper that uses the 32 bytes of LEAD_VAULT_KEK as its key.
func NewLocal(kek []byte) (*Local, error) {
	if len(kek) != KeySize {
		return nil, fmt.Errorf("LEAD_VAULT_KEK has %d bytes, want %d", len(kek), KeySize)
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte("pingpost/local-key-version"), kek...))
	version := hex.EncodeToString(sum[:4])
	return &Local{aead: aead, version: version, prefix: []byte(LocalName + ":" + version + ":")}, nil
}

// Name implements KeyWrapper.
func (l *Local) Name() string { return LocalName }

// Reads implements KeyWrapper.
func (l *Local) Reads(version string) bool { return version == l.version }

// Wrap implements KeyWrapper. It needs no I/O.
func (l *Local) Wrap(_ context.Context, keys [][KeySize]byte) ([][]byte, error) {
	out := make([][]byte, len(keys))
	for i := range keys {
		out[i] = l.wrap(&keys[i])
	}
	return out, nil
}

func (l *Local) wrap(key *[KeySize]byte) []byte {
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
	text, ours := bytes.CutPrefix(wrapped, l.prefix)
	sealed, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if !ours || err != nil || len(sealed) != ivSize+KeySize+tagSize {
		return key, ErrNotWrapped
	}
	plain, err := l.aead.Open(key[:0], sealed[:ivSize], sealed[ivSize:], l.prefix)
	if err != nil || len(plain) != KeySize {
		return [KeySize]byte{}, ErrNotWrapped
	}
	return key, nil
}
