package postgres_test

import (
	"io"
	"os"
	"testing"
)

// captureOutput returns what do writes to standard output and standard error.
func captureOutput(t *testing.T, do func()) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = write, write
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	do()
	write.Close()
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
