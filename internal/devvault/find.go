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
	// BinaryVariable names a Vault program to use.
	BinaryVariable = "PINGPOST_VAULT_BIN"
	// module is where the repository keeps a Vault to build.
	module = "tools/vaultdev"
)

// Find returns a Vault program: the one that PINGPOST_VAULT_BIN names, `vault` on
// PATH, or tools/vaultdev of the repository that the working folder lies in,
// which is built once and kept in the user's cache. tell hears about a build.
func Find(ctx context.Context, tell func(string)) (string, error) {
	if named := os.Getenv(BinaryVariable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s names no program that can be run: %w", BinaryVariable, err)
		}
		return path, nil
	}
	if path, err := exec.LookPath("vault"); err == nil {
		return path, nil
	}
	source, err := repository()
	if err != nil {
		return "", fmt.Errorf("there is no `vault` on PATH, and %w: install HashiCorp Vault, or name it in %s", err,
			BinaryVariable)
	}
	return build(ctx, source, tell)
}

// repository is tools/vaultdev in the working folder or above it.
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
			return "", errors.New("this is not run in pingpost's repository, where one could be built")
		}
		dir = up
	}
}

// build makes the program unless one of the same source is there.
func build(ctx context.Context, source string, tell func(string)) (string, error) {
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
	tell("building a Vault for development, once: this takes some minutes, and about 3 GB of Go's module cache")
	made := program + ".new"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", made, ".")
	cmd.Dir = source
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building %s failed: %w\n%s", module, err, said.String())
	}
	return program, os.Rename(made, program)
}

// fingerprint names what the program is built from.
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

// lock waits until no other process builds.
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
