package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

// folder is a journal in a folder, which all nodes must be able to read and write.
type folder struct{ path string }

// Folder returns the journal in the folder with the given path. It does not access the folder.
func Folder(path string) Store { return &folder{path} }

// Read implements Store. If the folder is missing, Read does not return ErrNotFound.
func (f *folder) Read(_ context.Context, sequence int64) ([]byte, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, cause(err)
	}
	defer root.Close()
	return read(root, sequence)
}

func read(root *os.Root, sequence int64) ([]byte, error) {
	file, err := root.Open(Name(sequence))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, cause(err)
	}
	defer file.Close()
	text, err := readEntry(file)
	return text, cause(err)
}

// Last implements Store.
func (f *folder) Last(_ context.Context, after int64) (last int64, err error) {
	names, err := os.ReadDir(f.path)
	if err != nil {
		return 0, cause(err)
	}
	for _, n := range names {
		if sequence := sequenceOf(n.Name()); sequence > after {
			last = max(last, sequence)
		}
	}
	return last, nil
}

// Write implements Store. It never overwrites an entry, even if several nodes write at once.
func (f *folder) Write(_ context.Context, sequence int64, text []byte) (err error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	temporary := Name(sequence) + "." + rand.Text() + ".tmp"
	defer root.Remove(temporary) //nolint:errcheck // a file that is left behind does no harm
	if err := writeFile(root, temporary, text); err != nil {
		return cause(err)
	}
	// A link, unlike a rename, never replaces an existing file.
	if err := root.Link(temporary, Name(sequence)); err != nil && !errors.Is(err, fs.ErrExist) {
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

// CheckWrite implements Store. It takes the same steps as Write, with a file as large as the largest entry,
// and then removes the file.
func (f *folder) CheckWrite(context.Context) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return cause(err)
	}
	defer root.Close()
	written := checkName + "." + rand.Text() + ".tmp"
	linked := checkName + "." + rand.Text() + ".tmp"
	defer root.Remove(written) //nolint:errcheck // a file that is left behind does no harm
	if err := writeFile(root, written, make([]byte, maxEntry)); err != nil {
		return cause(err)
	}
	defer root.Remove(linked) //nolint:errcheck // as above
	if err := root.Link(written, linked); err != nil {
		return cause(err)
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
