package payouts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
)

// A payout run pays the payees that were recorded at approval, even if the partner changes afterwards.
func TestPayeeIsFrozenAtApproval(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	rename := func(to string) {
		t.Helper()
		if _, err := c.Pool.Exec(t.Context(), `UPDATE partners SET legal_name = $2, address = $2, tax_id = $2 WHERE id = $1`, c.Harbour.ID, to); err != nil {
			t.Fatal(err)
		}
	}
	rename("Before Approval Ltd")
	at := c.PreparedRun(t, "0")
	statement := at + "/statements/" + id.Format(id.Partner, c.Harbour.ID)
	rename("At Approval Ltd")
	c.Get(t, statement).Expect(t, "the statement of a run that is not approved", http.StatusOK, "At Approval Ltd")
	c.SignInAnotherUser(t, "fay@example.com").Post(t, at+"/approve", url.Values{"version": {"2"}}).ExpectRedirect(t, at)
	check := func(when string) {
		t.Helper()
		rename("After Approval Ltd")
		if p := c.Get(t, statement); p.Status != http.StatusOK || strings.Count(p.Body, "At Approval Ltd") != 3 ||
			strings.Contains(p.Body, "After Approval Ltd") {
			t.Errorf("%s: statement: got status %d: %s", when, p.Status, p.Text())
		}
		paid := map[string]string{}
		for _, row := range records(t, c.Get(t, at+"/payments.csv")) {
			paid[row["partner"]] = row["legal_name"]
		}
		// The other name looks like a formula, so it is escaped.
		if len(paid) != 2 || paid["harbour-leads"] != "At Approval Ltd" || paid["meadow-media"] != "'=Meadow Limited" {
			t.Errorf("%s: got payees %v", when, paid)
		}
	}
	check("approved")
	c.Post(t, at+"/pay", url.Values{"version": {"3"}, "reference": {"BANK-1"}, "name": {"78.00"}}).ExpectRedirect(t, at)
	check("paid")
	if n := c.Count(t, "payees", "run_id = $1", runOf(t, at)); n != 2 {
		t.Errorf("got %d payees, want 2", n)
	}
	c.CheckAuditLog(t)
}

func runOf(t testing.TB, at string) uuid.UUID {
	t.Helper()
	run, err := id.Parse(id.Payout, strings.TrimPrefix(at, "/payouts/runs/"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}
