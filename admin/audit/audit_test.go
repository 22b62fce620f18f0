package audit_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/models"
)

func TestAuditPages(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Auditor)
	for range 120 {
		if err := h.Options.Audit.LogDone(t.Context(), audit.Operator, audit.Event{Action: "partner.status", Kind: "partner", Object: "pt_1", After: map[string]any{"note": "<script>alert(1)</script>"}}); err != nil {
			t.Fatal(err)
		}
	}
	p := b.Get(t, "/audit?action=partner.")
	if p.Status != http.StatusOK || strings.Contains(p.Body, "<script>alert") || p.Total(t) != 120 {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	seen := statusChanges(p)
	for range 2 {
		older := p.Link("next")
		if !strings.HasPrefix(older, "/audit?action=partner.&older=") {
			t.Fatalf("the link to older events is %q", older)
		}
		p = b.Get(t, older)
		seen += statusChanges(p)
	}
	if seen != 120 || p.Link("next") != "" {
		t.Errorf("got %d events on three pages, want 120", seen)
	}
	for query, want := range map[string]int{
		"outcome=rejected":                    0,
		"object=pt_1&kind=partner":            50,
		"person=the+command+line":             50,
		"person=COMMAND":                      50,
		"person=%25":                          0,
		"person=eve+tan":                      1,
		"person=auditor%40":                   1,
		"person=%00":                          0,
		"from=2026-01-02&to=2026-01-02":       50,
		"to=2026-01-01":                       0,
		"from=tomorrow":                       0,
		"older=x":                             50,
		"older=-5":                            50,
		"action=" + strings.Repeat("x", 4000): 0,
	} {
		p := b.Get(t, "/audit?"+query)
		if got := len(p.Values("data-action")); p.Status != http.StatusOK || got != want {
			t.Errorf("%.60s: got %d with %d events, want %d", query, p.Status, got, want)
		}
	}
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusOK ||
		!slices.Equal(p.Values("data-broken-at"), []string{"0"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	h.Exec(t, `ALTER TABLE audit_events DISABLE TRIGGER USER`)
	h.Exec(t, `UPDATE audit_events SET actor = 'eve' WHERE id = 7`)
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusOK ||
		!slices.Equal(p.Values("data-broken-at"), []string{"7"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
}

// statusChanges counts the status changes of partners on a page.
func statusChanges(p admintest.Response) (n int) {
	for _, action := range p.Values("data-action") {
		if action == "partner.status" {
			n++
		}
	}
	return n
}
