package templates_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/internal/base/money"
	reconciliationview "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

// Column names in files and text from users are escaped.
func TestReconciliationEscapesText(t *testing.T) {
	const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00"
	const address = "javascript:alert(1)"
	s := shell(hostile)
	amount := &money.Amount{Minor: -1, Currency: money.GBP}
	options := []ui.Option{{Value: hostile, Label: hostile, Hint: hostile}}
	file := ui.Download{URL: address, Label: hostile, Holds: hostile}
	line := reconciliationview.Line{
		Anchor:       hostile,
		Finding:      hostile,
		Row:          2,
		LeadID:       hostile,
		LeadURL:      address,
		Account:      hostile,
		FileAmount:   amount,
		LedgerAmount: amount,
		Difference:   amount,
		Reason:       hostile,
		Why:          hostile,
		ResolveURL:   address,
		Note:         hostile,
		ResolvedBy:   hostile,
		Resolved:     now,
	}
	sum := reconciliationview.Sum{Finding: hostile, Name: hostile, URL: address, Currency: "GBP"}
	confirm := ui.ConfirmView{Shell: s, Action: address, Consequence: hostile, Cancel: address}
	view := reconciliationview.DetailsView{
		Shell:     s,
		URL:       "/reconciliation/" + hostile,
		ID:        hostile,
		Partner:   ui.Link{Label: hostile, URL: address},
		FileName:  hostile,
		FileSize:  hostile,
		CreatedBy: hostile,
		From:      hostile,
		To:        hostile,
		SavedBy:   hostile,
		Saved:     now,
		Same:      []reconciliationview.SameFile{{URL: address, State: hostile}},
		Failure:   hostile,
		CanWrite:  true,
		NewURL:    address,
		Discard:   &confirm,
		Errors:    ui.Errors{{Field: hostile, Message: hostile}},
		Conflict:  &ui.Conflict{Actor: hostile},
		Mapping: &reconciliationview.MappingForm{
			Delimiter:  hostile,
			Encoding:   hostile,
			Columns:    []reconciliationview.Column{{Name: hostile, Holds: hostile}},
			LeadIDs:    options,
			Amounts:    options,
			Currencies: options,
			Dates:      options,
			Numbers:    options,
			DateForms:  options,
			Coverages:  options,
			From:       hostile,
			To:         hostile,
		},
		Live: &reconciliationview.ComparisonLive{URL: "/reconciliation/" + hostile, Phase: hostile, CanStop: true},
		Result: &reconciliationview.Result{
			Took:       hostile,
			Compared:   hostile,
			LeftOut:    hostile,
			LeftOutURL: address,
			Totals:     []reconciliationview.Sum{sum},
			Findings:   []reconciliationview.Sum{sum},
			Tabs:       []ui.Tab{{Label: hostile, URL: address, Count: hostile}},
			Finding:    hostile,
			Means:      hostile,
			Resolves:   true,
			Lines:      []reconciliationview.Line{line},
			CSV:        file,
			All:        file,
		},
	}
	pages := map[string]templ.Component{
		"list": reconciliationview.List(reconciliationview.ListView{
			Shell:   s,
			Partner: hostile,
			States:  options,
			NewURL:  address,
			Rows: []reconciliationview.Row{{
				FileName:  hostile,
				URL:       address,
				Partner:   hostile,
				Findings:  []reconciliationview.FindingCount{{Finding: hostile, Label: hostile}},
				State:     hostile,
				CreatedBy: hostile,
			}},
		}),
		"new": reconciliationview.New(reconciliationview.NewView{
			Shell:    s,
			Partners: options,
			Limits:   hostile,
			TooLarge: hostile,
			Errors:   ui.Errors{{Field: "file", Message: hostile}},
		}),
		"resolve": reconciliationview.Resolve(reconciliationview.ResolveView{
			Shell:   s,
			Action:  address,
			Cancel:  address,
			Finding: hostile,
			Line:    line,
			Note:    hostile,
		}),
	}
	for _, state := range []string{"uploaded", "comparing", "compared", "saved", "discarded", hostile} {
		view.State = state
		pages[state] = reconciliationview.Details(view)
	}
	for name, page := range pages {
		var b strings.Builder
		if err := page.Render(t.Context(), &b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", `""'>`, "'><img", address, " style="} {
			if at := strings.Index(b.String(), bad); at >= 0 {
				t.Errorf("%s contains %q: %s", name, bad, b.String()[max(at-80, 0):at+40])
			}
		}
	}
}
