package intake

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	// recorderBatch is the number of queued rows at which the writer starts immediately. If fewer rows
	// are queued, they wait for the next tick.
	recorderBatch = 8192
	// recorderQueue limits the number of queued rows, and recorderBytes limits their total size. A row
	// is usually about 200 bytes, and never more than 600. While the queue is full, pings are answered
	// but not recorded (decision 2).
	recorderQueue = 65536
	recorderBytes = 16 << 20
	recorderTick  = 250 * time.Millisecond
	secondsPerDay = 24 * 60 * 60
	copyTimeout   = 10 * time.Second
	// A batch is sent in parts of copyPart bytes, with pauses of copyPause in between. Without the
	// pauses, a batch would keep Postgres busy for many milliseconds and delay pings on the same
	// processors.
	copyPart  = 64 << 10
	copyPause = 3 * time.Millisecond
)

// Recorder writes pings to the database with COPY, from a bounded queue. Requests never wait for it.
type Recorder struct {
	pool       *pgxpool.Pool
	log        *slog.Logger
	dailyBytes int64                       // maximum size of the rows queued in a UTC day; 0 for no limit
	partitions func(context.Context) error // creates missing partitions; its errors are *postgres.Err

	mu       sync.Mutex
	day      int64 // Unix days
	today    int64 // size of the rows queued on that day
	reported int64 // the last day on which reaching the limit was logged
	buf      []byte
	rows     int
	closed   bool
	wake     chan struct{}

	written, dropFull, dropDaily, dropRejected, dropClosed atomic.Int64
}

// NewRecorder returns a Recorder. It writes only while its method Run is running.
func NewRecorder(
	pool *pgxpool.Pool, log *slog.Logger, dailyBytes int64, partitions func(context.Context) error,
) *Recorder {
	return &Recorder{pool: pool, log: log, dailyBytes: dailyBytes, partitions: partitions, wake: make(chan struct{}, 1)}
}

// RecorderStats contains counts since the node started, and the current number of queued rows.
type RecorderStats struct {
	Written, DroppedFull, DroppedDaily, DroppedRejected, DroppedClosed int64
	Queued                                                             int
}

// Stats returns the current counts.
func (r *Recorder) Stats() RecorderStats {
	r.mu.Lock()
	queued := r.rows
	r.mu.Unlock()
	return RecorderStats{r.written.Load(), r.dropFull.Load(), r.dropDaily.Load(), r.dropRejected.Load(),
		r.dropClosed.Load(), queued}
}

// Offer adds a ping to the queue, or counts it as dropped. It does no I/O.
func (r *Recorder) Offer(p PingRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if day := p.IssuedAt.Unix() / secondsPerDay; day > r.day {
		r.day, r.today = day, 0
	}
	switch {
	case r.closed:
		r.dropClosed.Add(1)
		return
	case r.dayIsFull():
		r.dropDaily.Add(1)
		return
	case r.rows >= recorderQueue || len(r.buf) >= recorderBytes:
		r.dropFull.Add(1)
		return
	}
	if r.rows == 0 {
		r.buf = append(r.buf, copyHeader...)
	}
	before := len(r.buf)
	r.buf = appendPing(r.buf, &p)
	r.today += int64(len(r.buf) - before)
	r.rows++
	if r.rows == recorderBatch {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (r *Recorder) dayIsFull() bool { return r.dailyBytes > 0 && r.today >= r.dailyBytes }

// reportFullDay logs, at most once a day, that the daily limit for recorded pings has been reached.
func (r *Recorder) reportFullDay() {
	r.mu.Lock()
	report := r.dayIsFull() && r.reported != r.day
	if report {
		r.reported = r.day
	}
	r.mu.Unlock()
	if report {
		r.log.Warn("ping log limit reached; pings are answered but not recorded until midnight UTC", "bytes", r.dailyBytes)
	}
}

// Run writes queued rows until ctx is cancelled, and then writes the remaining ones. While the
// database is unavailable, it retries the failed batch, and new rows wait in the queue.
func (r *Recorder) Run(ctx context.Context) {
	tick := time.NewTicker(recorderTick)
	defer tick.Stop()
	var spare []byte
	var away error // the error of the last batch, if it was not written before shutdown
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-r.wake:
		}
		r.reportFullDay()
		batch, rows := r.take(spare)
		if rows > 0 {
			away = r.write(ctx, batch, rows)
		}
		spare = batch[:0]
	}
	r.finish(context.WithoutCancel(ctx), spare, away)
}

func (r *Recorder) take(spare []byte) ([]byte, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch, rows := r.buf, r.rows
	r.buf, r.rows = spare, 0
	return batch, rows
}

// finish writes the remaining rows at shutdown. If the previous batch could not be written, finish
// counts the remaining rows as lost without another attempt.
func (r *Recorder) finish(ctx context.Context, spare []byte, away error) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	batch, rows := r.take(spare)
	if rows == 0 {
		return
	}
	if away != nil {
		r.lose(rows, away)
		return
	}
	_ = r.tryLast(ctx, batch, rows) // tryLast logs its error
}

func (r *Recorder) tryLast(ctx context.Context, batch []byte, rows int) error {
	err := r.attempt(ctx, batch)
	if err != nil {
		r.lose(rows, err)
		return err
	}
	r.written.Add(int64(rows))
	return nil
}

func (r *Recorder) lose(rows int, err error) {
	r.dropClosed.Add(int64(rows))
	r.log.Error("pings lost at shutdown, database unavailable", "rows", rows, "error", err)
}

// write retries until the batch is written or the database rejects it. If the service stops
// first, write makes one last attempt and returns the error of that attempt.
func (r *Recorder) write(ctx context.Context, batch []byte, rows int) error {
	for wait := recorderTick; ; wait = min(2*wait, 5*time.Second) {
		err := r.attempt(context.WithoutCancel(ctx), batch)
		switch {
		case err == nil:
			r.written.Add(int64(rows))
			return nil
		case isServerRejection(err):
			r.dropRejected.Add(int64(rows))
			r.log.Error("database rejected a batch of pings", "rows", rows, "error", err)
			return nil
		}
		r.log.Warn("database unavailable, retrying to write pings", "rows", rows, "error", err)
		select {
		case <-ctx.Done():
			return r.tryLast(context.WithoutCancel(ctx), batch, rows)
		case <-time.After(wait):
		}
	}
}

// attempt writes the batch. If the database rejects it, the day's partition is probably missing, so
// attempt creates the partition and writes the batch again.
func (r *Recorder) attempt(ctx context.Context, batch []byte) error {
	err := r.copy(ctx, batch)
	if !isServerRejection(err) {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	switch failed := r.partitions(bounded); {
	case failed == nil:
		return r.copy(ctx, batch)
	case !isServerRejection(failed):
		return failed
	}
	return err
}

func isServerRejection(err error) bool {
	var rejected *postgres.Err
	return errors.As(err, &rejected) && rejected.SQLState != "" && !rejected.Temporary()
}

func (r *Recorder) copy(ctx context.Context, batch []byte) error {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return postgres.Translate(err)
	}
	defer conn.Release()
	rows := &pacedReader{of: bytes.NewReader(batch), between: r.pause}
	_, err = conn.Conn().PgConn().CopyFrom(ctx, io.MultiReader(rows, bytes.NewReader(copyTrailer)), copyPings)
	return postgres.Translate(err)
}

// pause sleeps briefly, so that pings can use the processors. If the recorder is behind or stopping, it
// does not sleep.
func (r *Recorder) pause() {
	if !r.hurried() {
		time.Sleep(copyPause)
	}
}

func (r *Recorder) hurried() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed || r.rows >= recorderBatch
}

// pacedReader reads a batch in parts. Before each part except the first, it calls the function between.
type pacedReader struct {
	of      *bytes.Reader
	between func()
}

func (p *pacedReader) Read(into []byte) (int, error) {
	if left := int64(p.of.Len()); 0 < left && left < p.of.Size() {
		p.between()
	}
	return p.of.Read(into[:min(len(into), copyPart)])
}
