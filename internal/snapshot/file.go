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
	// fileFormat begins a file in clear and is bound to what follows. A file of
	// another format, older or newer, is not read.
	fileFormat = "pingpost snapshot 1\n"
	maxFile    = 256 << 20
)

var (
	errFormat = errors.New("the file has another format: it was written by another version of this program or is not a snapshot")
	errSize   = errors.New("the file is too large to be a snapshot")
)

// Sealer encrypts a value for an owner, and opens it again.
type Sealer interface {
	Seal(owner, plain []byte) []byte
	Open(owner, value []byte) ([]byte, error)
}

// File keeps a value on disk, sealed, so that it outlives a restart. Several
// processes may share one: the last to write wins.
type File struct {
	Path   string
	Sealer Sealer
}

// Write replaces the file in one step. A reader finds the value from before or
// this one.
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
			os.Remove(out.Name()) //nolint:errcheck // err is what went wrong
		}
	}()
	_, err = out.Write(append([]byte(fileFormat), f.Sealer.Seal([]byte(fileFormat), plain)...))
	if err = cmp.Or(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), f.Path)
}

// Read returns what was written last.
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
