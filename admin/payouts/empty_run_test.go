package payouts_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// A run without entries ends automatically, and another run can start.
func TestRunWithoutEntriesEnds(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	begin := func() string {
		t.Helper()
		at := c.Post(t, "/payouts/runs/new", url.Values{
			"currency": {"CAD"},
			"cutoff":   {c.Time.Now().Format(payoutpages.CutoffForm)},
		}).ExpectCreated(t, "/payouts/runs/po_")
		testkit.Eventually(t, time.Minute, "the run ends", func() bool { return c.Get(t, at+"/live").State() != "preparing" })
		return at
	}
	at := begin()
	page := c.Get(t, at)
	page.Expect(t, "the run", http.StatusOK, `data-state="empty"`, `data-payouts="0" data-held="0"`)
	for _, not := range []string{`data-state="prepared"`, at + "/cancel", at + "/approve"} {
		if strings.Contains(page.Body, not) {
			t.Errorf("the page of an empty run contains %q", not)
		}
	}
	c.Get(t, "/payouts/runs").Expect(t, "the list", http.StatusOK, `data-state="empty"`)
	if next := begin(); next == at {
		t.Errorf("got run %s again, want a new run", next)
	}
	c.CheckAuditLog(t)
}

// The error about an open run links to it.
func TestBlockedRunLinksToOpenRun(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	c.RunJobs(t)
	at := c.PreparedRun(t, "")
	p := c.Post(t, "/payouts/runs/new", url.Values{
		"currency": {"GBP"},
		"cutoff":   {c.Time.Now().Format(payoutpages.CutoffForm)},
		"note":     {"kept"},
	})
	p.Expect(t, "a second run", http.StatusConflict, strings.TrimPrefix(at, "/payouts/runs/"), `<a href="`+at+`"`, "kept")
	c.CheckAuditLog(t)
}
