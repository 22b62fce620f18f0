package devpg

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	watchEvery = 500 * time.Millisecond
	pollEvery  = 20 * time.Millisecond
)

// lock locks the data folder for the process whose id is parent. Closing the returned file releases the
// lock. If another running process has locked the folder, lock returns an error immediately. If the
// process that locked the folder has ended, lock waits until the supervisor of that process has cleaned
// up. The parameter patience is the maximum time that it waits.
func (l layout) lock(parent int, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(l.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot use the data folder %s: %w", l, err)
	}
	var holder int
	var inUse bool
	locked := waitFor(patience, func() bool {
		err = tryLock(f)
		if err != nil {
			holder = firstNumber(l.lockFile())
			inUse = alive(holder)
		}
		return err == nil || inUse
	})
	if !locked || inUse {
		_ = f.Close()
		if inUse {
			return nil, fmt.Errorf("the data folder %s is in use by another pingpost dev (process %d): stop it, or choose another --data-dir",
				l, holder)
		}
		return nil, fmt.Errorf("the data folder %s is still locked by a Postgres that is stopping (%w): try again", l, err)
	}
	// The padding overwrites a longer number from an earlier run.
	if _, err := fmt.Fprintf(f, "%-20d\n", parent); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cannot use the data folder %s: %w", l, err)
	}
	return f, nil
}

func (l layout) postmaster() int { return firstNumber(l.postmasterFile()) }

// stopOrphan stops a Postgres that is still running in this folder although its supervisor has died. The
// caller must have locked the folder, which ensures that no other supervisor is using it.
func (l layout) stopOrphan() error {
	pid := l.postmaster()
	if pid <= 0 || sendSignal(pid, 0) != nil {
		return nil //nolint:nilerr // Postgres handles a stale process id itself
	}
	if !strings.Contains(commandLine(pid), " -D "+l.cluster()+" ") {
		// The process is a zombie or another program that was given the same id, for example after
		// a container was restarted. Postgres would mistake it for a running Postgres and would not
		// start.
		if err := os.Remove(l.postmasterFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return terminate(pid, l)
}

// terminate stops Postgres: first with a fast shutdown, then with an immediate one, then
// with SIGKILL.
func terminate(pid int, l layout) error {
	if pid <= 0 {
		return nil // a signal to 0 or below would be sent to many processes
	}
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{
		{syscall.SIGINT, 60 * time.Second},
		{syscall.SIGQUIT, 10 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	} {
		if err := sendSignal(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("a Postgres (process %d) is still running in the data folder %s and cannot be stopped: %w; stop it manually",
				pid, l, err)
		}
		if waitFor(step.patience, func() bool { return !alive(pid) }) {
			return nil
		}
	}
	return fmt.Errorf("a Postgres (process %d) is still running in the data folder %s and does not stop: stop it manually", pid, l)
}

// alive reports whether a process is running. It returns false for a zombie, which may never be
// reaped in a container.
func alive(pid int) bool {
	if pid <= 0 || errors.Is(sendSignal(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // not Linux, or hidden
	}
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X"))
}

func commandLine(pid int) string {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return string(bytes.ReplaceAll(text, []byte{0}, []byte(" ")))
	}
	text, _ := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return string(text)
}

func firstNumber(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

// waitFor calls the function done at short intervals. It returns true as soon as done returns true, or
// false when the timeout has passed.
func waitFor(timeout time.Duration, done func() bool) bool {
	end := time.NewTimer(timeout)
	defer end.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for !done() {
		select {
		case <-end.C:
			return false
		case <-poll.C:
		}
	}
	return true
}
