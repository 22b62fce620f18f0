package filewatch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pingpost/pingpost/internal/base/filewatch"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, target, other := filepath.Join(dir, "link"), filepath.Join(dir, "one"), filepath.Join(dir, "two")
	write := func(file, text string) func() error {
		return func() error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	files := filewatch.New(name)
	for _, step := range []struct {
		what    string
		do      func() error
		changed bool
	}{
		{"still missing", func() error { return nil }, false},
		{"created", func() error {
			if err := write(target, "1")(); err != nil {
				return err
			}
			return os.Symlink(target, name)
		}, true},
		{"unchanged", func() error { return nil }, false},
		{"longer", write(target, "12"), true},
		{"another file", write(other, "12"), false},
		{"link changed", func() error {
			if err := os.Remove(name); err != nil {
				return err
			}
			return os.Symlink(other, name)
		}, true},
		{"replaced", func() error { return os.Rename(target, other) }, true},
		{"removed", func() error { return os.Remove(other) }, true},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := files.Changed(); got != step.changed {
			t.Errorf("%s: got %t, want %t", step.what, got, step.changed)
		}
	}
}
