package browser_test

import (
	"fmt"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/browser"
)

// address is a page that the browser looks at.
type address struct{ name, path string }

// nameColumns hold the names that people are called by and those that they type.
var nameColumns = map[string][]string{
	"partners":                   {"name", "legal_name", "account_manager"},
	"accounts":                   {"name", "identifier"},
	"signing_secrets":            {"label", "created_by"},
	"staff":                      {"name"},
	"audit_events":               {"actor", "reason"},
	"rate_cards":                 {"title", "note", "author", "approver", "submitter", "updated_by"},
	"pricing_rules":              {"note"},
	"ledger_entries":             {"note", "made_by"},
	"payout_runs":                {"note", "preparer", "approver", "payer", "reference", "ended_why"},
	"reconciliations":            {"file_name"},
	"reconciliation_settlements": {"note"},
}

// unbroken makes every name a word of 80 characters, and looks at the pages again: none
// becomes wider than the window.
func unbroken(t *testing.T, h *admintest.Console, p *browser.Page, pages []address) {
	t.Helper()
	renames := "SET session_replication_role = replica;" // triggers keep some of these rows from changing
	for table, columns := range nameColumns {
		for _, column := range columns {
			renames += fmt.Sprintf(`UPDATE %[1]s SET %[2]s = rpad(regexp_replace(%[2]s, '\W', '', 'g'), 80, 'unbroken') WHERE %[2]s <> '';`,
				table, column)
		}
	}
	h.Exec(t, renames)
	for _, one := range pages {
		p.Open(h.URL + one.path)
		for _, width := range []int{320, 400, 1280} {
			p.At(fmt.Sprintf("%s, long names, %d wide", one.name, width))
			p.Emulate(browser.Emulation{Width: width})
			p.CheckNoOverflow()
		}
	}
}
