package app

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/internal/config"
)

const (
	logBuffer = 64 << 10
	logFlush  = 200 * time.Millisecond
)

// lineBuffer gathers log lines: one write to the system a request would cost a
// ping more than its price does. Warnings and errors go out at once.
type lineBuffer struct {
	mu  sync.Mutex
	out io.Writer
	buf []byte
}

func (b *lineBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.buf)+len(line) > logBuffer {
		b.flush()
	}
	b.buf = append(b.buf, line...)
	return len(line), nil
}

func (b *lineBuffer) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
}

func (b *lineBuffer) flush() {
	b.out.Write(b.buf) // where the log goes is gone: there is nobody left to tell
	b.buf = b.buf[:0]
}

func (b *lineBuffer) run(ctx context.Context) {
	tick := time.NewTicker(logFlush)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			b.Flush()
			return
		case <-tick.C:
			b.Flush()
		}
	}
}

// promptHandler flushes the buffer behind a warning or an error.
type promptHandler struct {
	slog.Handler
	buffer *lineBuffer
}

func (h promptHandler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		h.buffer.Flush()
	}
	return err
}

func (h promptHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return promptHandler{h.Handler.WithAttrs(attrs), h.buffer}
}

func (h promptHandler) WithGroup(name string) slog.Handler {
	return promptHandler{h.Handler.WithGroup(name), h.buffer}
}

func newLogger(c config.Log, out io.Writer) (*slog.Logger, *lineBuffer) {
	buffer := &lineBuffer{out: out}
	options := &slog.HandlerOptions{Level: c.SlogLevel()}
	var handler slog.Handler = slog.NewJSONHandler(buffer, options)
	if c.Format == "text" {
		handler = slog.NewTextHandler(buffer, options)
	}
	return slog.New(promptHandler{handler, buffer}), buffer
}

// accessLog shares the log's buffer; nil when nobody wants the lines.
func (a *App) accessLog() *api.AccessLog {
	if !a.cfg.Log.Access || a.cfg.Log.SlogLevel() > slog.LevelInfo {
		return nil
	}
	return api.NewAccessLog(a.lines, a.cfg.Log.Format == "text")
}
