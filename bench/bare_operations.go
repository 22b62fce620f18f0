package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"
)

// bareOperations contains benchmarks of the cryptography and the base64 encoding that the product needs,
// without any other work. On the same machine, the product cannot be faster than these operations.
type bareOperations struct {
	quotes  cipher.AEAD // XChaCha20-Poly1305 with a prepared key
	wrapper cipher.AEAD // AES-256-GCM with a prepared key
}

func newBareOperations() (*bareOperations, error) {
	quotes, err := chacha20poly1305.NewX(newKey())
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(newKey())
	if err != nil {
		return nil, err
	}
	wrapper, err := cipher.NewGCM(block)
	return &bareOperations{quotes, wrapper}, err
}

const (
	// stampSize is the length, in bytes, of a Unix timestamp and a dot.
	stampSize = 11
	// quotePlain is the length of a quote before encryption, in bytes. quoteRaw is its length after
	// encryption, before it is encoded as text.
	quotePlain = 32
	quoteRaw   = 2 + chacha20poly1305.NonceSizeX + quotePlain + chacha20poly1305.Overhead
)

func (f *bareOperations) sealQuote(b *testing.B) {
	raw, space := noise(quoteRaw), make([]byte, 0, quoteRaw)
	nonce, plain, text := raw[:chacha20poly1305.NonceSizeX], raw[:quotePlain], make([]byte,
		base64.RawURLEncoding.EncodedLen(quoteRaw))
	defer timed(b)()
	for b.Loop() {
		f.quotes.Seal(space, nonce, plain, raw[:2]) //nolint:gosec // only its time counts
		base64.RawURLEncoding.Encode(text, raw)
	}
}

func (f *bareOperations) openQuote(b *testing.B) {
	raw, space := noise(quoteRaw), make([]byte, quoteRaw)
	nonce, text := raw[:chacha20poly1305.NonceSizeX], base64.RawURLEncoding.AppendEncode(nil, raw)
	sealed := f.quotes.Seal(nil, nonce, raw[:quotePlain], raw[:2]) //nolint:gosec // only its time counts
	defer timed(b)()
	for b.Loop() {
		if _, err := base64.RawURLEncoding.Decode(space, text); err != nil {
			b.Fatal(err)
		}
		if _, err := f.quotes.Open(space[:0], nonce, sealed, raw[:2]); err != nil {
			b.Fatal(err)
		}
	}
}

// hashPost measures the two SHA-256 hashes that the HMAC of a post needs. It does not measure the
// preparation of the key.
func (f *bareOperations) hashPost(b *testing.B) {
	message := noise(stampSize + postSize)
	defer timed(b)()
	for b.Loop() {
		digest := sha256.Sum256(message)
		sha256.Sum256(digest[:])
	}
}

func (f *bareOperations) hashPosts(b *testing.B) {
	message := noise(stampSize + postSize)
	defer timed(b)()
	for b.Loop() {
		for range candidates {
			digest := sha256.Sum256(message)
			sha256.Sum256(digest[:])
		}
	}
}

// keyBlocks is the length of a message that SHA-256 processes in 8 blocks. To derive a content key, HKDF
// also processes 8 blocks.
const keyBlocks = 8*sha256.BlockSize - 9

// sealContact measures the operations that the encryption of a contact record needs: random bytes,
// SHA-256, and AES-256-GCM for the record and its key.
func (f *bareOperations) sealContact(b *testing.B) {
	plain, message := noise(contactSize), noise(keyBlocks)
	var random [32 + 16 + 12 + 12]byte
	space := make([]byte, 0, contactSize+64)
	defer timed(b)()
	for b.Loop() {
		rand.Read(random[:])
		key := sha256.Sum256(message)
		block, err := aes.NewCipher(key[:])
		if err != nil {
			b.Fatal(err)
		}
		content, err := cipher.NewGCM(block)
		if err != nil {
			b.Fatal(err)
		}
		content.Seal(space, random[48:60], plain, random[:32])
		f.wrapper.Seal(space, random[60:72], random[:32], nil)
	}
}
