package templates_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/templates"
)

// What a partner's file calls its columns, and people write, is text on the page.
func TestReconciliationTextIsNeverMarkup(t *testing.T) {
	const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x00"
	const address = "javascript:alert(1)"
	s := shell(hostile, "reconciliation")
	amount := &money.Amount{Minor: -1, Currency: money.GBP}
	options := []templates.Option{{Value: hostile, Label: hostile, Hint: hostile}}
	file := templates.Download{URL: address, Label: hostile, Holds: hostile}
	line := templates.ReconciliationLine{Anchor: hostile, Row: 2, LeadID: hostile, LeadURL: address, Account: hostile, Theirs: amount, Ours: amount, Difference: amount, Why: hostile, SettleURL: address, Note: hostile, Settler: hostile, Settled: now}
	sum := templates.ReconciliationSum{Name: hostile, URL: address, Currency: "GBP"}
	confirm := templates.ConfirmView{Shell: s, Action: address, Consequence: hostile, Cancel: address}
	view := templates.ReconciliationView{
		Shell: s, URL: "/reconciliation/" + hostile, ID: hostile, Partner: templates.Link{Label: hostile, URL: address}, FileName: hostile, FileSize: hostile, Maker: hostile, From: hostile, To: hostile, Keeper: hostile, Kept: now,
		Same: []templates.SameFile{{URL: address, State: hostile}}, Failure: hostile, CanWrite: true, NewURL: address, Discard: &confirm, Errors: templates.Errors{{Field: hostile, Message: hostile}},
		Conflict: &templates.Conflict{Who: hostile},
		Mapping: &templates.MappingForm{
			Format: hostile, Columns: []templates.ListColumn{{Name: hostile, Holds: hostile}}, LeadIDs: options, Amounts: options, Currencies: options, Dates: options, Numbers: options, DateForms: options, Coverages: options, From: hostile, To: hostile,
		},
		Live: &templates.ComparisonLive{URL: "/reconciliation/" + hostile, Phase: hostile, CanStop: true},
		Result: &templates.ReconciliationResult{
			Took: hostile, Compared: hostile, LeftOut: hostile, LeftOutURL: address, Totals: []templates.ReconciliationSum{sum}, Findings: []templates.ReconciliationSum{sum}, Tabs: []templates.Tab{{Label: hostile, URL: address, Count: hostile}}, Finding: hostile, Means: hostile,
			Settles: true, Lines: []templates.ReconciliationLine{line}, CSV: file, All: file,
		},
	}
	pages := map[string]templ.Component{
		"list":   templates.Reconciliations(templates.ReconciliationsView{Shell: s, Partners: options, States: options, NewURL: address, Rows: []templates.ReconciliationRow{{FileName: hostile, URL: address, Partner: hostile, Findings: hostile, State: hostile, Maker: hostile}}}),
		"new":    templates.ReconciliationNew(templates.ReconciliationNewView{Shell: s, Partners: options, Limits: hostile, TooLarge: hostile, Errors: templates.Errors{{Field: "file", Message: hostile}}}),
		"settle": templates.Settle(templates.SettleView{Shell: s, Action: address, Cancel: address, Finding: hostile, Line: line, Note: hostile}),
	}
	for _, state := range []string{"uploaded", "comparing", "compared", "kept", "discarded", hostile} {
		view.State = state
		pages[state] = templates.Reconciliation(view)
	}
	for name, page := range pages {
		var b strings.Builder
		if err := page.Render(t.Context(), &b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", `""'>`, "'><img", address, " style="} {
			if at := strings.Index(b.String(), bad); at >= 0 {
				t.Errorf("%s: %q comes through: %s", name, bad, b.String()[max(at-80, 0):at+40])
			}
		}
	}
}
