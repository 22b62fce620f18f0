// Package keyring contains the platform keys and the keys derived from them (decision 23).
//
// HKDF-SHA256 derives a key for each purpose from each platform key: the quote key, the key that signs the
// erasure journal, the keys that encrypt secrets at rest, and the digest keys. New values are sealed and
// digested with the first platform key. Sealed values and digests contain the id of their key, so that older
// ones can still be used with the other platform keys.
package keyring

import (
	"bytes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/crypto/chacha20poly1305"
)

// KeySize is the length of a platform key in bytes.
const KeySize = 32

// Purpose says what a derived key is used for. A value sealed for one purpose cannot be opened for
// another.
type Purpose string

const (
	// SigningSecret is for sealing the partners' signing secrets.
	SigningSecret Purpose = "signing-secret"
	// SecondFactor is for sealing the setup keys of users' authenticator apps.
	SecondFactor Purpose = "second-factor"
	// EvidenceKey is for sealing the private key that signs evidence packs.
	EvidenceKey Purpose = "evidence-key"
	// LogIn is for digests of the user and the IP address of a login attempt.
	LogIn Purpose = "log-in"
	// Lookup is for digests of normalised email addresses and phone numbers.
	Lookup Purpose = "lookup"
	// Body is for digests of the bodies of posts, which distinguish a replay from a different post
	// (decision 3).
	Body Purpose = "body"
	// Uniqueness is for digests of signing secrets. The digests ensure that no two secrets on the
	// platform are the same (decision 13).
	Uniqueness Purpose = "secret-uniqueness"

	// File is for sealing temporary files, such as a partner's file or an export.
	File Purpose = "file"
	// VaultCredential is for digests of a node's Vault credential.
	VaultCredential Purpose = "vault-credential" //nolint:gosec // the name of a purpose
	// SavedForm is for sealing the values of a form that was submitted after the session had expired.
	SavedForm Purpose = "kept-form"
	// Snapshot is for sealing a node's snapshot on disk.
	Snapshot Purpose = "snapshot"

	quotePurpose   Purpose = "quote"
	journalPurpose Purpose = "erasure-journal"
)

var purposes = [...]Purpose{SigningSecret, SecondFactor, LogIn, Lookup, Body, Uniqueness, File, VaultCredential,
	SavedForm, Snapshot, EvidenceKey}

// KeyID identifies a platform key. It is the first four bytes of a derived value, which
// reveals nothing about the key.
type KeyID [4]byte

func (k KeyID) String() string { return fmt.Sprintf("%x", k[:]) }

// Keys contains the keys derived from the configured platform keys. It is safe for concurrent use.
type Keys struct{ current atomic.Pointer[[]derived] }

type derived struct {
	id      KeyID
	quote   []byte
	journal []byte // seed of an Ed25519 key
	seal    map[Purpose]cipher.AEAD
	digest  map[Purpose][]byte
}

// NewKeys derives all keys from the platform keys. New values are sealed and digested with the
// first one.
func NewKeys(platform [][]byte) (*Keys, error) {
	all, err := deriveAll(platform)
	if err != nil {
		return nil, err
	}
	keys := &Keys{}
	keys.current.Store(&all)
	return keys, nil
}

// Replace uses the keys of next from now on. A caller that is using the previous keys finishes with them.
func (k *Keys) Replace(next *Keys) { k.current.Store(next.current.Load()) }

// all returns the derived keys, beginning with the ones for new values.
func (k *Keys) all() []derived { return *k.current.Load() }

func deriveAll(platform [][]byte) ([]derived, error) {
	if len(platform) == 0 {
		return nil, errors.New("no platform key is configured: set PINGPOST_PLATFORM_KEYS")
	}
	var all []derived
	for i, raw := range platform {
		if len(raw) != KeySize {
			return nil, fmt.Errorf("platform key %d has %d bytes, want %d", i+1, len(raw), KeySize)
		}
		d, err := derive(raw)
		if err != nil {
			return nil, fmt.Errorf("platform key %d: %w", i+1, err)
		}
		for _, other := range all {
			if other.id == d.id {
				return nil, fmt.Errorf("platform key %d has the same id as another platform key: generate a new key", i+1)
			}
		}
		all = append(all, d)
	}
	return all, nil
}

func derive(raw []byte) (derived, error) {
	var failed error
	expand := func(purpose Purpose, size int) []byte {
		out, err := hkdf.Key(sha256.New, raw, nil, "pingpost/"+string(purpose), size)
		failed = errors.Join(failed, err)
		return out
	}
	d := derived{
		quote:   expand(quotePurpose, chacha20poly1305.KeySize),
		journal: expand(journalPurpose, ed25519.SeedSize),
		seal:    map[Purpose]cipher.AEAD{},
		digest:  map[Purpose][]byte{},
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

// QuoteKeys returns the derived quote keys, beginning with the one for new quotes.
func (k *Keys) QuoteKeys() [][]byte {
	all := k.all()
	out := make([][]byte, len(all))
	for i, d := range all {
		out[i] = bytes.Clone(d.quote)
	}
	return out
}

// JournalKeys returns the derived keys that sign the erasure journal, beginning with the one for a new journal.
func (k *Keys) JournalKeys() []ed25519.PrivateKey {
	all := k.all()
	out := make([]ed25519.PrivateKey, len(all))
	for i, d := range all {
		out[i] = ed25519.NewKeyFromSeed(d.journal)
	}
	return out
}

// IDs returns the ids of the configured platform keys, beginning with the first.
func (k *Keys) IDs() []KeyID {
	all := k.all()
	out := make([]KeyID, len(all))
	for i, d := range all {
		out[i] = d.id
	}
	return out
}

const sealVersion = 1

// KeyOf returns the id of the platform key that sealed a value. ok is false if value is not
// a sealed value.
func KeyOf(value []byte) (key KeyID, ok bool) {
	if len(value) <= 1+len(key) || value[0] != sealVersion {
		return key, false
	}
	return KeyID(value[1 : 1+len(key)]), true
}

// Seal encrypts a value for storage. The result consists of these parts, with their lengths in bytes:
// version (1) | key id (4) | nonce (24) | ciphertext | tag (16). The parameter owner is authenticated as
// additional data, so that a value copied to another row cannot be opened there.
func (k *Keys) Seal(purpose Purpose, owner, plain []byte) []byte {
	d := k.all()[0]
	out := make([]byte, 0, 5+chacha20poly1305.NonceSizeX+len(plain)+chacha20poly1305.Overhead)
	out = append(append(out, sealVersion), d.id[:]...)
	head := len(out)
	out = out[:head+chacha20poly1305.NonceSizeX]
	rand.Read(out[head:]) // crypto/rand never returns an error
	return d.seal[purpose].Seal(out, out[head:], plain, append(out[:head:head], owner...))
}

// ErrNotOpened means that a value was changed, that it was sealed for another owner or purpose, or that
// the key that sealed it is not configured.
var ErrNotOpened = errors.New("cannot open a sealed value: it was changed, or its platform key is not in PINGPOST_PLATFORM_KEYS")

// Open decrypts a value that Seal returned for the same purpose and owner.
func (k *Keys) Open(purpose Purpose, owner, value []byte) ([]byte, error) {
	const head = 1 + len(KeyID{})
	if len(value) < head+chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead || value[0] != sealVersion {
		return nil, ErrNotOpened
	}
	for _, d := range k.all() {
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

// Digest returns a digest of value, keyed with the first platform key: the key's id (4 bytes) followed
// by the HMAC-SHA256 (32 bytes).
func (k *Keys) Digest(purpose Purpose, value []byte) []byte {
	return k.all()[0].mac(purpose, value)
}

// Digests returns the digests of value with all platform keys, beginning with the first. A lookup
// needs all of them, because the digest in a row may have been computed with any of the keys.
func (k *Keys) Digests(purpose Purpose, value []byte) [][]byte {
	all := k.all()
	out := make([][]byte, len(all))
	for i, d := range all {
		out[i] = d.mac(purpose, value)
	}
	return out
}

// Matches reports in constant time whether digest is a digest of value.
func (k *Keys) Matches(purpose Purpose, value, digest []byte) bool {
	for _, d := range k.all() {
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

// For returns a Sealer for one purpose.
func (k *Keys) For(purpose Purpose) Sealer { return Sealer{k, purpose} }

// Sealer seals and opens values for one purpose.
type Sealer struct {
	keys    *Keys
	purpose Purpose
}

// Seal encrypts a value for storage with Keys.Seal and the Sealer's purpose.
func (s Sealer) Seal(owner, plain []byte) []byte { return s.keys.Seal(s.purpose, owner, plain) }

// Open decrypts a value with Keys.Open and the Sealer's purpose.
func (s Sealer) Open(owner, value []byte) ([]byte, error) {
	return s.keys.Open(s.purpose, owner, value)
}
