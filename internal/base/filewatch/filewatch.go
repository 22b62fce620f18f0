// Package filewatch detects changes of files.
package filewatch

import (
	"io/fs"
	"os"
)

// Files are files that may be changed, replaced, created or removed. Symbolic links are followed. Files is not safe for
// concurrent use.
type Files struct {
	names []string
	seen  []fs.FileInfo // nil for a file that does not exist
}

// New returns the files with the given names.
func New(names ...string) *Files {
	f := &Files{names: names, seen: make([]fs.FileInfo, len(names))}
	f.Changed()
	return f
}

// Names returns the names of the files.
func (f *Files) Names() []string { return f.names }

// Changed reports whether one of the files has changed since the last call, or since New. Read the files after the
// call, so that the next call detects a change that is made in between.
func (f *Files) Changed() bool {
	changed := false
	for i, name := range f.names {
		now := stat(name)
		changed = changed || !sameFile(f.seen[i], now)
		f.seen[i] = now
	}
	return changed
}

// stat returns information about a file, or nil if it does not exist.
func stat(name string) fs.FileInfo {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether a file was neither changed nor replaced. The time of a change alone does not show this,
// because it may have a resolution of some milliseconds.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
