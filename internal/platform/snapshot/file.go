package snapshot

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
)

const (
	// fileFormat is the first line of a snapshot file. It is not encrypted, but it is authenticated
	// together with the rest of the file. Files in an older or newer format are rejected.
	fileFormat = "pingpost snapshot 1\n"
	maxFile    = 256 << 20
)

var (
	errFormat = errors.New("unknown file format: not a snapshot, or written by another version of pingpost")
	errSize   = errors.New("file too large for a snapshot")
)

// Sealer encrypts and decrypts values. The parameter owner states what the value belongs to. Open
// returns an error if its owner differs from the one that was passed to Seal.
type Sealer interface {
	Seal(owner, plain []byte) []byte
	Open(owner, value []byte) ([]byte, error)
}

// File stores an encrypted value on disk, so that it can be read after a restart. Several processes
// may share a file; the last write wins.
type File struct {
	Path   string
	Sealer Sealer
}

// Write replaces the file atomically. A reader gets either the old or the new value.
func (f File) Write(plain []byte) (err error) {
	folder := filepath.Dir(f.Path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	out, err := os.CreateTemp(folder, "."+filepath.Base(f.Path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(out.Name()) //nolint:errcheck // err is already set
		}
	}()
	_, err = out.Write(append([]byte(fileFormat), f.Sealer.Seal([]byte(fileFormat), plain)...))
	if err = cmp.Or(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), f.Path)
}

// Read returns the last value that was written.
func (f File) Read() ([]byte, error) {
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, errSize
	}
	sealed, ok := bytes.CutPrefix(text, []byte(fileFormat))
	if !ok {
		return nil, errFormat
	}
	return f.Sealer.Open([]byte(fileFormat), sealed)
}
