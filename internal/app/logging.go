package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

const (
	// logBuffer is the number of buffered bytes that triggers an immediate flush.
	logBuffer = 64 << 10
	// logLimit is the maximum size of the buffer, in bytes. Further lines are dropped and counted, so
	// that requests never wait for the log to be read.
	logLimit = 8 << 20
	logFlush = 200 * time.Millisecond
	// logGrace is how long a stopping node waits for its last log lines to be written.
	logGrace = 3 * time.Second
)

// lineBuffer buffers log lines, because a system call for each request would take longer
// than pricing a ping. Warnings and errors are flushed immediately.
type lineBuffer struct {
	out     io.Writer
	wake    chan struct{}
	dropped atomic.Int64      // lines that were not written
	report  func(lines int64) // called when writing works again, with the number of newly dropped lines

	mu  sync.Mutex // never held while writing to out, which may block
	buf []byte

	writing  sync.Mutex
	spare    []byte
	cut      bool // whether the last write ended in the middle of a line
	reported int64
}

func newLineBuffer(out io.Writer) *lineBuffer {
	return &lineBuffer{out: out, wake: make(chan struct{}, 1), report: func(int64) {}}
}

func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.buf)+len(line) > logLimit {
		b.dropped.Add(1)
		return len(line), nil
	}
	b.buf = append(b.buf, line...)
	if len(b.buf) >= logBuffer {
		b.signal()
	}
	return len(line), nil
}

func (b *lineBuffer) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Flush writes the buffered lines to the log.
func (b *lineBuffer) Flush() {
	b.writing.Lock()
	defer b.writing.Unlock()
	b.mu.Lock()
	lines := b.buf
	b.buf = b.spare[:0]
	b.mu.Unlock()
	if len(lines) > 0 {
		b.write(lines)
	}
	b.spare = lines
	if cap(lines) > 2*logBuffer { // it grew while nothing read the log
		b.spare = nil
	}
}

// write writes lines to the log. It counts the lines that it cannot write, for example because the disk
// is full.
func (b *lineBuffer) write(lines []byte) {
	if b.cut {
		if _, err := b.out.Write([]byte{'\n'}); err != nil {
			b.dropped.Add(int64(bytes.Count(lines, []byte{'\n'})))
			return
		}
		b.cut = false
	}
	n, err := b.out.Write(lines)
	if err != nil {
		b.dropped.Add(int64(bytes.Count(lines[n:], []byte{'\n'})))
		b.cut = n > 0 && lines[n-1] != '\n'
		return
	}
	if dropped := b.dropped.Load(); dropped > b.reported {
		b.report(dropped - b.reported)
		b.reported = dropped
	}
}

// flushWithin flushes the buffer, but waits at most d, because writing blocks if nothing reads the log.
func (b *lineBuffer) flushWithin(d time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Flush()
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// run flushes the buffer regularly until ctx ends. After that, the caller must flush the buffer once
// more.
func (b *lineBuffer) run(ctx context.Context) {
	tick := time.NewTicker(logFlush)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-b.wake:
		}
		b.Flush()
	}
}

type flushHandler struct {
	slog.Handler
	buffer *lineBuffer
}

func (h flushHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.buffer.signal()
	}
	return err
}

func (h flushHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return flushHandler{h.Handler.WithAttrs(attrs), h.buffer}
}

func (h flushHandler) WithGroup(name string) slog.Handler {
	return flushHandler{h.Handler.WithGroup(name), h.buffer}
}

// NewLogger returns an unbuffered logger in the configured format, for use before a node
// has started and after it has stopped.
func NewLogger(c config.Log, out io.Writer) *slog.Logger { return slog.New(newHandler(c, out)) }

func newHandler(c config.Log, out io.Writer) slog.Handler {
	options := &slog.HandlerOptions{Level: c.SlogLevel()}
	if c.Format == "text" {
		return slog.NewTextHandler(out, options)
	}
	return slog.NewJSONHandler(out, options)
}

func newLogger(c config.Log, out io.Writer) (*slog.Logger, *lineBuffer) {
	buffer := newLineBuffer(out)
	log := slog.New(flushHandler{newHandler(c, buffer), buffer})
	buffer.report = func(lines int64) { log.Warn("log lines lost", "lines", lines) }
	return log, buffer
}

func (a *App) accessLog() *httpserver.AccessLog {
	if !a.cfg.Log.Access || a.cfg.Log.SlogLevel() > slog.LevelInfo {
		return nil
	}
	return httpserver.NewAccessLog(a.lines, a.cfg.Log.Format == "text")
}
