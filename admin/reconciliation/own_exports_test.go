package reconciliation_test

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

// A partner's ledger export and its statement contain separate rows for a lead's payout, its return and its
// adjustments, and rows without a lead. None of them differs from the ledger.
func TestOwnExportsMatchTheLedger(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	finance := audit.Actor{Staff: c.People[models.Finance].ID, Name: "finance@example.com"}
	book := c.Options.Payouts.By(finance)
	ret, err := book.RequestReturn(t.Context(), scope.Everywhere, c.Leads[0], models.WrongContact, "no answer")
	if err == nil {
		err = book.AcceptReturn(t.Context(), scope.Everywhere, ret.ID, "")
	}
	for lead, minor := range map[uuid.UUID]int64{c.Leads[1]: -40, uuid.Nil: 12345} {
		if err == nil {
			_, err = book.Adjust(t.Context(), scope.Everywhere, payouts.NewAdjustment{
				ID: uuid.New(), Account: c.Harbour.Account.ID, Lead: lead, Amount: money.Amount{Minor: minor, Currency: money.GBP}, Reason: "as agreed",
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Time.Advance(2 * time.Minute) // the cutoff is in whole minutes
	run, err := id.Parse(id.Payout, path.Base(c.PreparedRun(t, "0")))
	if err != nil {
		t.Fatal(err)
	}
	statement := web.StatementURL(run, c.Harbour.ID) + "/entries.csv"
	ledger := "/payouts/ledger.csv?" + url.Values{"partner": {c.Harbour.Slug}}.Encode()
	for export, want := range map[string]map[models.Finding]int64{
		ledger:    {models.Matched: 3, models.NotCompared: 3},
		statement: {models.Matched: 2, models.NotCompared: 3, models.LeftOut: 1},
	} {
		if got := reconciled(t, c, export); !cmp.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", export, got, want)
		}
	}
}

// reconciled downloads an export of Harbour, compares it with the ledger, and returns the number of lines
// by finding. It uses the suggested columns.
func reconciled(t *testing.T, c *admintest.ConsoleWithLedger, export string) map[models.Finding]int64 {
	t.Helper()
	file := c.Get(t, export)
	if file.Status != http.StatusOK {
		t.Fatalf("%s: got status %d", export, file.Status)
	}
	s := c.Options.Reconcile
	r, err := s.Upload(t.Context(), scope.Everywhere, c.Harbour.ID, "export.csv", strings.NewReader(file.Body))
	if err != nil {
		t.Fatal(err)
	}
	uploaded, err := s.Get(t.Context(), scope.Everywhere, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := s.Suggest(t.Context(), uploaded)
	if err != nil {
		t.Fatal(err)
	}
	month := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	err = s.CompareNow(t.Context(), scope.Everywhere, r.ID, uploaded.RowVersion, columns.Mapping, month, month.AddDate(0, 1, -1),
		func(string, int64, int64) {})
	if err != nil {
		t.Fatal(err)
	}
	compared, err := s.Get(t.Context(), scope.Everywhere, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return compared.Result.Counts()
}
