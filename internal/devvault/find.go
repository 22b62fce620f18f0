package devvault

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
	"syscall"
)

const (
	// BinaryVariable is the environment variable with the path of a Vault program.
	BinaryVariable = "PINGPOST_VAULT_BIN"
	// module is the folder with the source of the Vault program, relative to the root of the repository.
	module = "tools/vaultdev"
)

// Find returns the path of a Vault program: the one in PINGPOST_VAULT_BIN, `vault` on PATH,
// or a build of tools/vaultdev, if the working folder is in the repository. The build is
// cached in the user's cache folder. Find calls onProgress before it builds.
func Find(ctx context.Context, onProgress func(string)) (string, error) {
	if named := os.Getenv(BinaryVariable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s is not the path of a program: %w", BinaryVariable, err)
		}
		return path, nil
	}
	if path, err := exec.LookPath("vault"); err == nil {
		return path, nil
	}
	source, err := repository()
	if err != nil {
		return "", fmt.Errorf("`vault` is not on PATH, and %w: install HashiCorp Vault, or set its path in %s", err,
			BinaryVariable)
	}
	return build(ctx, source, onProgress)
}

// repository finds tools/vaultdev in the working folder or a folder above it.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		source := filepath.Join(dir, filepath.FromSlash(module))
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

// build builds the Vault program, unless it was already built from the same source. It returns the path
// of the program.
func build(ctx context.Context, source string, onProgress func(string)) (string, error) {
	version, err := fingerprint(source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "pingpost")
	program := filepath.Join(dir, "vaultdev-"+version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, "vaultdev.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	onProgress("building Vault for development; this takes a few minutes the first time, and uses about 3 GB in Go's module cache")
	built := program + ".new"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", built, ".")
	cmd.Dir = source
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", module, err, output.String())
	}
	return program, os.Rename(built, program)
}

// fingerprint returns a hash of the source, the Go version and the platform, so that a cached build is
// reused only if all of them are unchanged.
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

// lock locks a file, so that only one process builds Vault at a time.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close() //nolint:errcheck // nothing is written to it
		return nil, err
	}
	return func() { f.Close() }, nil //nolint:errcheck // nothing is written to it
}
