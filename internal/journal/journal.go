// Package journal stores the erasure journal: a chain of entries outside the database that records
// which leads were erased. It contains no personal data. If an older backup of the database is restored,
// the leads that were erased after the backup can be found in the journal and erased again.
//
// Each entry is a file that is never changed. Its name is its sequence number, which starts at 1. Each
// entry contains the hash of the one before.
package journal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

// Entry records which leads are erased.
type Entry struct {
	Platform string    `json:"platform"` // the random id of the platform's database
	Sequence int64     `json:"sequence"`
	Previous Hash      `json:"previous"` // of the previous entry; zeros in the first entry
	At       time.Time `json:"at"`
	By       string    `json:"by"` // the user's id (us_…), or "operator"
	Reason   string    `json:"reason"`
	Leads    []string  `json:"leads"` // lead ids (ld_…)
}

// Text returns the text of the entry as it is stored.
func (e Entry) Text() ([]byte, error) { return json.Marshal(e) }

// HashOf returns the hash of an entry's text.
func HashOf(text []byte) Hash { return sha256.Sum256(text) }

// Parse parses the text of an entry. It returns an error if the entry is from another platform, has
// another sequence number, or does not follow the entry whose hash is the parameter previous.
func Parse(text []byte, platform string, sequence int64, previous Hash) (e Entry, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, fmt.Errorf("entry %d of the erasure journal is not valid JSON", sequence)
	}
	if again, err := e.Text(); err != nil || !bytes.Equal(again, text) {
		return e, fmt.Errorf("entry %d of the erasure journal was not written by pingpost", sequence)
	}
	if e.Platform != platform {
		return e, fmt.Errorf("entry %d of the erasure journal is from another platform", sequence)
	}
	if e.Sequence != sequence || e.Previous != previous {
		return e, fmt.Errorf("entry %d of the erasure journal does not follow the previous entry", sequence)
	}
	return e, nil
}

var (
	// ErrNotFound means that the journal has no entry with the requested sequence number.
	ErrNotFound = errors.New("no such entry in the erasure journal")
	// ErrConflict means that the journal already has a different entry with the sequence number of the
	// new entry.
	ErrConflict = errors.New("the erasure journal already has a different entry with this number")
)

// Store stores the texts of entries by their sequence numbers.
type Store interface {
	// Read returns the text of an entry, or ErrNotFound.
	Read(sequence int64) ([]byte, error)
	// Write stores an entry durably. If the same entry exists already, Write succeeds. If there is a
	// different one, Write returns ErrConflict.
	Write(sequence int64, text []byte) error
	// Last returns the highest sequence number of an entry, or 0 if there are no entries.
	Last() (int64, error)
}

// Open returns the journal in the folder with the given path, or nil if the path is empty. It does not
// access the folder.
func Open(path string) Store {
	if path == "" {
		return nil
	}
	return &folder{path}
}

// folder is a journal in a folder, which all nodes must be able to read and write.
type folder struct{ path string }

// maxEntry is the maximum size of an entry in bytes, which is enough for 1,000 leads.
const maxEntry = 64 << 10

// Read implements Store. It returns ErrNotFound only if the entry is missing. If the folder is missing,
// it returns a different error.
func (f *folder) Read(sequence int64) ([]byte, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	return read(root, sequence)
}

func read(root *os.Root, sequence int64) ([]byte, error) {
	file, err := root.Open(name(sequence))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, cause(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxEntry+1))
	if err == nil && len(text) > maxEntry {
		err = fmt.Errorf("entry %d of the erasure journal is too long", sequence)
	}
	return text, cause(err)
}

// Last implements Store.
func (f *folder) Last() (int64, error) {
	names, err := os.ReadDir(f.path)
	if err != nil {
		return 0, cause(err)
	}
	var last int64
	for _, n := range names {
		var sequence int64
		if _, err := fmt.Sscanf(n.Name(), "%d.json", &sequence); err == nil && n.Name() == name(sequence) {
			last = max(last, sequence)
		}
	}
	return last, nil
}

// Write implements Store. It never overwrites an entry, even if several nodes write at once.
func (f *folder) Write(sequence int64, text []byte) (err error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	temporary := name(sequence) + "." + rand.Text() + ".tmp"
	defer root.Remove(temporary) //nolint:errcheck // a file that is left behind does no harm
	if err := writeFile(root, temporary, text); err != nil {
		return cause(err)
	}
	// A link, unlike a rename, never replaces an existing file.
	if err := root.Link(temporary, name(sequence)); err != nil && !errors.Is(err, fs.ErrExist) {
		return cause(err)
	}
	stored, err := read(root, sequence)
	if err != nil {
		return err
	}
	if !bytes.Equal(stored, text) {
		return ErrConflict
	}
	return syncFolder(root)
}

func writeFile(root *os.Root, name string, text []byte) (err error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) // commands may run as another user than the nodes
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Write(text); err != nil {
		return err
	}
	return file.Sync()
}

// syncFolder makes the names of new files durable.
func syncFolder(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return cause(err)
	}
	defer folder.Close()
	return cause(folder.Sync())
}

func name(sequence int64) string { return fmt.Sprintf("%012d.json", sequence) }

// cause returns an error without the path, which users must not see.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
