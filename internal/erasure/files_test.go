package erasure_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// After an erasure, VACUUM FULL and a checkpoint remove the erased data from the files of the database.
func TestErasedDataIsNotInFiles(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	root := testkit.Connect(t, r.DB.RootURL)
	exec := func(statement string) {
		t.Helper()
		if _, err := root.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	canaries := []string{
		"canary-evidence", "canary-ledger", "canary-job", "canary-third-party", "SW1A 1AA", "Ann Example agrees",
	}
	lead := r.Deliver(t, leadkit.Contact)
	r.AddNotes(t, lead)
	exec("CHECKPOINT")
	if found := r.inFiles(t, canaries...); len(found) != len(canaries) {
		t.Fatalf("before the erasure, only these are in the files: %v", found)
	}
	if _, err := r.Erase(t, lead); err != nil {
		t.Fatal(err)
	}
	// A transaction that began before the erasure, such as an automatic ANALYZE, delays the removal.
	testkit.Eventually(t, time.Minute, "the files do not contain the data", func() bool {
		exec("VACUUM FULL")
		exec("CHECKPOINT")
		return len(r.inFiles(t, canaries...)) == 0
	})
}

// inFiles returns which of the texts are in the files of the database.
func (r rig) inFiles(t *testing.T, texts ...string) (found map[string]bool) {
	t.Helper()
	folder := testkit.Value[string](t, r.DB,
		`SELECT current_setting('data_directory') || '/base/' || oid FROM pg_database WHERE datname = current_database()`)
	found = map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // the table was dropped
			return nil
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				found[text] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
