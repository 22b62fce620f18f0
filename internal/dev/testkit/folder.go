package testkit

import (
	"os"
	"testing"
)

// ReadOnlyFolder returns the path of a folder that the test can read but not write, even as root.
func ReadOnlyFolder(t testing.TB) string {
	t.Helper()
	if os.Geteuid() == 0 { // permissions do not apply to root
		return "/proc"
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}
	return folder
}
