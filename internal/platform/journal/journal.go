// Package journal stores the erasure journal: a chain of entries outside the database that records
// which leads were erased. It contains no personal data. If an older backup of the database is restored,
// the leads that were erased after the backup can be found in the journal and erased again.
//
// Each entry is a file in a folder, or an object in a bucket, and is never changed. Its name is its sequence number,
// which starts at 1. Each entry contains the hash of the previous entry, and is signed with the key that the previous
// entry contains.
package journal

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Hash is the SHA-256 hash of an entry's text.
type Hash [sha256.Size]byte

// MarshalText returns the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads a hash in hexadecimal.
func (h *Hash) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(h) {
		return errors.New("not a SHA-256 hash")
	}
	copy(h[:], raw)
	return nil
}

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ReasonKey is the reason of an entry without leads that changes the key for the next entries.
const ReasonKey = "key"

// Entry records which leads are erased.
type Entry struct {
	Platform string    `json:"platform"` // the random id of the platform's database
	Sequence int64     `json:"sequence"`
	Previous Hash      `json:"previous"` // of the previous entry; zeros in the first entry
	At       time.Time `json:"at"`
	By       string    `json:"by"` // the user's id (st_…), "operator", or "retention"
	Reason   string    `json:"reason"`
	Leads    []string  `json:"leads"` // lead ids (ld_…)
	// KeepsConsent is set if the details of the consents are not erased. If it is false, the entry's text omits it.
	KeepsConsent bool `json:"keeps_consent,omitempty"`
	// Key is the public key that verifies the next entry. The first entry is signed with its own key.
	Key       ed25519.PublicKey `json:"key"`
	Signature []byte            `json:"signature,omitempty"` // of the text without the signature
}

// Sign signs the entry and returns its text as it is stored.
func (e Entry) Sign(key ed25519.PrivateKey) ([]byte, error) {
	e.Signature = nil
	unsigned, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	e.Signature = ed25519.Sign(key, unsigned)
	return json.Marshal(e)
}

// signedWith reports whether the entry is signed with a key.
func (e Entry) signedWith(key ed25519.PublicKey) bool {
	signature := e.Signature
	e.Signature = nil
	unsigned, err := json.Marshal(e)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, unsigned, signature)
}

// HashOf returns the hash of an entry's text.
func HashOf(text []byte) Hash { return sha256.Sum256(text) }

// Fingerprint returns the fingerprint of a public key: its SHA-256 hash in hexadecimal.
func Fingerprint(key ed25519.PublicKey) string { return HashOf(key).String() }

// Head is the last entry of a chain. The zero value is the head of an empty journal.
type Head struct {
	Sequence int64
	Hash     Hash
	Key      ed25519.PublicKey // that signs the next entry
}

// Next parses the text of the entry that follows h, and returns the entry and the new head. It returns an error
// if the entry is from another platform, does not follow h, or is not signed with the key in h. The first entry
// is signed with its own key, so the caller must check that this key is the platform's.
func (h Head) Next(text []byte, platform string) (e Entry, next Head, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, h, errors.New("the entry is not valid JSON")
	}
	if again, err := json.Marshal(e); err != nil || !bytes.Equal(again, text) {
		return e, h, errors.New("the entry was not written by pingpost")
	}
	if e.Platform != platform {
		return e, h, errors.New("the entry is from another platform")
	}
	if e.Sequence != h.Sequence+1 || e.Previous != h.Hash {
		return e, h, errors.New("the entry does not follow the previous entry")
	}
	key := h.Key
	if h.Sequence == 0 {
		key = e.Key
	}
	if len(e.Key) != ed25519.PublicKeySize || !e.signedWith(key) {
		return e, h, errors.New("the entry is not signed with the platform's key")
	}
	return e, Head{e.Sequence, HashOf(text), e.Key}, nil
}

var (
	// ErrNotFound means that the journal has no entry with the requested sequence number.
	ErrNotFound = errors.New("no such entry in the erasure journal")
	// ErrConflict means that the journal already has a different entry with the sequence number of the
	// new entry.
	ErrConflict = errors.New("the erasure journal already has a different entry with this number")
)

// Store stores the texts of entries by their sequence numbers. No call waits longer than a few seconds for
// a bucket.
type Store interface {
	// Read returns the text of an entry, or ErrNotFound.
	Read(ctx context.Context, sequence int64) ([]byte, error)
	// Write stores an entry durably. If the same entry exists already, Write succeeds. If there is a
	// different one, Write returns ErrConflict.
	Write(ctx context.Context, sequence int64, text []byte) error
	// CheckWrite returns an error if an entry could not be written. It does not add an entry.
	CheckWrite(ctx context.Context) error
	// Last returns the highest sequence number of an entry if it is above the given one, and otherwise 0.
	Last(ctx context.Context, after int64) (int64, error)
}

// Options describes where the journal is stored.
type Options struct {
	Location             string // the path of a folder, or s3://BUCKET/PREFIX; "" for no journal
	Endpoint             string // of the bucket: an origin, such as https://s3.example.com
	Region               string
	AccessKey, SecretKey string
}

// Open returns the journal, or nil if no location is given. It does not access the folder or the bucket.
func Open(o Options) (Store, error) {
	switch {
	case o.Location == "":
		return nil, nil
	case IsBucket(o.Location):
		return openBucket(o)
	}
	return Folder(o.Location), nil
}

// maxEntry is the maximum size of an entry in bytes, which is enough for 1,000 leads.
const maxEntry = 64 << 10

// readEntry reads the text of an entry.
func readEntry(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxEntry+1))
	if err == nil && len(text) > maxEntry {
		err = errors.New("the entry is too long")
	}
	return text, err
}

// checkName is the start of the names that CheckWrite uses. It is not the name of an entry.
const checkName = "write-check"

// Name returns the name of the file or object that contains an entry.
func Name(sequence int64) string { return fmt.Sprintf("%012d.json", sequence) }

// sequenceOf returns the sequence number of the entry with the given name, or 0 if this is not the name of an entry.
func sequenceOf(entry string) (sequence int64) {
	if _, err := fmt.Sscanf(entry, "%d.json", &sequence); err != nil || entry != Name(sequence) {
		return 0
	}
	return sequence
}
