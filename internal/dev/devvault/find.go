package devvault

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/pingpost/pingpost/internal/dev/devprogram"
)

// BinaryVariable is the environment variable with the path of a Vault program.
const BinaryVariable = "PINGPOST_VAULT_BIN"

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
	program, err := devprogram.Build(ctx, devprogram.Module{
		Name: "vaultdev", Package: ".",
		Notice: "building Vault for development; this takes a few minutes the first time, and uses about 3 GB in Go's module cache",
	}, onProgress)
	if err != nil {
		return "", fmt.Errorf("`vault` is not on PATH, and %w: install HashiCorp Vault, or set its path in %s", err, BinaryVariable)
	}
	return program, nil
}
