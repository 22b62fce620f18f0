package leads_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

const deliveredEmail = "ann@example.com"

func TestRevealField(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	page := b.Get(t, "/leads/"+lead)
	manager := b.SignedInAs(t, models.AccountManager).Get(t, "/leads/"+lead)
	if roles := manager.Values("data-reveal-roles"); !slices.Equal(roles, []string{"finance or privacy"}) {
		t.Errorf("got the roles %q for an account manager", roles)
	}
	if page.Status != http.StatusOK || !slices.Equal(page.Values("data-reveal-roles"), []string{""}) ||
		!strings.Contains(page.Body, `href="/leads/`+lead+`/reveal?field=email"`) || strings.Contains(page.Body, deliveredEmail) {
		t.Fatalf("the lead's page: got %d: %s", page.Status, page.Text())
	}
	at := "/leads/" + lead + "/reveal"
	form := b.Get(t, at+"?field=email")
	if form.Status != http.StatusOK || !strings.Contains(form.Body, `value="email" selected`) || !strings.Contains(form.Body, `name="proof"`) {
		t.Fatalf("the form: got %d: %s", form.Status, form.Text())
	}
	send := func(more url.Values) admintest.Response {
		t.Helper()
		f := url.Values{"field": {"email"}, "reason": {"complaint"}, "note": {"case 7"}, "proof": {admintest.Password}}
		for name, value := range more {
			f[name] = value
		}
		return b.Post(t, at, f)
	}
	// The password is required even though the user has just signed in.
	for name, wrong := range map[string]url.Values{
		"no password": {"proof": {""}}, "wrong password": {"proof": {"not the password"}}, "no field": {"field": {""}},
		"no reason": {"reason": {""}}, "other without a note": {"reason": {"other"}, "note": {" "}},
	} {
		if p := send(wrong); p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusUnauthorized || strings.Contains(p.Body, deliveredEmail) ||
			!strings.Contains(p.Body, `name="proof"`) {
			t.Errorf("%s: got %d: %s", name, p.Status, p.Text())
		}
	}
	if n := b.Count(t, "lead_reveals", "true"); n != 0 {
		t.Fatalf("got %d reveals after rejected forms, want 0", n)
	}
	shown := send(nil)
	if shown.Status != http.StatusOK || !slices.Equal(shown.Values("data-revealed"), []string{"email"}) || !strings.Contains(shown.Body, deliveredEmail) ||
		shown.Header.Get("Cache-Control") != "no-store" || shown.Header.Get("Refresh") != "60; url=/leads/"+lead {
		t.Errorf("got %d, %v: %s", shown.Status, shown.Header, shown.Text())
	}
	if p := send(url.Values{"field": {"phone"}}); p.Status != http.StatusOK || !slices.Equal(p.Values("data-empty"), []string{"not_sent"}) {
		t.Errorf("a field that was not sent: got %d: %s", p.Status, p.Text())
	}
	// Sending the same form again, as a browser does when it reloads the page, reveals nothing.
	again := admintest.WithFormKey(url.Values{"field": {"email"}, "reason": {"complaint"}, "proof": {admintest.Password}})
	b.Post(t, at, again).Expect(t, "a form", http.StatusOK, deliveredEmail)
	if p := b.Post(t, at, again); p.Status != http.StatusSeeOther || strings.Contains(p.Body, deliveredEmail) || b.Count(t, "lead_reveals", "true") != 3 {
		t.Errorf("the same form again: got %d and %d reveals: %s", p.Status, b.Count(t, "lead_reveals", "true"), p.Text())
	}
	page = b.Get(t, "/leads/"+lead)
	if got := page.Values("data-reason"); !slices.Contains(got, "complaint") || !strings.Contains(page.Body, "case 7") || strings.Contains(page.Body, deliveredEmail) {
		t.Errorf("the lead's page after the reveal: %s", page.Text())
	}
	events := testkit.Value[string](t, b.Database, `SELECT string_agg(e::text, ' ') FROM audit_events e WHERE action = 'lead.reveal'`)
	if strings.Contains(events, deliveredEmail) || strings.Contains(events, "case 7") || strings.Count(events, lead) != 3 {
		t.Errorf("the audit log: %s", events)
	}
	b.CheckAuditLog(t)
}

func TestRevealLimit(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	f := url.Values{"field": {"email"}, "reason": {"return"}, "proof": {admintest.Password}}
	for range admintest.RevealsPerDay {
		b.Post(t, "/leads/"+lead+"/reveal", f).Expect(t, "below the limit", http.StatusOK, deliveredEmail)
	}
	p := b.Post(t, "/leads/"+lead+"/reveal", f)
	if p.Status != http.StatusTooManyRequests || !slices.Equal(p.Codes(), []string{"reveals_per_day"}) || strings.Contains(p.Body, deliveredEmail) {
		t.Errorf("above the limit: got %d: %s", p.Status, p.Text())
	}
}

func TestRevealNeedsPermissionForPartner(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	f := url.Values{"field": {"email"}, "reason": {"return"}, "proof": {admintest.Password}}
	for role, want := range map[models.Role]int{
		models.Auditor: http.StatusForbidden, models.AccountManager: http.StatusForbidden, models.Administrator: http.StatusForbidden,
	} {
		c := b.SignedInAs(t, role)
		if p := c.Post(t, "/leads/"+lead+"/reveal", f); p.Status != want || strings.Contains(p.Body, deliveredEmail) {
			t.Errorf("%s: got %d: %s", role, p.Status, p.Text())
		}
		if p := c.Get(t, "/leads/"+lead); strings.Contains(p.Body, "/reveal") {
			t.Errorf("%s sees a link to a form that they may not use", role)
		}
	}
	b.AddStaff(t, "fay@example.com", models.StaffRole{Role: models.Finance, PartnerID: &b.Other.ID})
	b.Reload(t)
	c := b.NewClient(t)
	c.SignIn(t, "fay@example.com")
	for _, at := range []string{lead, admintest.LeadID(uuid.New())} {
		if p := c.Post(t, "/leads/"+at+"/reveal", f); p.Status != http.StatusNotFound {
			t.Errorf("%s: got %d: %s", at, p.Status, p.Text())
		}
	}
	if n := b.Count(t, "lead_reveals", "true"); n != 0 {
		t.Errorf("got %d reveals, want 0", n)
	}
}
