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

// LocalName is the first word of what the local key wraps.
const LocalName = "local"

// Local wraps data keys with one key held by the process, LEAD_VAULT_KEK: the
// embedded default. What it returns reads
//
//	local:<key version>:<base64 of iv, ciphertext and tag>
//
// where the key version is a fingerprint of the key.
type Local struct {
	aead   cipher.AEAD
	prefix []byte
}

// NewLocal takes the 32 bytes of LEAD_VAULT_KEK.
func NewLocal(kek []byte) (*Local, error) {
	if len(kek) != KeySize {
		return nil, fmt.Errorf("the lead key (LEAD_VAULT_KEK) has %d bytes, it must have %d", len(kek), KeySize)
	}
	block, err := aes.NewCipher(kek)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	version := sha256.Sum256(append([]byte("pingpost/local-key-version"), kek...))
	prefix := LocalName + ":" + hex.EncodeToString(version[:4]) + ":"
	return &Local{aead: aead, prefix: []byte(prefix)}, nil
}

// Name implements KeyWrapper.
func (l *Local) Name() string { return LocalName }

// Wrap implements KeyWrapper. It does no I/O.
func (l *Local) Wrap(_ context.Context, key [KeySize]byte) ([]byte, error) {
	var space [ivSize + KeySize + tagSize]byte
	iv := space[:ivSize]
	rand.Read(iv)
	sealed := l.aead.Seal(iv, iv, key[:], l.prefix)
	out := make([]byte, 0, len(l.prefix)+base64.StdEncoding.EncodedLen(len(sealed)))
	return base64.StdEncoding.AppendEncode(append(out, l.prefix...), sealed), nil
}

// Unwrap implements KeyWrapper.
func (l *Local) Unwrap(_ context.Context, wrapped []byte) (key [KeySize]byte, err error) {
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
