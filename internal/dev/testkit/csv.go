package testkit

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/base/csvcell"
)

// Records returns the rows of an exported CSV file, which must start with a byte-order mark.
func Records(t testing.TB, file string) [][]string {
	t.Helper()
	text, marked := strings.CutPrefix(file, csvcell.ByteOrderMark)
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || !marked || len(records) == 0 {
		t.Fatalf("got a byte-order mark: %t, error %v and the file: %.300s", marked, err, file)
	}
	return records
}
