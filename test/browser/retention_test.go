package browser_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/browser"
)

// everyRetentionPage applies a shorter retention period, and places and releases legal holds.
func everyRetentionPage(t *testing.T, chromium *browser.Browser) {
	b := admintest.NewConsoleWithRetention(t, 10)
	s := b.Console
	b.Exec(t, `INSERT INTO retention_periods (category, country, days, position, accepted_at, accepted_by)
		SELECT c, country, CASE country WHEN 'DE' THEN 730 ELSE 0 END, '00000000-0000-0000-0000-000000000000', $1, CASE country WHEN 'DE' THEN 'privacy@example.com' ELSE '' END
		FROM unnest('{contact,consent}'::text[]) c, unnest(ARRAY['', 'DE']) country`, s.Time.Now())
	held, _ := b.Deliver(t, b.Harbour())
	other, _ := b.Deliver(t, b.Harbour())
	s.Time.Advance(11 * 24 * time.Hour)
	p := chromium.Page(t, browser.Emulation{})
	signIn(s, p, "privacy@example.com")
	p.Open(s.URL + "/privacy/holds")
	check(p, "holds-none")
	p.Open(s.URL + "/leads/" + held)
	p.Submit(`a[href$="/hold"]`)
	check(p, "hold-place")
	p.Click(`input[name="person"][value="no"]`)
	p.Type(`input[name="reason"]`, "Case 2041")
	p.Submit(`form.form button[type="submit"]`)
	check(p, "lead-held")
	p.Open(s.URL + "/privacy/retention")
	check(p, "retention-waiting")
	p.Submit(`a[href="/privacy/retention/apply"]`)
	check(p, "retention-apply")
	p.Type(`input[name="proof"]`, admintest.Password)
	p.Submit(`form.form button[type="submit"]`)
	if p.Address() != s.URL+"/privacy/retention" {
		t.Errorf("after applying the periods: the address is %s", p.Address())
	}
	if run, err := s.Options.Retention.Run(t.Context()); err != nil || run.Erased["contact"]["GB"] != 1 {
		t.Errorf("got %+v, %v", run, err)
	}
	p.Open(s.URL + "/privacy/retention")
	check(p, "retention")
	p.Open(s.URL + "/leads/" + other)
	check(p, "lead-retained-consent")
	p.Open(s.URL + "/privacy/holds")
	check(p, "holds")
	p.Submit(`a[href*="/release?hold="]`)
	check(p, "hold-release")
	if p.Text(`form.form`) == "" {
		t.Error("the form is empty")
	}
	auditor := chromium.Page(t, browser.Emulation{})
	signIn(s, auditor, "auditor@example.com")
	auditor.Open(s.URL + "/privacy/retention")
	check(auditor, "retention-auditor")
	expectOnlyStatusErrors(t, auditor)
	expectOnlyStatusErrors(t, p)
}
