package aeszip

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// bsdtar, which macOS uses too, opens the archive with its passphrase and with no other.
func TestOpensInBsdtar(t *testing.T) {
	t.Parallel()
	large := make([]byte, 3<<20)
	rand.New(rand.NewSource(1)).Read(large)
	files := map[string][]byte{"empty.txt": nil, "data.json": []byte(`{"a":1}`), "large.bin": large}
	for _, size := range []int{1, 15, 16, 17, 4096} {
		files["size-"+string(rune('a'+size%26))] = large[:size]
	}
	passphrase := NewPassphrase()
	if ok := regexp.MustCompile(`^[A-Z2-7]{5}(-[A-Z2-7]{5}){4}$`).MatchString(passphrase); !ok {
		t.Errorf("got passphrase %q", passphrase)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "data.zip")
	write(t, archive, passphrase, files)
	if err := extract(archive, "wrong", t.TempDir()); err == nil {
		t.Error("a wrong passphrase opens the archive")
	}
	to := t.TempDir()
	if err := extract(archive, passphrase, to); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(to, name))
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.ModTime().Year() != 2026 {
			t.Errorf("%s: got time %v, %v", name, info.ModTime(), err)
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes and error %v, want %d bytes", name, len(got), err, len(want))
		}
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1 // in large.bin or another file, not in the list of files
	if err := os.WriteFile(archive, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := extract(archive, passphrase, t.TempDir()); err == nil {
		t.Error("a changed byte is not detected")
	}
}

func write(t *testing.T, path, passphrase string, files map[string][]byte) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, passphrase, time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC))
	for name, text := range files {
		if err := w.Add(name, func(to io.Writer) error { _, err := to.Write(text); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func extract(archive, passphrase, to string) error {
	return exec.Command("bsdtar", "-x", "--passphrase", passphrase, "-f", archive, "-C", to).Run()
}

func TestAddReturnsTheErrorOfItsContent(t *testing.T) {
	t.Parallel()
	want := errors.New("no content")
	w := NewWriter(io.Discard, "x", time.Time{})
	if err := w.Add("a", func(io.Writer) error { return want }); !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}
