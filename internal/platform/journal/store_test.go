package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/journal"
)

// place is where a journal is stored. A test can change its contents directly.
type place struct {
	open    func(t *testing.T) journal.Store
	put     func(t *testing.T, name string, content []byte)
	names   func(t *testing.T) []string
	missing journal.Options // of the same kind of place, but it does not exist
	secrets []string        // that errors must not contain
}

// inEveryPlace runs a test with a journal in a folder and with one in a bucket.
func inEveryPlace(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		test(t, place{
			open: func(*testing.T) journal.Store { return journal.Folder(folder) },
			put: func(t *testing.T, name string, content []byte) {
				if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			names: func(t *testing.T) (names []string) {
				files, err := os.ReadDir(folder)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					names = append(names, f.Name())
				}
				return names
			},
			missing: journal.Options{Location: filepath.Join(folder, "missing")},
			secrets: []string{folder},
		})
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		b := testkit.NewBucket(t)
		missing := b.Options
		missing.Location = "s3://no-such-bucket/pingpost"
		test(t, place{
			open:    func(t *testing.T) journal.Store { return open(t, b.Options) },
			put:     func(t *testing.T, name string, content []byte) { b.Put(t, name, content) },
			names:   func(t *testing.T) []string { return b.Names(t) },
			missing: missing,
			secrets: []string{"http://", "no-such-bucket", b.Options.SecretKey},
		})
	})
}

func open(t *testing.T, o journal.Options) journal.Store {
	t.Helper()
	s, err := journal.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSetCredentials(t *testing.T) {
	t.Parallel()
	b := testkit.NewBucket(t)
	o := b.Options
	o.SecretKey = "wrong"
	s := open(t, o)
	if _, err := s.Last(t.Context(), 0); err == nil {
		t.Error("a wrong key is accepted")
	}
	journal.SetCredentials(s, o.AccessKey, b.Options.SecretKey)
	if _, err := s.Last(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		s := p.open(t)
		if _, err := s.Read(t.Context(), 1); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("read of an empty journal: got %v", err)
		}
		first := entry(t, 1, journal.Hash{}, "ld_1")
		for range 2 { // writing it again changes nothing
			if err := s.Write(t.Context(), 1, first); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.Read(t.Context(), 1); err != nil || !bytes.Equal(got, first) {
			t.Errorf("got %s, %v", got, err)
		}
		if err := s.Write(t.Context(), 1, entry(t, 1, journal.Hash{}, "ld_2")); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("a different entry: got %v", err)
		}
		if got, err := s.Read(t.Context(), 1); err != nil || !bytes.Equal(got, first) {
			t.Errorf("after the conflict: got %s, %v", got, err)
		}
		if names := p.names(t); !slices.Equal(names, []string{"000000000001.json"}) {
			t.Errorf("got %v, want only the entry", names)
		}
	})
}

// Checking that a journal can be written adds no entry, and leaves at most one other file or object, however often and
// by however many nodes it is checked.
func TestCheckWrite(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		var nodes sync.WaitGroup
		for range 4 {
			s := p.open(t)
			nodes.Go(func() {
				for range 3 {
					if err := s.CheckWrite(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		nodes.Wait()
		s := p.open(t)
		if last, err := s.Last(t.Context(), 0); err != nil || last != 0 {
			t.Errorf("got last entry %d, %v, want none", last, err)
		}
		if names := p.names(t); len(names) > 1 {
			t.Errorf("got %v, want at most one name", names)
		}
		if err := s.Write(t.Context(), 1, entry(t, 1, journal.Hash{}, "ld_1")); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckWriteOfReadOnlyFolder(t *testing.T) {
	t.Parallel()
	folder := testkit.ReadOnlyFolder(t)
	s := journal.Folder(folder)
	if last, err := s.Last(t.Context(), 0); err != nil || last != 0 {
		t.Fatalf("got last entry %d, %v, want none", last, err)
	}
	if err := s.CheckWrite(t.Context()); err == nil || strings.Contains(err.Error(), folder) {
		t.Errorf("got %v, want an error without the path", err)
	}
}

func TestLast(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		s := p.open(t)
		last := func(after, want int64) {
			t.Helper()
			if got, err := s.Last(t.Context(), after); err != nil || got != want {
				t.Errorf("after %d: got %d, %v, want %d", after, got, err, want)
			}
		}
		last(0, 0)
		for _, name := range []string{"9.json", "000000000009.json.tmp", "notes.txt", "-00000000009.json"} { // foreign
			p.put(t, name, nil)
		}
		last(0, 0)
		for _, sequence := range []int64{1, 2, 12} {
			if err := s.Write(t.Context(), sequence, entry(t, sequence, journal.Hash{}, "ld_1")); err != nil {
				t.Fatal(err)
			}
		}
		last(0, 12)
		last(2, 12)
		last(11, 12)
		last(12, 0)
		last(13, 0)
	})
}

// A full entry fits into the maximum size. A larger file is not read.
func TestSizeOfEntries(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		s := p.open(t)
		var leads []string
		for i := range 1000 {
			leads = append(leads, fmt.Sprintf("ld_%026d", i))
		}
		text := entry(t, 1, journal.Hash{}, leads...)
		if err := s.Write(t.Context(), 1, text); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read(t.Context(), 1); err != nil || !bytes.Equal(got, text) {
			t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
		}
		p.put(t, "000000000002.json", bytes.Repeat([]byte{' '}, 64<<10+1))
		if _, err := s.Read(t.Context(), 2); err == nil || errors.Is(err, journal.ErrNotFound) {
			t.Errorf("too large: got %v", err)
		}
		if err := s.Write(t.Context(), 2, text); err == nil {
			t.Error("an entry that is too large was replaced")
		}
	})
}

// A truncated or foreign entry is not replaced.
func TestDamagedEntry(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		s := p.open(t)
		text := entry(t, 1, journal.Hash{}, "ld_1")
		for i, content := range [][]byte{text[:20], {}, []byte("foreign")} {
			sequence := int64(i + 1)
			p.put(t, fmt.Sprintf("%012d.json", sequence), content)
			if err := s.Write(t.Context(), sequence, text); !errors.Is(err, journal.ErrConflict) {
				t.Errorf("%q: got %v", content, err)
			}
			if got, err := s.Read(t.Context(), sequence); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%q: got %q, %v", content, got, err)
			}
		}
	})
}

func TestMissingPlace(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		unusable(t, open(t, p.missing), p.secrets)
		if _, err := os.Stat(p.missing.Location); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder was created: %v", err)
		}
	})
	if s, err := journal.Open(journal.Options{}); s != nil || err != nil {
		t.Errorf("without a location: got %v, %v", s, err)
	}
}

// unusable fails the test if the journal can be used or reports that it is empty.
func unusable(t *testing.T, s journal.Store, secrets []string) {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	for operation, call := range map[string]func() error{
		"read":  func() error { _, err := s.Read(t.Context(), 1); return err },
		"write": func() error { return s.Write(t.Context(), 1, entry(t, 1, journal.Hash{})) },
		"last":  func() error { _, err := s.Last(t.Context(), 0); return err },
		"check": func() error { return s.CheckWrite(t.Context()) },
	} {
		wg.Go(func() {
			err := call()
			if err == nil || errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrConflict) {
				t.Errorf("%s: got %v", operation, err)
				return
			}
			for _, secret := range secrets {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: the error contains %q: %v", operation, secret, err)
				}
			}
		})
	}
}

// If several writers write different entries with the same sequence number, exactly one succeeds.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		const writers = 8
		for sequence := int64(1); sequence <= 5; sequence++ {
			var wg sync.WaitGroup
			var written, rejected atomic.Int32
			for i := range writers {
				s := p.open(t)
				wg.Go(func() {
					switch err := s.Write(context.Background(), sequence, entry(t, sequence, journal.Hash{}, fmt.Sprint("ld_", i))); {
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
	})
}

// An unreachable or silent server, and denied access, never look like an empty journal. No call takes
// longer than a few seconds.
func TestUnusableBucket(t *testing.T) {
	t.Parallel()
	b := testkit.NewBucket(t)
	network := testkit.NewNetwork(t, b.Address)
	behind := b.Options
	behind.Endpoint = "http://" + network.Address()
	s := open(t, behind)
	if err := s.Write(t.Context(), 1, entry(t, 1, journal.Hash{})); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckWrite(t.Context()); err != nil { // adds the object, so that later checks find it
		t.Fatal(err)
	}
	secrets := []string{"http://", b.Options.SecretKey, "pingpost/"}
	check := func(name string, s journal.Store) {
		t.Run(name, func(t *testing.T) { unusable(t, s, secrets) })
	}
	network.Down()
	check("unreachable", s)
	network.Up(t)
	for name, fault := range map[string][2]string{
		"silent":  {"latency", `{"latency":60000}`},
		"cut off": {"limit_data", `{"bytes":100}`},
	} {
		remove := network.AddFault(t, fault[0], fault[1])
		check(name, s)
		remove()
	}
	wrongSecret, wrongKey := b.Options, b.Options
	wrongSecret.SecretKey, wrongKey.AccessKey = "wrong-secret-of-tests", "someone"
	check("wrong secret", open(t, wrongSecret))
	check("wrong access key", open(t, wrongKey))
	if err := s.Write(t.Context(), 1, entry(t, 1, journal.Hash{})); err != nil {
		t.Errorf("after the faults: %v", err)
	}
	b.Allow(t)
	check("no permissions", s)
	b.Allow(t, "s3:GetObject", "s3:ListBucket")
	if err := s.Write(t.Context(), 2, entry(t, 2, journal.Hash{})); err == nil || errors.Is(err, journal.ErrConflict) {
		t.Errorf("write without permission: got %v", err)
	}
	if err := s.CheckWrite(t.Context()); err == nil {
		t.Error("the check finds nothing without permission to write")
	}
	if last, err := s.Last(t.Context(), 0); err != nil || last != 1 {
		t.Errorf("got last entry %d, %v, want 1", last, err)
	}
}

func TestBucketLocations(t *testing.T) {
	for location, want := range map[string][2]string{
		"s3://erasures": {"erasures", ""}, "s3://erasures/": {"erasures", ""}, "s3://erasures/a/b": {"erasures", "a/b/"}, "s3://my.bucket/a_1.x/": {"my.bucket", "a_1.x/"},
		"s3://": {}, "s3://x": {}, "s3://Erasures": {}, "s3://erasures//a": {}, "s3://erasures/../a": {}, "s3://erasures/a?b": {}, "s3://user@erasures/a": {}, "/s3://erasures": {}, "": {},
	} {
		bucket, prefix, ok := journal.ParseBucket(location)
		if bucket != want[0] || prefix != want[1] || ok != (want[0] != "") {
			t.Errorf("%s: got %q, %q, %t", location, bucket, prefix, ok)
		}
		if _, err := journal.Open(journal.Options{Location: location, Endpoint: "https://s3.example.com"}); journal.IsBucket(location) && (err == nil) != ok {
			t.Errorf("%s: got %v", location, err)
		}
	}
	if _, err := journal.Open(journal.Options{Location: "s3://erasures", Endpoint: "s3.example.com"}); err == nil {
		t.Error("an endpoint that is not an origin was accepted")
	}
}

// A copy contains the entries of the original, also if one is missing. Writing to the copy does not change the
// original.
func TestCopy(t *testing.T) {
	t.Parallel()
	inEveryPlace(t, func(t *testing.T, p place) {
		original := p.open(t)
		for _, sequence := range []int64{1, 2, 4} {
			if err := original.Write(t.Context(), sequence, entry(t, sequence, journal.Hash{}, "ld_1")); err != nil {
				t.Fatal(err)
			}
		}
		names := p.names(t)
		s, err := journal.Copy(t.Context(), original)
		if err != nil {
			t.Fatal(err)
		}
		for sequence, found := range map[int64]bool{1: true, 2: true, 3: false, 4: true, 5: false} {
			got, err := s.Read(t.Context(), sequence)
			want := entry(t, sequence, journal.Hash{}, "ld_1")
			if found && !bytes.Equal(got, want) || !found && !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("entry %d: got %s, %v, want found: %t", sequence, got, err, found)
			}
		}
		for range 2 { // writing it again changes nothing
			if err := s.Write(t.Context(), 5, entry(t, 5, journal.Hash{}, "ld_1")); err != nil {
				t.Error(err)
			}
		}
		if err := s.Write(t.Context(), 1, entry(t, 1, journal.Hash{}, "ld_2")); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("a different entry: got %v", err)
		}
		if err := s.CheckWrite(t.Context()); err != nil {
			t.Error(err)
		}
		for after, want := range map[int64]int64{0: 5, 4: 5, 5: 0} {
			if got, err := s.Last(t.Context(), after); err != nil || got != want {
				t.Errorf("after %d: got %d, %v, want %d", after, got, err, want)
			}
		}
		if now := p.names(t); !slices.Equal(now, names) {
			t.Errorf("the original has %v, want %v", now, names)
		}
		if _, err := journal.Copy(t.Context(), open(t, p.missing)); err == nil {
			t.Error("a missing journal was copied")
		}
	})
}
