package reconcile

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/money"
)

// The tables of formats in docs/reference/reconciliation.md match parseAmount and parseDay.
func TestDocumentedFormats(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/reconciliation.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 3 {
			continue
		}
		text, want := strings.Trim(cells[0], "| `"), strings.Trim(strings.Join(cells[1:], " "), " |")
		var got []string
		for _, form := range NumberForms {
			if a, problem := parseAmount(text, form); problem == "" {
				got = append(got, money.Amount{Minor: a.minor}.Decimal())
			} else {
				got = append(got, "–")
			}
		}
		if len(cells) == 4 {
			got = nil
			for _, form := range DateForms {
				if day, ok := parseDay(text, form); ok {
					got = append(got, day.Format(time.DateOnly))
				} else {
					got = append(got, "–")
				}
			}
		}
		if checked++; strings.Join(got, " ") != want {
			t.Errorf("%q is read as %v, documented as %s", text, got, want)
		}
	}
	if checked != 23 {
		t.Errorf("checked %d rows, want 23", checked)
	}
}
