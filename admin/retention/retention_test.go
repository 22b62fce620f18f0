package retention_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestRetentionPage(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	b.Get(t, "/privacy/retention").Expect(t, "finance", http.StatusForbidden)
	auditor := b.SignedInAs(t, models.Auditor)
	b.Client = b.SignedInAs(t, models.Privacy)
	if p := b.Get(t, "/privacy/retention"); p.Status != http.StatusOK || strings.Contains(p.Body, "/privacy/retention/apply") || !slices.Equal(p.Values("data-country"), []string{"", ""}) {
		t.Errorf("without limits: got %d: %s", p.Status, p.Text())
	}
	if p := b.Get(t, "/privacy/retention/apply"); p.Status != http.StatusSeeOther || p.Location() != "/privacy/retention" {
		t.Errorf("nothing to apply: got %d", p.Status)
	}
	// Another node put a longer period into effect.
	b.Exec(t, `INSERT INTO retention_periods (category, country, days, position, accepted_at, accepted_by)
		SELECT c, country, 9, '00000000-0000-0000-0000-000000000000', $1, 'ann' FROM unnest('{contact,consent}'::text[]) c, unnest(ARRAY['', 'DE']) country`, b.Time.Now())
	if p := b.Get(t, "/privacy/retention"); p.Status != http.StatusOK || !slices.Equal(p.Values("data-country"), []string{"", "DE", "", "DE"}) {
		t.Errorf("with countries: got %d: %s", p.Status, p.Text())
	}
	if p := auditor.Get(t, "/privacy/retention"); p.Status != http.StatusOK {
		t.Errorf("auditor: got %d", p.Status)
	}
	if p := auditor.Get(t, "/privacy/retention/apply"); p.Status != http.StatusForbidden {
		t.Errorf("auditor: got %d", p.Status)
	}
}

// The navigation links to the first page of the area, and tabs link to the others.
func TestPrivacyTabs(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	paths := []string{"/privacy/requests", "/privacy/holds", "/privacy/disclosures", "/privacy/retention"}
	if p := b.Get(t, "/leads"); strings.Contains(p.Body, `href="/privacy`) {
		t.Error("the navigation of finance contains the area")
	}
	for _, role := range []models.Role{models.Privacy, models.Auditor} {
		c := b.SignedInAs(t, role)
		if p := c.Get(t, "/leads"); !strings.Contains(p.Body, `href="/privacy/requests"`) || strings.Contains(p.Body, `href="/privacy/holds"`) || strings.Contains(p.Body, `href="/privacy/retention"`) {
			t.Errorf("%s: got %s", role, p.Text())
		}
		for _, path := range paths {
			p := c.Get(t, path)
			for _, tab := range paths {
				p.Expect(t, path, http.StatusOK, `<a href="`+tab+`"`)
			}
			p.Expect(t, path, http.StatusOK, `<a href="`+path+`" aria-current="page"`, `<a href="/privacy/requests" aria-current="page"`)
		}
	}
}

// The page warns about data whose retention period is not limited, and names the setting.
func TestUnlimitedRetentionHasWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		console admintest.ConsoleWithDeliveries
		want    []string
	}{
		{admintest.NewConsoleWithDeliveries(t), []string{"retention.contact_days", "retention.consent_days"}},
		{admintest.NewConsoleWithRetention(t, 10), []string{"retention.consent_days"}},
	} {
		p := c.console.SignedInAs(t, models.Privacy).Get(t, "/privacy/retention")
		if got := p.Values("data-unlimited"); p.Status != http.StatusOK || !slices.Equal(got, c.want) {
			t.Errorf("got status %d and warnings about %v, want %v", p.Status, got, c.want)
		}
	}
}

func TestApplyRetention(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithRetention(t, 10)
	b.Deliver(t, b.Harbour())
	b.Time.Advance(11 * 24 * time.Hour)
	auditor := b.SignedInAs(t, models.Auditor)
	b.Client = b.SignedInAs(t, models.Privacy)
	if p := b.Get(t, "/privacy/retention"); !strings.Contains(p.Body, `href="/privacy/retention/apply"`) || p.State() != "waits" {
		t.Errorf("got %d: %s", p.Status, p.Text())
	}
	if p := auditor.Get(t, "/privacy/retention"); strings.Contains(p.Body, `href="/privacy/retention/apply"`) {
		t.Error("the auditor can apply the periods")
	}
	form := b.Get(t, "/privacy/retention/apply")
	form.Expect(t, "the form", http.StatusOK, `name="version"`, `name="proof"`)
	_, rest, _ := strings.Cut(form.Body, `name="version" value="`)
	version, _, _ := strings.Cut(rest, `"`)
	send := func(version, proof string) admintest.Response {
		return b.Post(t, "/privacy/retention/apply", url.Values{"version": {version}, "proof": {proof}})
	}
	days := func() int {
		return testkit.Value[int](t, b.Database, `SELECT coalesce(max(days), 0) FROM retention_periods`)
	}
	if p := send(version, "wrong"); p.Status != http.StatusUnprocessableEntity || days() != 0 {
		t.Errorf("wrong password: got %d and %d days", p.Status, days())
	}
	if p := send("another", admintest.Password); p.Status != http.StatusConflict || days() != 0 {
		t.Errorf("another version: got %d and %d days", p.Status, days())
	}
	if p := auditor.Post(t, "/privacy/retention/apply", url.Values{"version": {version}, "proof": {admintest.Password}}); p.Status != http.StatusForbidden {
		t.Errorf("auditor: got %d", p.Status)
	}
	if p := send(version, admintest.Password); p.Status != http.StatusSeeOther || p.Location() != "/privacy/retention" || days() != 10 {
		t.Errorf("got %d and %d days: %s", p.Status, days(), p.Text())
	}
	if p := b.Get(t, "/privacy/retention"); strings.Contains(p.Body, `href="/privacy/retention/apply"`) || !strings.Contains(p.Body, "privacy@example.com") {
		t.Errorf("got %s", p.Text())
	}
	b.CheckAuditLog(t)
}

func TestHoldsPage(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	auditor := b.SignedInAs(t, models.Auditor)
	b.Client = b.SignedInAs(t, models.Privacy)
	if p := b.Get(t, "/privacy/holds"); p.Status != http.StatusOK || !slices.Equal(p.Values("data-empty"), []string{"none"}) {
		t.Errorf("got %d: %s", p.Status, p.Text())
	}
	lead, _ := b.Deliver(t, b.Harbour())
	if p := b.Post(t, "/leads/"+lead+"/hold", url.Values{"person": {"yes"}, "reason": {"case 7"}}); p.Status != http.StatusSeeOther {
		t.Fatalf("got %d: %s", p.Status, p.Text())
	}
	p := b.Get(t, "/privacy/holds")
	if len(p.Values("data-hold")) != 1 || !strings.Contains(p.Body, "case 7") || !strings.Contains(p.Body, "/leads/"+lead+"/release?hold=lh_") {
		t.Errorf("got %d: %s", p.Status, p.Text())
	}
	if p := auditor.Get(t, "/privacy/holds"); len(p.Values("data-hold")) != 1 || strings.Contains(p.Body, "/release?") {
		t.Errorf("auditor: got %d: %s", p.Status, p.Text())
	}
}
