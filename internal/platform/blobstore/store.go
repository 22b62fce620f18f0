// Package blobstore stores files, such as uploads and exports, in the database until they expire. Any node can read a
// file that another node wrote.
//
// A file is compressed and split into parts. Each part is sealed with the platform key and bound to
// its file and position. A file can be read only after it has been written completely.
package blobstore

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// partSize is the size, in bytes, of the parts into which a compressed file is split.
const partSize = 512 << 10

// Store stores files in the database.
type Store struct {
	db    *postgres.DB
	keys  *keyring.Keys
	clock clock.Clock
}

// NewStore returns a store that uses db.
func NewStore(db *postgres.DB, keys *keyring.Keys, c clock.Clock) *Store {
	return &Store{db, keys, c}
}

// Writer writes a file. The file can be read after Close. A file whose writer is never closed is
// deleted when it expires.
type Writer struct {
	ID uuid.UUID

	ctx    context.Context
	blobs  *Store
	zip    *gzip.Writer
	sum    hash.Hash
	size   int64
	parts  int
	buf    []byte
	failed error
}

// Create creates a file and returns its writer. The parameter until is the time when the file expires.
func (c *Store) Create(ctx context.Context, until time.Time) (*Writer, error) {
	now := c.clock.Now()
	w := &Writer{ID: id.New(now), ctx: ctx, blobs: c, sum: sha256.New(), buf: make([]byte, 0, partSize)}
	_, err := c.db.Pool.Exec(ctx, `INSERT INTO files (id, created_at, expires_at) VALUES ($1, $2, $3)`, w.ID, now, until)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	w.zip, err = gzip.NewWriterLevel(compressed{w}, gzip.BestSpeed)
	return w, err
}

// Write compresses and encrypts p and appends it to the file.
func (w *Writer) Write(p []byte) (int, error) {
	w.sum.Write(p)
	w.size += int64(len(p))
	return w.zip.Write(p)
}

// Size returns the number of bytes written, before compression.
func (w *Writer) Size() int64 { return w.size }

// SHA256 returns the digest of the bytes written, before compression.
func (w *Writer) SHA256() []byte { return w.sum.Sum(nil) }

// Close writes the rest of the file and marks it as complete.
func (w *Writer) Close() error {
	if err := w.zip.Close(); err != nil {
		return err
	}
	if err := w.flush(); err != nil {
		return err
	}
	_, err := w.blobs.db.Pool.Exec(w.ctx, `UPDATE files SET complete = true, size = $2, sha256 = $3 WHERE id = $1`, w.ID,
		w.size, w.SHA256())
	return postgres.Translate(err)
}

// compressed is an io.Writer that splits a compressed file into parts and stores them in the database.
type compressed struct{ w *Writer }

func (c compressed) Write(p []byte) (n int, err error) {
	w := c.w
	for n < len(p) && w.failed == nil {
		k := min(len(p)-n, partSize-len(w.buf))
		w.buf = append(w.buf, p[n:n+k]...)
		if n += k; len(w.buf) == partSize {
			w.failed = w.flush()
		}
	}
	return n, w.failed
}

func (w *Writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	value := w.blobs.keys.Seal(keyring.File, place(w.ID, w.parts), w.buf)
	_, err := w.blobs.db.Pool.Exec(w.ctx, `INSERT INTO file_parts (file_id, part, sealed) VALUES ($1, $2, $3)`, w.ID,
		w.parts, value)
	w.parts, w.buf = w.parts+1, w.buf[:0]
	return postgres.Translate(err)
}

// place returns the data that ties an encrypted part to its file and to its position in the file.
func place(file uuid.UUID, part int) []byte {
	return binary.BigEndian.AppendUint32(append([]byte(nil), file[:]...), uint32(part)) //nolint:gosec // a file has fewer parts
}

// ErrGone means that the file does not exist, has expired or was not written completely.
var ErrGone = apperr.New(apperr.NotFound, "file_gone", "The file has expired. Upload or export it again.")

// ErrUnreadable means that the platform key that sealed the file is not configured.
var ErrUnreadable = apperr.New(apperr.Internal, "file_sealed",
	"The file cannot be read, because its platform key is no longer configured. Upload or export it again.")

// Open returns a reader for the decrypted and decompressed contents of a file.
func (c *Store) Open(ctx context.Context, file uuid.UUID) (io.ReadCloser, error) {
	var complete bool
	err := c.db.Pool.QueryRow(ctx, `SELECT complete FROM files WHERE id = $1 AND expires_at > $2`, file, c.clock.Now()).
		Scan(&complete)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && !complete {
		return nil, ErrGone
	}
	if err != nil {
		return nil, postgres.Translate(err)
	}
	return gzip.NewReader(&parts{ctx: ctx, blobs: c, file: file})
}

// parts is an io.Reader that reads a compressed file part by part. Between reads, it does not hold a
// database connection.
type parts struct {
	ctx   context.Context
	blobs *Store
	file  uuid.UUID
	next  int
	left  []byte
}

func (p *parts) Read(into []byte) (int, error) {
	for len(p.left) == 0 {
		var value []byte
		err := p.blobs.db.Pool.QueryRow(p.ctx, `SELECT sealed FROM file_parts WHERE file_id = $1 AND part = $2`,
			p.file, p.next).Scan(&value)
		if errors.Is(err, pgx.ErrNoRows) {
			return 0, io.EOF // the gzip checksum detects a missing part
		}
		if err != nil {
			return 0, postgres.Translate(err)
		}
		if p.left, err = p.blobs.keys.Open(keyring.File, place(p.file, p.next), value); err != nil {
			return 0, ErrUnreadable.WithCause(err)
		}
		p.next++
	}
	n := copy(into, p.left)
	p.left = p.left[n:]
	return n, nil
}

// Delete deletes a file. It does nothing if the file does not exist.
func (c *Store) Delete(ctx context.Context, file uuid.UUID) error {
	_, err := c.db.Pool.Exec(ctx, `DELETE FROM files WHERE id = $1`, file)
	return postgres.Translate(err)
}

// DeleteExpired deletes files that have expired, and returns how many it deleted.
func (c *Store) DeleteExpired(ctx context.Context) (int64, error) {
	return postgres.InBatches(ctx, c.db.Pool,
		`DELETE FROM files WHERE id IN (SELECT id FROM files WHERE expires_at < $1 LIMIT $2)`, c.clock.Now())
}

// SealUses returns the number of files sealed with each platform key. A key can be removed when no file
// uses it. Files are not resealed, because they expire soon.
func (c *Store) SealUses(ctx context.Context) (map[keyring.KeyID]int64, error) {
	uses := map[keyring.KeyID]int64{}
	rows, err := c.db.Pool.Query(ctx, `SELECT substring(sealed FROM 1 FOR 6) FROM file_parts WHERE part = 0`)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&value}, func() error {
		if key, ok := keyring.KeyOf(value); ok {
			uses[key]++
		}
		return nil
	})
	return uses, postgres.Translate(err)
}
