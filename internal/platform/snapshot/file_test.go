package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
)

func fileIn(t *testing.T, fill byte) snapshot.File {
	t.Helper()
	return snapshot.File{
		Path:   filepath.Join(t.TempDir(), "deep", "snapshot"),
		Sealer: testkit.PlatformKeys(t, fill).For(keyring.Snapshot),
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	f := fileIn(t, 1)
	if _, err := f.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading before the first write: %v", err)
	}
	for _, value := range []string{"one", "", "another"} {
		if err := f.Write([]byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read(); err != nil || string(got) != value {
			t.Errorf("Read() = %q, %v, want %q", got, err, value)
		}
	}
	info, err := os.Stat(f.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(f.Path)); err != nil || len(entries) != 1 {
		t.Errorf("folder contains %v, %v, want only the file", entries, err)
	}
	other := snapshot.File{Path: f.Path, Sealer: testkit.PlatformKeys(t, 2).For(keyring.Snapshot)}
	if _, err := other.Read(); !errors.Is(err, keyring.ErrNotOpened) {
		t.Errorf("reading with another key: %v", err)
	}
	rotated := snapshot.File{Path: f.Path, Sealer: testkit.PlatformKeys(t, 2, 1).For(keyring.Snapshot)}
	if got, err := rotated.Read(); err != nil || string(got) != "another" {
		t.Errorf("reading with the key in second place: %q, %v", got, err)
	}
}

// A changed or truncated file is rejected.
func TestChangedFileIsRejected(t *testing.T) {
	t.Parallel()
	f := fileIn(t, 1)
	if err := f.Write([]byte("the value")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		text := bytes.Clone(whole)
		at := rapid.IntRange(0, len(text)-1).Draw(r, "at")
		if rapid.Bool().Draw(r, "cut") {
			text = text[:at]
		} else {
			text[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "flip"))
		}
		if err := os.WriteFile(f.Path, text, 0o600); err != nil {
			r.Fatal(err)
		}
		if got, err := f.Read(); err == nil {
			r.Fatalf("the changed file was read as %q", got)
		}
	})
}

// Two nodes may share a file. Each read returns a complete value from one of them.
func TestFileSharedByTwoNodes(t *testing.T) {
	t.Parallel()
	f := fileIn(t, 1)
	value := func(of int) []byte { return bytes.Repeat([]byte(fmt.Sprint(of)), 100_000) }
	if err := f.Write(value(0)); err != nil {
		t.Fatal(err)
	}
	var nodes sync.WaitGroup
	for node := range 2 {
		nodes.Go(func() {
			for range 20 {
				if err := f.Write(value(node)); err != nil {
					t.Error(err)
				}
				if got, err := f.Read(); err != nil || !bytes.Equal(got, value(0)) && !bytes.Equal(got, value(1)) {
					t.Errorf("Read() returned %d bytes, %v", len(got), err)
				}
			}
		})
	}
	nodes.Wait()
}
