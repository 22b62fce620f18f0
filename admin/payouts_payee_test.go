package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// A payout run pays the payees that were approved, whatever is changed about the
// partner afterwards.
func TestPayeeIsFrozenAtApproval(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	rename := func(to string) {
		t.Helper()
		if _, err := c.Pool.Exec(t.Context(), `UPDATE partners SET legal_name = $2, address = $2, tax_id = $2 WHERE id = $1`, c.harbour.ID, to); err != nil {
			t.Fatal(err)
		}
	}
	rename("Before Approval Ltd")
	at := c.prepared(t, "0")
	statement := at + "/statements/" + id.Format(id.Partner, c.harbour.ID)
	rename("At Approval Ltd")
	c.get(t, statement).wants(t, "the statement of a run that is not approved", http.StatusOK, "At Approval Ltd")
	if p := c.other(t, "fay@example.com").post(t, at+"/approve", url.Values{"version": {"2"}}); p.location() != at {
		t.Fatalf("%d %s", p.status, p.text())
	}
	check := func(when string) {
		t.Helper()
		rename("After Approval Ltd")
		if p := c.get(t, statement); p.status != http.StatusOK || strings.Count(p.body, "At Approval Ltd") != 3 || strings.Contains(p.body, "After Approval Ltd") {
			t.Errorf("%s: the statement: %d %s", when, p.status, p.text())
		}
		paid := map[string]string{}
		for _, row := range records(t, c.get(t, at+"/payments.csv")) {
			paid[row["partner"]] = row["legal_name"]
		}
		// The other one is a formula's beginning, which a spreadsheet must not run.
		if len(paid) != 2 || paid["harbour-leads"] != "At Approval Ltd" || paid["meadow-media"] != "'=Meadow Limited" {
			t.Errorf("%s: the payments: %v", when, paid)
		}
	}
	check("approved")
	if p := c.post(t, at+"/pay", url.Values{"version": {"3"}, "reference": {"BANK-1"}, "name": {"78.00"}}); p.location() != at {
		t.Fatalf("%d %s", p.status, p.text())
	}
	check("paid")
	if n := c.count(t, "payees", "run_id = $1", runOf(t, at)); n != 2 {
		t.Errorf("%d payees", n)
	}
	c.intact(t)
}

func runOf(t testing.TB, at string) uuid.UUID {
	t.Helper()
	run, err := id.Parse(id.Payout, strings.TrimPrefix(at, "/payouts/runs/"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}
