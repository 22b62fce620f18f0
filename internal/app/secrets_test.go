package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pingpost/pingpost/internal/platform/config"
)

// TestOtherSecretFiles changes which file contains a secret.
func TestOtherSecretFiles(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "first"), filepath.Join(folder, "second")
	write := func(file, password string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("postgres://u:"+password+"@localhost/d"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first, "one")
	write(second, "two")
	file := first
	read := func() (*config.Config, error) {
		return config.Load(config.Source{
			Environ: []string{"PINGPOST_DATABASE_URL_FILE=" + file}, Defaults: config.Dev,
			Need: []config.Section{config.SectionDatabase},
		})
	}
	cfg, err := read()
	if err != nil {
		t.Fatal(err)
	}
	s := newSecrets(Options{Config: cfg, ReadConfig: read})
	file = second
	if _, err := s.read(); err != nil || !slices.Equal(s.files.Names(), []string{second}) {
		t.Fatalf("watches %v, error %v", s.files.Names(), err)
	}
	write(first, "not used")
	if s.files.Changed() {
		t.Error("the first file is still watched")
	}
	write(second, "another")
	if !s.files.Changed() {
		t.Error("the second file is not watched")
	}
}
