package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/journal"
)

const platform = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

func entry(t testing.TB, sequence int64, previous journal.Hash, leads ...string) []byte {
	t.Helper()
	text, err := journal.Entry{
		Platform: platform, Sequence: sequence, Previous: previous, At: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), By: "operator", Reason: "request", Leads: leads,
	}.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWriteAndRead(t *testing.T) {
	folder := t.TempDir()
	s := journal.Open(folder)
	if _, err := s.Read(1); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("read of an empty journal: got %v", err)
	}
	first := entry(t, 1, journal.Hash{}, "ld_1")
	for range 2 { // writing it again changes nothing
		if err := s.Write(1, first); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Read(1); err != nil || !bytes.Equal(got, first) {
		t.Errorf("got %s, %v", got, err)
	}
	if err := s.Write(1, entry(t, 1, journal.Hash{}, "ld_2")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("a different entry: got %v", err)
	}
	if got, err := s.Read(1); err != nil || !bytes.Equal(got, first) {
		t.Errorf("after the conflict: got %s, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "9.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if last, err := s.Last(); err != nil || last != 1 {
		t.Errorf("got last entry %d, %v, want 1", last, err)
	}
	if err := os.Remove(filepath.Join(folder, "9.json")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 || files[0].Name() != "000000000001.json" {
		t.Errorf("got files %v, %v, want only the entry", files, err)
	}
}

// A full entry fits into the maximum size.
func TestLargestEntry(t *testing.T) {
	s := journal.Open(t.TempDir())
	var leads []string
	for i := range 1000 {
		leads = append(leads, fmt.Sprintf("ld_%026d", i))
	}
	text := entry(t, 1, journal.Hash{}, leads...)
	if err := s.Write(1, text); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(1); err != nil || !bytes.Equal(got, text) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
	}
}

func TestUnreadableFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	s := journal.Open(folder)
	if _, err := s.Read(1); err == nil || errors.Is(err, journal.ErrNotFound) || bytes.Contains([]byte(err.Error()), []byte(folder)) {
		t.Errorf("read: got %v", err)
	}
	if err := s.Write(1, entry(t, 1, journal.Hash{})); err == nil || bytes.Contains([]byte(err.Error()), []byte(folder)) {
		t.Errorf("write: got %v", err)
	}
	if last, err := s.Last(); err == nil {
		t.Errorf("last: got %d", last)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was created: %v", err)
	}
	if journal.Open("") != nil {
		t.Error("an empty path opened a journal")
	}
}

// Of several writers of different entries with the same sequence number, exactly one succeeds.
func TestConcurrentWriters(t *testing.T) {
	folder := t.TempDir()
	var wg sync.WaitGroup
	var written, rejected atomic.Int32
	const writers = 8
	for i := range writers {
		wg.Go(func() {
			switch err := journal.Open(folder).Write(1, entry(t, 1, journal.Hash{}, fmt.Sprint("ld_", i))); {
			case err == nil:
				written.Add(1)
			case errors.Is(err, journal.ErrConflict):
				rejected.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if written.Load() != 1 || rejected.Load() != writers-1 {
		t.Errorf("%d writers succeeded and %d were rejected, want 1 and %d", written.Load(), rejected.Load(), writers-1)
	}
}

func TestParseRejects(t *testing.T) {
	first := entry(t, 1, journal.Hash{}, "ld_1")
	second := entry(t, 2, journal.HashOf(first), "ld_2")
	if _, err := journal.Parse(second, platform, 2, journal.HashOf(first)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		text     []byte
		sequence int64
		previous journal.Hash
	}{
		"other sequence": {second, 3, journal.HashOf(first)},
		"other previous": {second, 2, journal.HashOf(second)},
		"not JSON":       {[]byte(`{`), 2, journal.HashOf(first)},
		"more text":      {append(bytes.Clone(second), ' '), 2, journal.HashOf(first)},
		"unknown field":  {bytes.Replace(second, []byte(`"by"`), []byte(`"x":1,"by"`), 1), 2, journal.HashOf(first)},
		"short hash":     {bytes.Replace(second, []byte(`"previous":"`), []byte(`"previous":"00`), 1), 2, journal.HashOf(first)},
	} {
		if e, err := journal.Parse(tt.text, platform, tt.sequence, tt.previous); err == nil {
			t.Errorf("%s: got %+v", name, e)
		}
	}
	if e, err := journal.Parse(second, "other", 2, journal.HashOf(first)); err == nil {
		t.Errorf("other platform: got %+v", e)
	}
}

func FuzzParse(f *testing.F) {
	first := entry(f, 1, journal.Hash{}, "ld_1")
	f.Add(first)
	f.Add([]byte(`{"sequence":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := journal.Parse(text, platform, 1, journal.Hash{})
		if err != nil {
			return
		}
		if again, err := e.Text(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("an accepted entry has another text: %s, %v", again, err)
		}
	})
}
