package testkit

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// Log keeps what was logged, for a test to look through.
type Log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// NewLog makes a logger that keeps lines of every level: what leaks at any
// level leaks.
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

// String is all that was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// Count is how often a text was logged.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }
