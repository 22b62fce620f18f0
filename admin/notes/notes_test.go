package notes_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var redactURL = regexp.MustCompile(`/privacy/notes/(ledger|return|finding)-[0-9a-f-]+/redact`)

// TestRedactNote redacts a note that names a consumer, in an adjustment that is not about a lead.
func TestRedactNote(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	account := id.Format(id.Account, c.Harbour.Account.ID)
	c.Post(t, "/payouts/adjust", url.Values{
		"own": {id.Format(id.Adjustment, uuid.New())}, "partner": {"harbour-leads"}, "account": {account}, "amount": {"12.50"}, "currency": {"GBP"},
		"why": {"refund for Spousecanary"},
	}).ExpectRedirect(t, "/payouts?account="+account)
	if p := c.Get(t, "/payouts"); strings.Contains(p.Body, "no personal data") {
		t.Error("the ledger says that its export contains no personal data")
	}
	c.AddStaff(t, "privacy-of-meadow@example.com", models.StaffRole{Role: models.Privacy, PartnerID: &c.Meadow.ID})
	c.Reload(t)

	officer := c.SignedInAs(t, models.Privacy)
	p := officer.Get(t, "/privacy/notes")
	p.Expect(t, "the notes", http.StatusOK, "refund for Spousecanary")
	at := redactURL.FindString(p.Body)
	if at == "" || strings.Contains(p.Body, "12.50") {
		t.Fatalf("the link is %q; the page must not contain amounts: %s", at, p.Text())
	}
	if p := officer.Post(t, "/privacy/notes/find", url.Values{"text": {"SPOUSE"}}); p.Status != http.StatusOK || len(p.Values("data-note")) != 1 {
		t.Errorf("found: got %d, %v", p.Status, p.Values("data-note"))
	}
	if p := officer.Post(t, "/privacy/notes/find", url.Values{"text": {"someone else"}}); p.Status != http.StatusOK || p.Values("data-note") != nil {
		t.Errorf("not found: got %d, %v", p.Status, p.Values("data-note"))
	}
	for _, role := range []models.Role{models.Administrator, models.AccountManager, models.PricingManager, models.Finance, models.Auditor} {
		b := c.SignedInAs(t, role)
		list := http.StatusForbidden
		if role == models.Auditor {
			list = http.StatusOK
		}
		if p := b.Get(t, "/privacy/notes"); p.Status != list || redactURL.MatchString(p.Body) {
			t.Errorf("%s opens the notes: got %d, want %d without links", role, p.Status, list)
		}
		if p := b.Post(t, at, nil); p.Status != http.StatusForbidden {
			t.Errorf("%s redacts a note: got %d", role, p.Status)
		}
	}
	other := admintest.SignedInAt(t, c.URL, "privacy-of-meadow@example.com")
	if p := other.Get(t, "/privacy/notes"); p.Status != http.StatusOK || p.Values("data-note") != nil {
		t.Errorf("a user of another partner sees %v (%d)", p.Values("data-note"), p.Status)
	}
	if p := other.Post(t, at, nil); p.Status != http.StatusNotFound {
		t.Errorf("a user of another partner redacts the note: got %d", p.Status)
	}

	officer.Get(t, at).Expect(t, "the form", http.StatusOK, "refund for Spousecanary")
	officer.Post(t, at, nil).ExpectRedirect(t, "/privacy/notes")
	if p := officer.Post(t, at, nil); p.Status != http.StatusConflict {
		t.Errorf("redacted again: got %d", p.Status)
	}
	officer.Get(t, "/privacy/notes").Expect(t, "the redacted note", http.StatusOK, "[redacted]", "redacted by privacy@example.com")
	for _, path := range []string{"/payouts", "/payouts/ledger.csv"} {
		p := c.Get(t, path)
		if p.Status != http.StatusOK || strings.Contains(p.Body, "Spousecanary") || !strings.Contains(p.Body, "[redacted]") || !strings.Contains(p.Body, "12.50") {
			t.Errorf("%s: got %d: %s", path, p.Status, p.Text())
		}
	}
	if n := c.Console.Count(t, "audit_events", "action = 'ledger.redact_note' AND outcome = 'done' AND actor = 'privacy@example.com'"); n != 1 {
		t.Errorf("got %d audit events, want 1", n)
	}
	if n := c.Console.Count(t, "audit_events", "audit_events::text LIKE '%Spousecanary%'"); n != 0 {
		t.Errorf("%d audit events contain the note", n)
	}
	c.CheckAuditLog(t)
}

// TestFindNotesStopsAtDailyLimit checks that the page shows the daily limit, and that auditors see the searches.
func TestFindNotesStopsAtDailyLimit(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithLedger(t)
	officer := c.SignedInAs(t, models.Privacy)
	c.Exec(t, `INSERT INTO daily_access (staff_id, day, lookups) VALUES ($1, $2, $3)`, c.People[models.Privacy].ID, c.Time.Now().UTC(), admintest.LookupsPerDay-1)
	search := url.Values{"text": {"Spousecanary"}}
	officer.Post(t, "/privacy/notes/find", search).Expect(t, "the last search", http.StatusOK)
	officer.Post(t, "/privacy/notes/find", search).Expect(t, "one too many", http.StatusTooManyRequests)
	officer.Post(t, "/privacy/notes/find", url.Values{"text": {" "}}).ExpectRedirect(t, "/privacy/notes")
	p := c.SignedInAs(t, models.Auditor).Get(t, "/audit?kind=note")
	if got := p.Values("data-action"); len(got) != 2 || got[0] != "notes.find" || strings.Contains(p.Body, "Spousecanary") {
		t.Errorf("the audit log shows %v: %s", got, p.Text())
	}
	if p := c.SignedInAs(t, models.Finance).Get(t, "/audit?kind=note"); p.Values("data-action") != nil {
		t.Errorf("a user who may not read the notes sees %v", p.Values("data-action"))
	}
	c.CheckAuditLog(t)
}

// TestRedactTextsOutsideLedger redacts the evidence of a rejected return and the note on a finding without a lead.
func TestRedactTextsOutsideLedger(t *testing.T) {
	t.Parallel()
	c := admintest.NewConsoleWithDeliveries(t)
	everyone := c.SignedInEverywhere(t)
	lead, _ := c.Deliver(t, c.Harbour())
	returned := everyone.Post(t, "/payouts/returns/new", url.Values{"lead": {lead}, "reason": {"fraud"}, "evidence": {"Spousecanary answered"}}).
		ExpectCreated(t, "/payouts/returns/")
	everyone.Post(t, returned+"/reject", url.Values{"answer": {"Spousecanary lives there"}})
	rows, _ := admintest.EveryFinding(c, t)
	reconciliation := c.UploadPartnerFile(t, "harbour-leads", rows...)
	c.Compare(t, reconciliation, c.ColumnForm(t, reconciliation))
	everyone.Post(t, reconciliation+"/save", url.Values{"version": {c.Version(t, reconciliation)}}).ExpectRedirect(t, reconciliation)
	line := testkit.Value[int](t, c.Database, `SELECT min(line) FROM reconciliation_lines WHERE lead_id IS NULL AND finding IN ('unknown', 'unreadable')`)
	everyone.Post(t, fmt.Sprint(reconciliation, "/lines/", line, "/resolve"), url.Values{"note": {"row of Spousecanary"}})

	officer := c.SignedInAs(t, models.Privacy)
	p := officer.Post(t, "/privacy/notes/find", url.Values{"text": {"spousecanary"}})
	want := []string{strings.TrimPrefix(reconciliation, "/reconciliation/"), strings.TrimPrefix(returned, "/payouts/returns/")}
	got := p.Values("data-note")
	slices.Sort(got)
	if slices.Sort(want); p.Status != http.StatusOK || !slices.Equal(got, want) {
		t.Fatalf("found %v, want %v: %s", got, want, p.Text())
	}
	for _, at := range redactURL.FindAllString(p.Body, -1) {
		note := strings.TrimSuffix(strings.TrimPrefix(at, "/privacy/notes/"), "/redact")
		for _, page := range []string{"?before=" + note, "?after=" + note, "?before=none", "?after=finding-0"} {
			officer.Get(t, "/privacy/notes"+page).Expect(t, page, http.StatusOK)
		}
		officer.Get(t, at).Expect(t, "the form", http.StatusOK, "Spousecanary")
		officer.Post(t, at, nil).ExpectRedirect(t, "/privacy/notes")
	}
	for _, path := range []string{returned, reconciliation + "/lines.csv", "/privacy/notes"} {
		p := everyone.Get(t, path)
		if p.Status != http.StatusOK || strings.Contains(p.Body, "Spousecanary") || !strings.Contains(p.Body, "[redacted]") {
			t.Errorf("%s: got %d: %s", path, p.Status, p.Text())
		}
	}
	if n := c.Count(t, "audit_events", "action IN ('return.redact', 'reconciliation.redact_note') AND outcome = 'done' AND actor = 'privacy@example.com'"); n != 2 {
		t.Errorf("got %d audit events, want 2", n)
	}
	if n := c.Count(t, "audit_events", "audit_events::text LIKE '%Spousecanary%'"); n != 0 {
		t.Errorf("%d audit events contain the text", n)
	}
	c.CheckAuditLog(t)
}
