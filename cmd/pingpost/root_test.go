package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandFailsWhenItsOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "output")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	for _, args := range [][]string{{"version"}, {"--help"}, {"id", "01900000-0000-7000-8000-0000000000ff"}} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		var stderr bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = environ(), readOnly, &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "bad file descriptor") {
			t.Errorf("%v: exit code %d, %q", args, code, stderr.String())
		}
	}
}
