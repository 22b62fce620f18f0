package browser_test

import (
	"fmt"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/browser"
)

// address is the address of a page to check. Messages and screenshots refer to the page by its name.
type address struct{ name, path string }

// nameColumns lists, for each table, the columns that contain names or other text that users enter.
var nameColumns = map[string][]string{
	"partners":                   {"name", "legal_name", "account_manager"},
	"accounts":                   {"name", "identifier"},
	"signing_secrets":            {"label", "created_by"},
	"staff":                      {"name"},
	"audit_events":               {"actor", "reason"},
	"rate_cards":                 {"title", "note", "author", "approver", "submitter", "updated_by"},
	"pricing_rules":              {"note"},
	"ledger_entries":             {"created_by"},
	"ledger_notes":               {"note"},
	"payout_runs":                {"note", "preparer", "approver", "payer", "reference", "cancel_reason"},
	"reconciliations":            {"file_name"},
	"reconciliation_resolutions": {"note"},
}

// checkLongNames replaces every name with a single 80-character word and checks that no page
// becomes wider than the window.
func checkLongNames(t *testing.T, h *admintest.Console, p *browser.Page, pages []address) {
	t.Helper()
	renames := "SET session_replication_role = replica;" // disables triggers that reject changes to some of the rows
	for table, columns := range nameColumns {
		for _, column := range columns {
			renames += fmt.Sprintf(`UPDATE %[1]s SET %[2]s = rpad(regexp_replace(%[2]s, '\W', '', 'g'), 80, 'longname') WHERE %[2]s <> '';`,
				table, column)
		}
	}
	h.Exec(t, renames)
	for _, page := range pages {
		p.Open(h.URL + page.path)
		for _, width := range []int{320, 400, 1280} {
			p.At(fmt.Sprintf("%s, long names, width %d", page.name, width))
			p.Emulate(browser.Emulation{Width: width})
			p.CheckNoOverflow()
		}
	}
}
