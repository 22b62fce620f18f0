package main

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// canariesIn returns those of the canaries that a text contains, in any letter case, as text or as Postgres
// displays bytes.
func canariesIn(text string, canaries []string) (found []string) {
	lower := strings.ToLower(text)
	for _, canary := range canaries {
		if c := strings.ToLower(canary); strings.Contains(lower, c) || strings.Contains(lower, hex.EncodeToString([]byte(c))) || strings.Contains(lower, hex.EncodeToString([]byte(canary))) {
			found = append(found, canary)
		}
	}
	return found
}

// staffNotes returns the canaries in notes that must not identify the consumer.
func staffNotes() []string { return slices.Sorted(maps.Keys(staffCanaries)) }

// filesIn returns the names and contents of all files in a folder.
func filesIn(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed since
		case err != nil || !d.Type().IsRegular():
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		all.WriteString(d.Name() + "\n")
		all.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// databaseFiles returns the files of Postgres, including its log and its write-ahead log.
func (w *watched) databaseFiles(t *testing.T) string {
	t.Helper()
	return filesIn(t, filepath.Dir(testkit.Value[string](t, w.database, `SELECT current_setting('data_directory')`)))
}

// columns returns the contents of all columns.
func (w *watched) columns(t *testing.T) string {
	t.Helper()
	return strings.Join(slices.Collect(maps.Values(w.database.Columns(t))), "\n")
}

// checkPages searches pages of the console.
func (w *watched) checkPages(t *testing.T) {
	t.Helper()
	pages := append([]string{"/audit", "/jobs", "/leads", "/payouts", "/payouts/returns", "/reconciliation", "/privacy/requests"}, w.pages...)
	for _, lead := range w.leads {
		pages = append(pages, "/leads/"+lead, "/payouts?lead="+lead, "/payouts/returns?lead="+lead)
	}
	w.staff.Get(t, w.prepared).Expect(t, w.prepared, http.StatusConflict)
	for _, path := range pages {
		p := w.staff.Get(t, path)
		p.Expect(t, path, http.StatusOK)
		if found := canariesIn(p.Body, erasedCanaries()); found != nil {
			t.Errorf("%s contains %v", path, found)
		}
	}
}

// checkBefore proves that the search finds what is stored.
func (w *watched) checkBefore(t *testing.T) {
	t.Helper()
	if found := canariesIn(w.columns(t), plainCanaries); len(found) != len(plainCanaries) {
		t.Errorf("before the erasure, only these are in the database: %v", found)
	}
	if found := canariesIn(w.columns(t), slices.Concat(encryptedCanaries, rejectedCanaries)); found != nil {
		t.Errorf("before the erasure, these are not encrypted: %v", found)
	}
	w.database.Exec(t, "ANALYZE") // the planner statistics then contain values as well
	w.database.Exec(t, "CHECKPOINT")
	if found := canariesIn(w.databaseFiles(t), plainCanaries); len(found) != len(plainCanaries) {
		t.Errorf("before the erasure, only these are in the files of the database: %v", found)
	}
}

func (w *watched) checkAfter(t *testing.T) {
	t.Helper()
	metrics := w.metrics(t)
	if code := w.node.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("the node exits with %d", code)
	}
	log := w.node.stdout.String() + w.node.stderr.String()
	if strings.Count(log, `"msg":"request"`) < 50 || !strings.Contains(metrics, "pingpost_requests_total") {
		t.Error("the log or the metrics are incomplete, so the search proves nothing")
	}
	if left := filesIn(t, w.temporary); left != "" {
		t.Errorf("the node leaves temporary files: %.300s", left)
	}
	journal := filesIn(t, w.journal)
	for _, lead := range w.leads {
		if strings.Count(journal, lead) != 1 {
			t.Errorf("lead %s is in the erasure journal %d times, want once", lead, strings.Count(journal, lead))
		}
	}
	notes := staffNotes()
	for where, text := range map[string]string{
		"the log": log, "the metrics": metrics, "the erasure journal": journal, "the node's files": filesIn(t, filepath.Dir(w.journal)),
	} {
		if found := canariesIn(text, slices.Concat(erasedCanaries(), notes)); found != nil {
			t.Errorf("%s contains %v", where, found)
		}
	}
	for column, text := range w.database.Columns(t) {
		if found := canariesIn(text, erasedCanaries()); found != nil {
			t.Errorf("%s contains %v", column, found)
		}
		for _, note := range canariesIn(text, notes) {
			if staffCanaries[note] != column {
				t.Errorf("%s contains %s", column, note)
			}
		}
	}
	// A transaction that began before the erasure, such as an automatic ANALYZE, delays the removal.
	var files string
	testkit.Eventually(t, patience, "the files of the database do not contain the data", func() bool {
		for _, statement := range removalStatements(t) {
			w.database.Exec(t, statement)
		}
		files = w.databaseFiles(t)
		return canariesIn(files, erasedCanaries()) == nil
	})
	if found := canariesIn(files, notes); len(found) != len(notes) {
		t.Errorf("the files of the database contain only the notes %v, so the search proves nothing", found)
	}
}

// removalStatements returns the statements of the documentation that remove old versions of rows.
func removalStatements(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/erase-contact-data.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Remove old versions of rows")
	_, block, found := strings.Cut(section, "```sql\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatal("the documentation contains no statements")
	}
	return strings.FieldsFunc(block, func(r rune) bool { return r == '\n' })
}

func (w *watched) metrics(t *testing.T) string {
	t.Helper()
	resp, err := http.Get(w.addresses.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
