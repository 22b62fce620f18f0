package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
)

// binary is the path of the built command. It is a global variable because TestMain cannot pass
// values to tests.
var binary string

func TestMain(m *testing.M) {
	devpg.RunIfChild()
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// programVariable names the environment variable with a program that the tests run instead of building one.
const programVariable = "PINGPOST_TEST_PROGRAM"

func buildAndRun(m *testing.M) (code int, err error) {
	if binary = os.Getenv(programVariable); binary != "" {
		return m.Run(), nil
	}
	dir, err := newFolder()
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "it's here", "pingpost") // printed commands must work in any folder
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building pingpost: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// newFolder creates a folder that is accessible to the user that runs Postgres. If the tests run as
// root, t.TempDir is not accessible to that user.
func newFolder() (string, error) {
	dir, err := os.MkdirTemp("", "pp")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// patience is the timeout for waiting for another process.
const patience = 3 * time.Minute

// environ returns the test's environment with the given settings and no other pingpost settings.
func environ(settings ...string) []string {
	var env []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PINGPOST_") && !strings.HasPrefix(variable, "LEAD_VAULT_") {
			env = append(env, variable)
		}
	}
	return append(env, settings...)
}

// outcome is the output and exit code of a command.
type outcome struct {
	stdout, stderr string
	code           int
}

// pingpost runs a command.
func pingpost(t *testing.T, args ...string) outcome {
	t.Helper()
	return call(t, "", nil, args...)
}

// call runs a command with the given standard input and adds the settings to its environment.
func call(t *testing.T, stdin string, settings []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Stdin = environ(settings...), strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ctx.Err() != nil) {
		t.Fatalf("pingpost %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// shell runs a command line and returns its standard output.
func shell(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Env = environ()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, line, stderr.String())
	}
	return string(out)
}

// ok fails the test unless the command succeeded, and returns its standard output.
func (o outcome) ok(t *testing.T) string {
	t.Helper()
	if o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	return o.stdout
}

// rejected fails the test unless the command failed with exit code 1 and a message that
// ends with the error code.
func (o outcome) rejected(t *testing.T, code string, parts ...string) {
	t.Helper()
	o.fails(t, 1, parts...)
	if !strings.HasSuffix(o.stderr, " ["+code+"]\n") {
		t.Errorf("the error code is not %s: %s", code, o.stderr)
	}
}

// fails checks that the command exited with the given code and printed only an error message that
// contains all of the given parts.
func (o outcome) fails(t *testing.T, code int, parts ...string) {
	t.Helper()
	if o.code != code || o.stdout != "" {
		t.Errorf("exit code %d, want %d; printed %q; %s", o.code, code, o.stdout, o.stderr)
	}
	message := o.stderr
	if i := strings.Index(message, "pingpost: "); i > 0 &&
		strings.Count(message[:i], "\n") == 1 { // dev first prints its folder
		message = message[i:]
	}
	if !strings.HasPrefix(message, "pingpost: ") || strings.Contains(message, "goroutine ") ||
		strings.Contains(message, "Usage:") {
		t.Errorf("not a plain message: %s", message)
	}
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Errorf("%q is not in the message: %s", part, message)
		}
	}
}
