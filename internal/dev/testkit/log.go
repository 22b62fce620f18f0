package testkit

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Log contains everything that was logged.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// NewLog returns a logger that records all levels, because secrets must not be logged at any level.
func NewLog() (*slog.Logger, *Log) {
	l := &Log{}
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})), l
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// String returns everything that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Count returns how many times text was logged.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }
