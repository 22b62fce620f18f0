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
	// watchEvery is how often a supervisor looks whether Postgres is there.
	watchEvery = 500 * time.Millisecond
	pollEvery  = 20 * time.Millisecond
)

// lock takes the data folder for the process parent, for as long as the file is
// open. A folder whose last user is dead is being cleaned up by that user's
// supervisor: this is waited for. One whose user lives is refused at once.
func (l layout) lock(parent int, patience time.Duration) (*os.File, error) {
	f, err := os.OpenFile(l.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be used: %w", l, err)
	}
	var holder int
	var inUse bool
	locked := waitFor(patience, func() bool {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			holder = firstNumber(l.lockFile())
			inUse = alive(holder)
		}
		return err == nil || inUse
	})
	if !locked || inUse {
		_ = f.Close()
		if inUse {
			return nil, fmt.Errorf("the data folder %s is in use by another pingpost dev (process %d): stop that one, or give another --data-dir",
				l, holder)
		}
		return nil, fmt.Errorf("the data folder %s is still locked by a Postgres that is stopping (%w): try again", l, err)
	}
	// The blanks cover a longer number of an earlier run.
	if _, err := fmt.Fprintf(f, "%-20d\n", parent); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("the data folder %s cannot be used: %w", l, err)
	}
	return f, nil
}

// postmaster is the process number that Postgres left in the cluster; 0 when none.
func (l layout) postmaster() int { return firstNumber(l.postmasterFile()) }

// stopOrphan takes down a Postgres on this folder whose supervisor is dead. It must
// be called with the folder locked: then no living supervisor's Postgres is meant.
func (l layout) stopOrphan() error {
	pid := l.postmaster()
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return nil //nolint:nilerr // Postgres copes with a number that is no process of this user
	}
	if !strings.Contains(commandLine(pid), " -D "+l.cluster()+" ") {
		// A zombie, or a process that got the number later, as happens when a
		// container starts again. Postgres would take it for itself and refuse.
		if err := os.Remove(l.postmasterFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return terminate(pid, l)
}

// terminate ends Postgres: fast, then without a checkpoint, then by force.
func terminate(pid int, l layout) error {
	if pid <= 0 {
		return nil // a signal to 0 or below would go to many processes
	}
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{
		{syscall.SIGINT, 60 * time.Second},
		{syscall.SIGQUIT, 10 * time.Second},
		{syscall.SIGKILL, 5 * time.Second},
	} {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("a Postgres (process %d) still runs on the data folder %s and cannot be stopped: %w; stop it by hand",
				pid, l, err)
		}
		if waitFor(step.patience, func() bool { return !alive(pid) }) {
			return nil
		}
	}
	return fmt.Errorf("a Postgres (process %d) still runs on the data folder %s and does not end: stop it by hand", pid, l)
}

// alive says whether a process runs. A zombie does not: in a container whose
// first process reaps nobody it would look alive for ever.
func alive(pid int) bool {
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // not Linux, or hidden
	}
	_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X"))
}

// commandLine is how a process was started, its words set apart by blanks.
func commandLine(pid int) string {
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		return string(bytes.ReplaceAll(text, []byte{0}, []byte(" ")))
	}
	text, _ := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return string(text)
}

// firstNumber is the number on a file's first line; 0 when there is none.
func firstNumber(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(line))
	return n
}

// waitFor asks until the answer is yes, and gives up when patience ends.
func waitFor(patience time.Duration, yes func() bool) bool {
	end := time.NewTimer(patience)
	defer end.Stop()
	ask := time.NewTicker(pollEvery)
	defer ask.Stop()
	for !yes() {
		select {
		case <-end.C:
			return false
		case <-ask.C:
		}
	}
	return true
}
