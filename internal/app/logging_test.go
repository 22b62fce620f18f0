package app

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/platform/config"
)

// While the log is not read, requests do not wait, and lines are dropped and counted. When the log
// is read again, the buffered lines are complete and in order.
func TestAccessLogDoesNotBlock(t *testing.T) {
	t.Parallel()
	read, write := io.Pipe()
	b := newLineBuffer(write)
	go b.run(t.Context())
	const lines = 3 * logLimit / 100
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range lines {
			fmt.Fprintf(b, "%099d\n", i)
		}
	}()
	select {
	case <-written:
	case <-time.After(20 * time.Second):
		t.Fatal("writing blocks while the log is not read")
	}
	lost := b.dropped.Load()
	if lost < lines/2 {
		t.Errorf("only %d of %d lines dropped, so the buffer has no limit", lost, lines)
	}
	go func() {
		b.Flush()
		write.Close()
	}()
	var got int64
	for in, last := bufio.NewScanner(read), -1; in.Scan(); got++ {
		var n int
		if _, err := fmt.Sscan(strings.TrimLeft(in.Text(), "0")+" ", &n); got > 0 &&
			(err != nil || n <= last || len(in.Text()) != 99) {
			t.Fatalf("after line %d: %q", last, in.Text())
		}
		last = n
	}
	if got != lines-lost {
		t.Errorf("got %d lines read plus %d dropped, want %d", got, lost, lines)
	}
}

// fullDisk accepts the first room bytes and then returns errors like a full disk.
type fullDisk struct {
	room    int
	written bytes.Buffer
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(d.room, len(p))
	d.written.Write(p[:n])
	d.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func TestLogLinesLostToAFullDiskAreCounted(t *testing.T) {
	t.Parallel()
	disk := &fullDisk{room: 25} // two and a half lines
	log, b := newLogger(config.Log{Level: "info", Format: "json"}, disk)
	for range 5 {
		b.Write([]byte("012345678\n"))
	}
	b.Flush()
	if got := b.dropped.Load(); got != 3 {
		t.Errorf("%d lines counted as dropped, want 3", got)
	}
	b.Write([]byte("012345678\n"))
	b.Flush()
	if got := b.dropped.Load(); got != 4 {
		t.Errorf("%d lines counted as dropped after the second write, want 4", got)
	}
	disk.room = 1 << 20
	for range 2 { // the second flush writes the report that the first one logs
		log.Info("room again")
		b.Flush()
	}
	lines := strings.Split(strings.TrimSpace(disk.written.String()), "\n")
	if len(lines) != 6 || lines[2] != "01234" {
		t.Fatalf("wrote %q", lines)
	}
	var reports []int
	for _, line := range lines[3:] {
		var entry struct {
			Level string
			Lines int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("not a whole line: %q", line)
		}
		if entry.Level == "WARN" {
			reports = append(reports, entry.Lines)
		}
	}
	if !slices.Equal(reports, []int{4}) {
		t.Errorf("reported %v, want 4 lines once", reports)
	}
}

func TestStoppingDoesNotWaitForTheLog(t *testing.T) {
	t.Parallel()
	_, nobody := io.Pipe()
	b := newLineBuffer(nobody)
	b.Write([]byte("a line\n"))
	start := time.Now()
	b.flushWithin(time.Millisecond)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("waited %s", took)
	}
}

func TestWarningsAreFlushedAtOnce(t *testing.T) {
	t.Parallel()
	log, b := newLogger(config.Log{Level: "info", Format: "json"}, io.Discard)
	for _, c := range []struct {
		level slog.Level
		want  int
	}{{slog.LevelInfo, 0}, {slog.LevelWarn, 1}, {slog.LevelError, 1}} {
		log.Log(t.Context(), c.level, "something")
		if len(b.wake) != c.want {
			t.Errorf("%s: got %d signals to flush, want %d", c.level, len(b.wake), c.want)
		}
	}
}
