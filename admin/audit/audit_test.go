package audit_test

import (
	"net/http"
	"regexp"
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
		if err := h.Options.Audit.Done(t.Context(), audit.Operator, audit.Event{Action: "partner.status", Kind: "partner", Object: "pt_1", After: map[string]any{"note": "<script>alert(1)</script>"}}); err != nil {
			t.Fatal(err)
		}
	}
	p := b.Get(t, "/audit?action=partner.")
	if p.Status != http.StatusOK || strings.Contains(p.Body, "<script>alert") || !strings.Contains(p.Body, "120 events") {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	older := regexp.MustCompile(`href="(/audit\?action=partner\.&amp;older=\d+)"`)
	seen := strings.Count(p.Body, "partner: status")
	for range 2 {
		next := older.FindStringSubmatch(p.Body)
		if next == nil {
			t.Fatal("there is no older page")
		}
		p = b.Get(t, strings.ReplaceAll(next[1], "&amp;", "&"))
		seen += strings.Count(p.Body, "partner: status")
	}
	if seen != 120 || older.MatchString(p.Body) {
		t.Errorf("%d events on three pages", seen)
	}
	for query, want := range map[string]int{
		"outcome=refused": 0, "object=pt_1&kind=partner": 50, "person=the+command+line": 50, "person=COMMAND": 50, "person=%25": 0, "person=eve+tan": 1, "person=auditor%40": 1, "person=%00": 0, "from=2026-01-02&to=2026-01-02": 50, "to=2026-01-01": 0, "from=tomorrow": 0, "older=x": 50, "older=-5": 50,
		"action=" + strings.Repeat("x", 4000): 0,
	} {
		p := b.Get(t, "/audit?"+query)
		if got := strings.Count(p.Body, `class="more"`); p.Status != http.StatusOK || got != want {
			t.Errorf("%.60s: %d, %d events, want %d", query, p.Status, got, want)
		}
	}
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusOK || !strings.Contains(p.Body, "chain is intact") {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	h.Exec(t, `ALTER TABLE audit_events DISABLE TRIGGER USER`)
	h.Exec(t, `UPDATE audit_events SET actor = 'eve' WHERE id = 7`)
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusOK || !strings.Contains(p.Body, "broken at event 7") {
		t.Errorf("%d %s", p.Status, p.Text())
	}
}
