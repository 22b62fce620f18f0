// Package devprogram builds and runs programs for development and tests, such as a Vault server. Their
// sources are modules in the folder tools.
package devprogram

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gofrs/flock"
)

// Module is a module in the folder tools that contains or pins a program.
type Module struct {
	Name    string // the folder's name
	Package string // of the program, such as "." for the module's own
	Notice  string // says how long the build takes
}

// Build returns the path of the program, which is cached in the user's cache folder. The working folder
// must be in the repository. If the program must be built, Build first calls onProgress.
func Build(ctx context.Context, m Module, onProgress func(string)) (string, error) {
	source, err := m.source()
	if err != nil {
		return "", err
	}
	version, err := fingerprint(source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "pingpost")
	program := filepath.Join(dir, m.Name+"-"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, m.Name+".lock")) // only one process builds at a time
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Unlock() //nolint:errcheck // the lock also ends with the process
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	onProgress(m.Notice)
	built := program + ".new"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", built, m.Package)
	cmd.Dir = source
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building tools/%s: %w\n%s", m.Name, err, output.String())
	}
	return program, os.Rename(built, program)
}

// source finds the module's folder, from the working folder or a folder above it.
func (m Module) source() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, "tools", m.Name)
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("it cannot be built outside pingpost's repository")
		}
		dir = up
	}
}

// fingerprint returns a hash of the source, the Go version and the platform.
func fingerprint(source string) (string, error) {
	files, err := filepath.Glob(filepath.Join(source, "*"))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, file := range files {
		in, err := os.Open(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(file))
		_, err = io.Copy(h, in)
		if err = errors.Join(err, in.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}
