package testkit

import (
	"os"
	"testing"
)

// Reference checks that a page of the documentation matches what the code generates. If `make
// reference` runs the test, Reference writes the page instead.
func Reference(t *testing.T, path, page string) {
	t.Helper()
	if os.Getenv("UPDATE_REFERENCE") != "" {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != page {
		t.Errorf("%s is out of date: run `make reference` and commit the result", path)
	}
}
