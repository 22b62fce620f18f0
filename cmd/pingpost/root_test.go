package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// The public message replaces the cause, but not the text around it.
func TestPlainKeepsTextAroundPublicMessage(t *testing.T) {
	t.Parallel()
	short := apperr.Wrap(errors.New("hidden cause"), apperr.Invalid, "password", "too short")
	other := apperr.Wrap(errors.New("another cause"), apperr.Conflict, "other", "taken")
	for want, err := range map[string]error{
		"too short":                      short,
		"creating: too short; try again": fmt.Errorf("creating: %w; try again", short),
		"taken\ntoo short, and more":     errors.Join(other, fmt.Errorf("%w, and more", short)),
		"no public message":              errors.New("no public message"),
	} {
		if got := plain(err).Error(); got != want {
			t.Errorf("plain(%q) = %q, want %q", err, got, want)
		}
	}
}
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

// After a typing mistake, the message contains the command that was probably meant.
func TestSimilarCommandIsSuggested(t *testing.T) {
	t.Parallel()
	pingpost(t, "partnr").fails(t, 2, "`pingpost partner`")
	pingpost(t, "secret", "lst", "--json").fails(t, 2, "`pingpost secret list`")
	if o := pingpost(t, "nonsense"); o.code != 2 || strings.Contains(o.stderr, "Did you mean") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// All JSON that commands print has names of one style. The names in responses of the partner API are others.
func TestJSONNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	name, style := regexp.MustCompile(`json:"([^",]+)`), regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range name.FindAllStringSubmatch(string(text), -1) {
			count++
			if !style.MatchString(found[1]) && !slices.Contains([]string{"leadId", "bidPrice"}, found[1]) {
				t.Errorf("%s: the JSON name %q is not of the form lead_id", file, found[1])
			}
		}
	}
	if count < 100 {
		t.Errorf("found only %d names", count)
	}
}
