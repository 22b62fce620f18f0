package devpg

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestAlive(t *testing.T) {
	if !alive(os.Getpid()) || !alive(1) {
		t.Error("alive returned false for a running process")
	}
	if alive(0) || alive(-1) {
		t.Error("alive returned true for a missing process")
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It is a zombie until Wait is called.
	if runtime.GOOS == "linux" && !waitFor(time.Minute, func() bool { return !alive(cmd.Process.Pid) }) {
		t.Error("alive returned true for a zombie")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if alive(cmd.Process.Pid) {
		t.Error("alive returned true for a process that has ended")
	}
}

func TestFirstNumber(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	if got := firstNumber(path); got != 0 {
		t.Errorf("no file: %d", got)
	}
	for text, want := range map[string]int{
		"":            0,
		"12":          12,
		"12\n/data\n": 12,
		" 12   \n":    12,
		"-12\n":       -12,
		"twelve\n":    0,
	} {
		write(t, path, text)
		if got := firstNumber(path); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
