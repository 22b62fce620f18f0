package blobstore_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// noise returns random bytes, which do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func TestFiles(t *testing.T) {
	t.Parallel()
	d, now := testkit.NewDatabase(t), clock.NewManual(testkit.StartTime())
	c := blobstore.NewStore(d.DB, testkit.PlatformKeys(t, 1), now)
	for _, size := range []int{0, 1, 512 << 10, 3<<20 + 17} {
		want := noise(size)
		w, err := c.Create(t.Context(), now.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), w.ID); !errors.Is(err, blobstore.ErrGone) {
			t.Errorf("%d bytes: opening an incomplete file: %v, want ErrGone", size, err)
		}
		if _, err := io.Copy(w, bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil || w.Size() != int64(size) {
			t.Fatalf("%d bytes: %v, size %d", size, err, w.Size())
		}
		r, err := c.Open(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d bytes and error %v", size, len(got), err)
		}
	}
}

// Parts are encrypted in the database and bound to their positions.
func TestFilesAreSealed(t *testing.T) {
	t.Parallel()
	d, now := testkit.NewDatabase(t), clock.NewManual(testkit.StartTime())
	c := blobstore.NewStore(d.DB, testkit.PlatformKeys(t, 1), now)
	put := func(content []byte) uuid.UUID {
		w, err := c.Create(t.Context(), now.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		w.Write(content)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return w.ID
	}
	read := func(file uuid.UUID) error {
		r, err := c.Open(t.Context(), file)
		if err == nil {
			_, err = io.ReadAll(r)
		}
		return err
	}
	canary := []byte("canary@example.com")
	one, two := put(bytes.Repeat(canary, 1000)), put(noise(2<<20))
	if testkit.Value[bool](t, d, `SELECT bool_or(position($1::bytea IN sealed) > 0) FROM file_parts`, canary) {
		t.Error("the database contains plaintext")
	}
	owner := testkit.Connect(t, d.OwnerURL) // the service has no permission to change parts
	for name, sql := range map[string]string{
		"swapped parts":        `UPDATE file_parts SET part = CASE part WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE part END WHERE file_id = $1`,
		"part of another file": `UPDATE file_parts SET sealed = (SELECT sealed FROM file_parts WHERE file_id <> $1 LIMIT 1) WHERE file_id = $1 AND part = 0`,
		"missing last part":    `DELETE FROM file_parts WHERE file_id = $1 AND part = (SELECT max(part) FROM file_parts WHERE file_id = $1)`,
	} {
		file := put(noise(2 << 20))
		if err := read(file); err != nil {
			t.Fatal(err)
		}
		if _, err := owner.Exec(t.Context(), `ALTER TABLE file_parts DROP CONSTRAINT IF EXISTS file_parts_pkey`); err != nil {
			t.Fatal(err)
		}
		if _, err := owner.Exec(t.Context(), sql, file); err != nil {
			t.Fatal(err)
		}
		if err := read(file); err == nil {
			t.Errorf("%s: reading succeeded, want an error", name)
		}
	}
	if err := errors.Join(read(one), read(two)); err != nil {
		t.Error(err)
	}
	if uses, err := c.SealUses(t.Context()); err != nil || len(uses) != 1 {
		t.Errorf("SealUses = %v, %v", uses, err)
	}
	other := blobstore.NewStore(d.DB, testkit.PlatformKeys(t, 2), now)
	if r, err := other.Open(t.Context(), one); err == nil {
		if _, err = io.ReadAll(r); !errors.Is(err, blobstore.ErrUnreadable) {
			t.Errorf("opening without the key: %v", err)
		}
	} else if !errors.Is(err, blobstore.ErrUnreadable) {
		t.Errorf("opening without the key: %v", err)
	}
}

func TestFilesExpire(t *testing.T) {
	t.Parallel()
	d, now := testkit.NewDatabase(t), clock.NewManual(testkit.StartTime())
	c := blobstore.NewStore(d.DB, testkit.PlatformKeys(t, 1), now)
	w, err := c.Create(t.Context(), now.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(noise(1 << 20))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	now.Advance(2 * time.Hour)
	if _, err := c.Open(t.Context(), w.ID); !errors.Is(err, blobstore.ErrGone) {
		t.Errorf("opening an expired file: got %v, want ErrGone", err)
	}
	if n, err := c.DeleteExpired(t.Context()); n != 1 || err != nil {
		t.Errorf("DeleteExpired deleted %d files and returned error %v", n, err)
	}
	if n := testkit.Value[int64](t, d, `SELECT count(*) FROM file_parts`); n != 0 {
		t.Errorf("got %d remaining parts, want 0", n)
	}
}
