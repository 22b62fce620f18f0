// Package keyring holds the platform keys and what derives from them (decision 23).
//
// From each platform key HKDF-SHA256 derives, by purpose, the quote key, the
// key that seals secrets at rest, and the digest keys. The first platform key
// writes, all of them read; every sealed value and digest names its key.
package keyring

import (
	"bytes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the length of a platform key in bytes.
const KeySize = 32

// Purpose separates derived keys: a value made for one never opens as another.
type Purpose string

const (
	// SigningSecret seals partners' HMAC secrets.
	SigningSecret Purpose = "signing-secret"
	// SecondFactor seals the seeds of staff's one-time codes.
	SecondFactor Purpose = "second-factor"
	// LogIn digests what attempts to log in have in common.
	LogIn Purpose = "log-in"
	// LookUp digests normalised e-mail addresses and phone numbers.
	LookUp Purpose = "look-up"
	// Body digests a post's bytes, so that a retry is told from another post (decision 3).
	Body Purpose = "body"
	// Uniqueness digests secrets, so that no two on the platform are equal (decision 13).
	Uniqueness Purpose = "secret-uniqueness"

	// File seals files that are kept for a while: a partner's list, an export.
	File Purpose = "file"
	// VaultCredential digests what a node logs in to Vault with.
	VaultCredential Purpose = "vault-credential" //nolint:gosec // the name of a purpose
	// SavedForm seals what staff typed into a form whose session had expired.
	SavedForm Purpose = "kept-form"
	// Snapshot seals what a node keeps on disk for a restart.
	Snapshot Purpose = "snapshot"

	quotePurpose Purpose = "quote"
)

var purposes = [...]Purpose{SigningSecret, SecondFactor, LogIn, LookUp, Body, Uniqueness, File, VaultCredential,
	SavedForm, Snapshot}

// KeyID names a platform key: the first four bytes of a derived value that
// reveals nothing of the key.
type KeyID [4]byte

func (k KeyID) String() string { return fmt.Sprintf("%x", k[:]) }

// Keys are the configured platform keys. It is immutable and safe for concurrent use.
type Keys struct{ all []derived }

type derived struct {
	id     KeyID
	quote  []byte
	seal   map[Purpose]cipher.AEAD
	digest map[Purpose][]byte
}

// NewKeys derives everything from the platform keys, the writing one first.
func NewKeys(platform [][]byte) (*Keys, error) {
	if len(platform) == 0 {
		return nil, errors.New("no platform key is configured: set PINGPOST_PLATFORM_KEYS")
	}
	keys := &Keys{}
	for i, raw := range platform {
		if len(raw) != KeySize {
			return nil, fmt.Errorf("platform key %d has %d bytes, it must have %d", i+1, len(raw), KeySize)
		}
		d, err := derive(raw)
		if err != nil {
			return nil, fmt.Errorf("platform key %d: %w", i+1, err)
		}
		for _, other := range keys.all {
			if other.id == d.id {
				return nil, fmt.Errorf("platform key %d is there twice, or shares its id with another: generate a new one", i+1)
			}
		}
		keys.all = append(keys.all, d)
	}
	return keys, nil
}

func derive(raw []byte) (derived, error) {
	var failed error
	expand := func(purpose Purpose, size int) []byte {
		out, err := hkdf.Key(sha256.New, raw, nil, "pingpost/"+string(purpose), size)
		failed = errors.Join(failed, err)
		return out
	}
	d := derived{
		quote:  expand(quotePurpose, chacha20poly1305.KeySize),
		seal:   map[Purpose]cipher.AEAD{},
		digest: map[Purpose][]byte{},
	}
	copy(d.id[:], expand("key-id", len(d.id)))
	for _, p := range purposes {
		aead, err := chacha20poly1305.NewX(expand("seal/"+p, chacha20poly1305.KeySize))
		failed = errors.Join(failed, err)
		d.seal[p] = aead
		d.digest[p] = expand("digest/"+p, sha256.Size)
	}
	return d, failed
}

// QuoteKeys returns the derived quote keys, the writing one first.
func (k *Keys) QuoteKeys() [][]byte {
	out := make([][]byte, len(k.all))
	for i, d := range k.all {
		out[i] = bytes.Clone(d.quote)
	}
	return out
}

// IDs names the configured keys, the writing one first.
func (k *Keys) IDs() []KeyID {
	out := make([]KeyID, len(k.all))
	for i, d := range k.all {
		out[i] = d.id
	}
	return out
}

const sealVersion = 1

// KeyOf names the platform key that sealed a value; false for what is none.
func KeyOf(value []byte) (key KeyID, ok bool) {
	if len(value) <= 1+len(key) || value[0] != sealVersion {
		return key, false
	}
	return KeyID(value[1 : 1+len(key)]), true
}

// Seal encrypts a value at rest: version (1) | key id (4) | nonce (24) |
// ciphertext | tag (16). owner is bound as additional data, so that a value
// copied to another row does not open there.
func (k *Keys) Seal(purpose Purpose, owner, plain []byte) []byte {
	d := k.all[0]
	out := make([]byte, 0, 5+chacha20poly1305.NonceSizeX+len(plain)+chacha20poly1305.Overhead)
	out = append(append(out, sealVersion), d.id[:]...)
	head := len(out)
	out = out[:head+chacha20poly1305.NonceSizeX]
	rand.Read(out[head:]) // never fails: crypto/rand ends the process instead
	return d.seal[purpose].Seal(out, out[head:], plain, append(out[:head:head], owner...))
}

// ErrNotOpened says that a value was sealed by a key that is not configured,
// for another owner or purpose, or was changed since.
var ErrNotOpened = errors.New("a sealed value does not open: it was changed, or its platform key is not among PINGPOST_PLATFORM_KEYS")

// Open decrypts what Seal made for the same purpose and owner.
func (k *Keys) Open(purpose Purpose, owner, value []byte) ([]byte, error) {
	const head = 1 + len(KeyID{})
	if len(value) < head+chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead || value[0] != sealVersion {
		return nil, ErrNotOpened
	}
	for _, d := range k.all {
		if !bytes.Equal(d.id[:], value[1:head]) {
			continue
		}
		nonce, body := value[head:head+chacha20poly1305.NonceSizeX], value[head+chacha20poly1305.NonceSizeX:]
		plain, err := d.seal[purpose].Open(nil, nonce, body, append(value[:head:head], owner...))
		if err != nil {
			return nil, ErrNotOpened
		}
		return plain, nil
	}
	return nil, ErrNotOpened
}

// Digest is key id (4) | HMAC-SHA256 (32) of value under the writing key.
func (k *Keys) Digest(purpose Purpose, value []byte) []byte {
	return k.all[0].mac(purpose, value)
}

// Digests are the digests of value under every key, the writing one first: a
// look-up tries them all, since rows may have been written under any.
func (k *Keys) Digests(purpose Purpose, value []byte) [][]byte {
	out := make([][]byte, len(k.all))
	for i, d := range k.all {
		out[i] = d.mac(purpose, value)
	}
	return out
}

// Matches reports in constant time whether digest was made of value.
func (k *Keys) Matches(purpose Purpose, value, digest []byte) bool {
	for _, d := range k.all {
		if len(digest) > len(d.id) && bytes.Equal(d.id[:], digest[:len(d.id)]) {
			return hmac.Equal(digest, d.mac(purpose, value))
		}
	}
	return false
}

func (d derived) mac(purpose Purpose, value []byte) []byte {
	h := hmac.New(sha256.New, d.digest[purpose])
	h.Write(value)
	return h.Sum(append(make([]byte, 0, len(d.id)+sha256.Size), d.id[:]...))
}

// For is the keys bound to a purpose.
func (k *Keys) For(purpose Purpose) Sealer { return Sealer{k, purpose} }

// Sealer seals and opens for one purpose.
type Sealer struct {
	keys    *Keys
	purpose Purpose
}

// Seal is Keys.Seal for the purpose.
func (s Sealer) Seal(owner, plain []byte) []byte { return s.keys.Seal(s.purpose, owner, plain) }

// Open is Keys.Open for the purpose.
func (s Sealer) Open(owner, value []byte) ([]byte, error) {
	return s.keys.Open(s.purpose, owner, value)
}
