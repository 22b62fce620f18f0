package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	"github.com/pingpost/pingpost/internal/testkit"
)

// A run without entries ends as nothing to pay, and another one can begin.
func TestRunWithoutEntriesEnds(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	begin := func() string {
		t.Helper()
		p := c.post(t, "/payouts/runs/new", url.Values{"currency": {"CAD"}, "cutoff": {c.time.Now().Format(payoutpages.CutoffForm)}})
		if p.status != http.StatusSeeOther {
			t.Fatalf("%d %s", p.status, p.text())
		}
		at := p.location()
		testkit.Eventually(t, time.Minute, "the run ends", func() bool { return !strings.Contains(c.get(t, at+"/live").body, "being prepared") })
		return at
	}
	at := begin()
	page := c.get(t, at)
	page.wants(t, "the run", http.StatusOK, "nothing to pay", "0 to pay, 0 held")
	for _, not := range []string{"waits for approval", at + "/cancel", at + "/approve"} {
		if strings.Contains(page.body, not) {
			t.Errorf("a run that has nothing to pay offers %q", not)
		}
	}
	c.get(t, "/payouts/runs").wants(t, "the list", http.StatusOK, "nothing to pay")
	if next := begin(); next == at {
		t.Errorf("%s again", next)
	}
	c.intact(t)
}

// The error about an open run links to it.
func TestBlockedRunLinksToTheOpenOne(t *testing.T) {
	t.Parallel()
	c := newTill(t)
	c.works(t)
	at := c.prepared(t, "")
	p := c.post(t, "/payouts/runs/new", url.Values{"currency": {"GBP"}, "cutoff": {c.time.Now().Format(payoutpages.CutoffForm)}, "note": {"kept"}})
	p.wants(t, "a second run", http.StatusConflict, strings.TrimPrefix(at, "/payouts/runs/"), `<a href="`+at+`"`, "kept")
	c.intact(t)
}
