package requests_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// rig is a console with a delivered lead of erika@example.com, and a privacy officer.
type rig struct {
	admintest.ConsoleWithDeliveries
	officer *admintest.Client
	lead    string
}

func newRig(t *testing.T) rig {
	t.Helper()
	c := admintest.NewConsoleWithDeliveries(t)
	lead, _ := c.Deliver(t, c.Harbour())
	return rig{c, c.SignedInAs(t, models.Privacy), lead}
}

// create creates a request for the lead.
func (r rig) create(t *testing.T, kind string) (at string) {
	t.Helper()
	at = r.officer.Post(t, "/privacy/requests/new", url.Values{
		"kind": {kind}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "leads": {r.lead}, "reference": {admintest.HostileText},
	}).ExpectCreated(t, "/privacy/requests/pr_")
	return at
}

func (r rig) checkIdentity(t *testing.T, at string) {
	t.Helper()
	r.officer.Post(t, at+"/identity", url.Values{"identity": {"reply"}}).ExpectRedirect(t, at)
}

var passphrase = regexp.MustCompile(`([A-Z2-7]{5}-){4}[A-Z2-7]{5}`)

func TestAccess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "access")
	r.officer.Get(t, at).Expect(t, "a new request", http.StatusOK, `data-state="open"`, `data-leads="1"`, r.lead, at+`/identity"`)
	r.officer.Get(t, "/privacy/requests").Expect(t, "the list", http.StatusOK, at, `data-state="open"`)
	proof := url.Values{"proof": {admintest.Password}}
	r.officer.Post(t, at+"/export", proof).Expect(t, "before the identity was checked", http.StatusConflict, `data-code="identity_unchecked"`)
	r.officer.Post(t, at+"/identity", url.Values{"identity": {"other"}}).Expect(t, "without a note", http.StatusUnprocessableEntity, `data-error="note"`)
	r.checkIdentity(t, at)
	r.officer.Get(t, at).Expect(t, "checked", http.StatusOK, `data-identity`, at+`/export"`)
	r.officer.Post(t, at+"/export", url.Values{"proof": {"wrong"}}).Expect(t, "a wrong password", http.StatusUnprocessableEntity, `data-error="proof"`)
	p := r.officer.Post(t, at+"/export", proof)
	secret := passphrase.FindString(p.Body)
	p.Expect(t, "the passphrase", http.StatusOK, at+`/export.zip?file=`)
	if secret == "" || strings.Contains(r.officer.Get(t, at).Body, secret) {
		t.Error("the passphrase is not shown, or shown again")
	}
	r.officer.Get(t, at).Expect(t, "before the download", http.StatusOK, `data-state="open"`, `data-export-ready`)
	if file := r.officer.Get(t, at+"/export.zip"); file.Status != http.StatusOK || !strings.HasPrefix(file.Body, "PK") ||
		!strings.Contains(file.Header.Get("Content-Disposition"), "pr_") {
		t.Errorf("got %d %s", file.Status, file.Header)
	}
	r.officer.Get(t, at).Expect(t, "exported", http.StatusOK, `data-state="exported"`, at+`/export.zip"`)
	r.officer.Get(t, "/privacy/requests?state=closed").Expect(t, "the list", http.StatusOK, at, `data-state="exported"`)
	if p := r.officer.Get(t, "/privacy/requests"); strings.Contains(p.Body, at) {
		t.Error("the list of open requests contains a closed one")
	}
	if p := r.officer.Get(t, at+"/close"); p.Location() != at {
		t.Errorf("closing again: got %d", p.Status)
	}
	auditor := r.SignedInAs(t, models.Auditor)
	auditor.Get(t, at).Expect(t, "for an auditor", http.StatusOK, `data-state="exported"`)
	if p := auditor.Get(t, at); strings.Contains(p.Body, "export.zip") {
		t.Error("an auditor can download the export")
	}
	r.CheckAuditLog(t)
}

func TestErasure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "erasure")
	r.checkIdentity(t, at)
	r.officer.Post(t, at+"/erase", nil).Expect(t, "without a password", http.StatusUnprocessableEntity, `data-error="proof"`)
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).ExpectRedirect(t, at)
	p := r.officer.Get(t, at)
	p.Expect(t, "erased", http.StatusOK, `data-state="to_notify"`, `data-erased="1"`, `data-state="notice_due"`)
	partner := id.Format(id.Partner, r.Harbour().ID)
	r.officer.Post(t, at+"/notices", url.Values{"partner": {partner}}).ExpectRedirect(t, at+"#notices")
	r.officer.Get(t, at).Expect(t, "notified", http.StatusOK, `data-state="erased"`, `data-state="notified"`, "privacy@example.com")
	if csv := r.officer.Get(t, at+"/leads.csv"); csv.Body != "\ufefflead_id,partner,erased\n"+r.lead+",harbour-leads,yes\n" {
		t.Errorf("got %s", csv.Body)
	}
	r.officer.Get(t, "/leads/"+r.lead).Expect(t, "the lead", http.StatusOK, `data-erasure="done"`)
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).Expect(t, "erased again", http.StatusConflict, `data-code="request_closed"`)
	r.CheckAuditLog(t)
}

// Leads of other people are rejected by ID, added with a reason, marked, and removed.
func TestLeadsOfOtherPeople(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other, _ := r.Deliver(t, r.Harbour())
	stranger := r.lead + " " + other
	object, err := id.Parse(id.Lead, other)
	if err != nil {
		t.Fatal(err)
	}
	r.Exec(t, `UPDATE leads SET email_digest = '\x01' WHERE id = $1`, object)
	form := url.Values{"kind": {"access"}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "leads": {stranger}}
	p := r.officer.Post(t, "/privacy/requests/new", form)
	p.Expect(t, "an unrelated lead", http.StatusUnprocessableEntity, `data-error="leads"`)
	if n := strings.Count(p.Body, other); n != strings.Count(p.Body, r.lead)+1 && n < 2 {
		t.Errorf("the error does not name the lead: %s", p.Text())
	}
	at := r.create(t, "access")
	r.officer.Get(t, at+"/add").Expect(t, "the form", http.StatusOK, `name="exception"`)
	added := url.Values{"leads": {admintest.TransactionID(object)}}
	r.officer.Post(t, at+"/add", added).Expect(t, "without a reason", http.StatusUnprocessableEntity,
		`data-error="exception"`, added.Get("leads"))
	r.officer.Post(t, at+"/add", url.Values{"leads": {"x"}}).Expect(t, "no ID", http.StatusUnprocessableEntity, `data-error="leads"`)
	added.Set("exception", "proved")
	r.officer.Post(t, at+"/add", added).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "added", http.StatusOK, `data-leads="2"`, other, `data-exception`, `data-matched="id"`)
	r.officer.Get(t, at+"/remove").Expect(t, "the form", http.StatusOK, `value="`+other+`"`)
	r.officer.Post(t, at+"/remove", nil).Expect(t, "no lead", http.StatusUnprocessableEntity, `data-error="leads"`)
	r.officer.Post(t, at+"/remove", url.Values{"leads": {other}}).ExpectRedirect(t, at)
	if p := r.officer.Get(t, at); strings.Contains(p.Body, other) {
		t.Error("the lead was not removed")
	}
	r.Exec(t, `UPDATE leads SET phone_digest = '\x02'`) // a shared phone number
	at = r.officer.Post(t, "/privacy/requests/new", form).ExpectCreated(t, "/privacy/requests/pr_")
	r.officer.Get(t, at).Expect(t, "a shared phone number", http.StatusOK, `data-differ="1"`, `data-state="differs_email"`, `data-remove-first`)
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"withdrawn"}}).ExpectRedirect(t, at)
	p = r.officer.Get(t, at)
	p.Expect(t, "closed", http.StatusOK, `data-differ="1"`)
	if strings.Contains(p.Body, `data-remove-first`) {
		t.Error("the page of a closed request asks for the removal of leads")
	}
	r.CheckAuditLog(t)
}

// The form for removing leads lists some. The IDs of the others can be typed.
func TestRemoveFromManyLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "access")
	if p := r.officer.Get(t, at+"/remove"); strings.Contains(p.Body, `name="more"`) {
		t.Error("the form asks for other leads, although there are none")
	}
	request, err := id.Parse(id.PrivacyRequest, strings.TrimPrefix(at, "/privacy/requests/"))
	if err != nil {
		t.Fatal(err)
	}
	r.Exec(t, `INSERT INTO privacy_request_leads (request_id, lead_id, partner_id)
		SELECT $1, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $2 FROM generate_series(1, 60) n`, request, r.Harbour().ID)
	unlisted, unknown := id.Format(id.Lead, uuid.MustParse("00000000-0000-7000-8000-000000000001")), id.Format(id.Lead, uuid.New())
	p := r.officer.Get(t, at+"/remove")
	p.Expect(t, "the form", http.StatusOK, `name="more"`, `value="`+r.lead+`"`)
	if strings.Contains(p.Body, unlisted) {
		t.Error("the form lists all leads")
	}
	r.officer.Post(t, at+"/remove", url.Values{"more": {unknown}}).Expect(t, "an unknown lead", http.StatusUnprocessableEntity, `data-error="leads"`, unknown)
	r.officer.Post(t, at+"/remove", url.Values{"leads": {r.lead}, "more": {unlisted + " " + r.lead}}).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "removed", http.StatusOK, `data-leads="59"`)
}

// The warning before the daily search limit does not count as the submission of the form.
func TestNewRequestAtWarning(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Exec(t, `INSERT INTO daily_access (staff_id, day, lookups) VALUES ($1, $2, $3)`,
		r.People[models.Privacy].ID, r.Time.Now().UTC(), admintest.LookupsPerDay*8/10-1)
	r.officer.Post(t, "/privacy/requests/new", admintest.WithFormKey(url.Values{
		"kind": {"access"}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "email": {"ann@example.com"},
	})).ExpectCreated(t, "/privacy/requests/pr_")
	if n := r.Count(t, "audit_events", "action = 'lead.find_warning'"); n != 1 {
		t.Errorf("got %d warnings, want 1", n)
	}
}

// Leads under a legal hold are not erased, and the request's page says so.
func TestErasureLeavesHeldLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	held, _ := r.Deliver(t, r.Harbour())
	at := r.officer.Post(t, "/privacy/requests/new", url.Values{
		"kind": {"erasure"}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "leads": {r.lead + " " + held},
	}).ExpectCreated(t, "/privacy/requests/pr_")
	r.checkIdentity(t, at)
	r.officer.Post(t, "/leads/"+held+"/hold", url.Values{"reason": {"case 7"}}).ExpectRedirect(t, "/leads/"+held)
	r.officer.Get(t, at+"/erase").Expect(t, "the form", http.StatusOK, `data-left="1"`, `data-returnable="1"`)
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).ExpectRedirect(t, at)
	p := r.officer.Get(t, at)
	p.Expect(t, "erased", http.StatusOK, `data-state="open"`, `data-leads="2"`, `data-erased="1"`, `data-held="1"`, `data-hold`, "case 7", `data-state="notice_due"`)
	if strings.Contains(p.Body, at+`/erase"`) || strings.Contains(p.Body, at+`/remove"`) {
		t.Error("the page offers to erase held leads, or to remove leads after an erasure")
	}
	notify := func() {
		t.Helper()
		r.officer.Get(t, "/privacy/requests?state=notify").Expect(t, "to notify", http.StatusOK, at)
		r.officer.Post(t, at+"/notices", url.Values{"partner": {id.Format(id.Partner, r.Harbour().ID)}}).ExpectRedirect(t, at+"#notices")
		r.officer.Get(t, at) // shows what was saved
		if p := r.officer.Get(t, "/privacy/requests?state=notify"); strings.Contains(p.Body, at) {
			t.Error("the request still lists a partner to notify")
		}
	}
	notify()
	r.officer.Get(t, at).Expect(t, "notified", http.StatusOK, `data-state="open"`, `data-state="notified"`)
	r.Exec(t, `UPDATE legal_holds SET released_at = now(), released_by = 'ann'`)
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "all erased", http.StatusOK, `data-state="to_notify"`, `data-erased="2"`, `data-state="notice_due"`)
	notify()
	r.officer.Get(t, at).Expect(t, "closed", http.StatusOK, `data-state="erased"`)
}

// The page of a request for leads that are already erased says so. If the leads were erased after the request was
// received, the page lists the partners to notify as soon as the consumer has been answered.
func TestRequestForErasedLeads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.officer.Post(t, "/leads/"+r.lead+"/erase", url.Values{"reason": {"complaint"}, "proof": {admintest.Password}}).ExpectRedirect(t, "/leads/"+r.lead)
	at := r.create(t, "erasure")
	r.checkIdentity(t, at)
	p := r.officer.Get(t, at)
	p.Expect(t, "the request", http.StatusOK, `data-notice="info"`, `data-erased="1"`)
	if strings.Contains(p.Body, at+`/erase"`) {
		t.Error("the page offers an erasure")
	}
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).Expect(t, "erased again", http.StatusConflict, `data-code="already_erased"`)
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"nothing_found"}}).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "closed", http.StatusOK, `data-state="to_notify"`, `data-state="notice_due"`)
	r.officer.Post(t, at+"/notices", url.Values{"partner": {id.Format(id.Partner, r.Harbour().ID)}}).ExpectRedirect(t, at+"#notices")
	r.officer.Get(t, at).Expect(t, "notified", http.StatusOK, `data-state="nothing_found"`, `data-state="notified"`)
}

// After an erasure, a request stays open until each partner has been notified or the user has recorded why not.
func TestPartnersToNotify(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other, _ := r.Deliver(t, r.Platform.Off)
	harbour, tinker := id.Format(id.Partner, r.Harbour().ID), id.Format(id.Partner, r.Platform.Off.ID)
	r.Exec(t, `UPDATE partners SET notes = 'secret terms', contacts = '[{"name": "Mia Dock", "role": "Operations", "email": "mia@harbour.example"}]' WHERE id = $1`,
		r.Harbour().ID)
	r.lead += " " + other
	at := r.create(t, "erasure")
	r.checkIdentity(t, at)
	counts := func(what, due, overdue string) {
		t.Helper()
		r.officer.Get(t, "/privacy/requests").Expect(t, "the list", http.StatusOK,
			`data-count="`+what+`" data-due="`+due+`" data-overdue="`+overdue+`"`)
	}
	needs := func(url string) bool {
		t.Helper()
		return strings.Contains(r.officer.Get(t, "/").Body, `<a href="`+url+`" data-need>`)
	}
	counts("unanswered", "1", "0")
	if !needs("/privacy/requests") || needs("/privacy/requests?state=notify") {
		t.Error("before the erasure: the overview lists something else than the open request")
	}
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).ExpectRedirect(t, at)
	counts("unanswered", "0", "0")
	counts("to-notify", "2", "0")
	if needs("/privacy/requests") || !needs("/privacy/requests?state=notify") {
		t.Error("after the erasure: the overview lists something else than the partners to notify")
	}
	p := r.officer.Get(t, at)
	p.Expect(t, "to notify", http.StatusOK, `data-state="to_notify"`, "Mia Dock, Operations, mia@harbour.example", at+"/notices/"+tinker)
	if strings.Contains(p.Body, "secret terms") {
		t.Error("the page contains the partner's notes")
	}
	if p := r.officer.Get(t, web.PartnerURL(r.Harbour().ID)); p.Status != http.StatusForbidden {
		t.Errorf("the partner's page: got %d, want 403", p.Status)
	}
	if p := r.SignedInAs(t, models.Auditor).Get(t, at); strings.Contains(p.Body, "data-contact") {
		t.Error("an auditor sees the contacts on the page of a request")
	}
	for _, path := range []string{"/privacy/requests", "/privacy/requests?state=notify"} {
		r.officer.Get(t, path).Expect(t, path, http.StatusOK, at, `data-state="to_notify"`)
	}
	if p := r.officer.Get(t, "/privacy/requests?state=closed"); strings.Contains(p.Body, at) {
		t.Error("the list of closed requests contains the request")
	}

	r.Time.Advance(40 * 24 * time.Hour)
	r.officer = r.SignedInAs(t, models.Privacy)
	counts("to-notify", "2", "2")
	r.officer.Get(t, at).Expect(t, "overdue", http.StatusOK, `data-state="overdue"`)
	r.officer.Post(t, at+"/notices", url.Values{"partner": {harbour}}).ExpectRedirect(t, at+"#notices")
	if p := r.officer.Get(t, at); strings.Contains(p.Body, "mia@harbour.example") {
		t.Error("the page shows the contacts of a partner that was notified")
	}
	counts("to-notify", "1", "1")

	form := at + "/notices/" + tinker
	r.officer.Get(t, form).Expect(t, "the form", http.StatusOK, `value="unreachable"`, "tinker-forms")
	for _, c := range []struct{ reason, note, at string }{{"", "", "reason"}, {"laziness", "", "reason"}, {"other", " ", "note"}} {
		r.officer.Post(t, form, url.Values{"reason": {c.reason}, "note": {c.note}}).
			Expect(t, c.reason, http.StatusUnprocessableEntity, `data-error="`+c.at+`"`)
	}
	r.officer.Post(t, form, url.Values{"reason": {"unreachable"}, "note": {"insolvent"}}).ExpectRedirect(t, at+"#notices")
	r.officer.Get(t, at).Expect(t, "complete", http.StatusOK, `data-state="erased"`, `data-state="not_notified"`, "insolvent")
	r.officer.Get(t, "/privacy/requests?state=closed").Expect(t, "the list", http.StatusOK, at, `data-state="erased"`)
	counts("to-notify", "0", "0")
	if p := r.officer.Get(t, form); p.Location() != at {
		t.Errorf("the form afterwards: got %d", p.Status)
	}
	if p := r.officer.Get(t, at+"/notices/"+id.Format(id.Partner, uuid.New())); p.Status != http.StatusNotFound {
		t.Errorf("another partner: got %d, want 404", p.Status)
	}
	if n := r.Count(t, "audit_events", `action = 'privacy_request.notify' AND outcome = 'done' AND partner_id = $1
		AND after->>'reason' = 'unreachable' AND after->>'notified' = 'false' AND reason = ''`, r.Platform.Off.ID); n != 1 {
		t.Errorf("got %d audit events with the reason and without the note, want 1", n)
	}
	r.CheckAuditLog(t)
}

// The page of a request says what the platform does for its kind, and offers the next steps.
func TestKindsOfRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for kind, c := range map[string]struct{ guided, erasable, exportable bool }{
		"access":        {exportable: true},
		"erasure":       {erasable: true},
		"objection":     {guided: true, erasable: true},
		"withdrawal":    {guided: true, erasable: true},
		"restriction":   {guided: true},
		"rectification": {guided: true},
	} {
		at := r.create(t, kind)
		r.checkIdentity(t, at)
		p := r.officer.Get(t, at)
		p.Expect(t, kind, http.StatusOK, `data-kind="`+kind+`"`, `data-letter="acknowledge"`)
		if strings.Contains(p.Body, "data-guidance") != c.guided || strings.Contains(p.Body, at+`/erase"`) != c.erasable || strings.Contains(p.Body, at+`/export"`) != c.exportable {
			t.Errorf("%s: got %s", kind, p.Text())
		}
		r.officer.Post(t, at+"/close", url.Values{"outcome": {"rejected"}, "ground": {"excessive"}}).Expect(t, kind, map[bool]int{
			true: http.StatusUnprocessableEntity, false: http.StatusSeeOther,
		}[kind == "withdrawal"])
	}
	if p := r.SignedInAs(t, models.Auditor).Get(t, r.create(t, "objection")); strings.Contains(p.Body, "data-letter") {
		t.Error("an auditor sees the letters")
	}
	r.CheckAuditLog(t)
}

func TestComplaintToAuthority(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	due := r.Time.Now().AddDate(0, 0, 10).Format(time.DateOnly)
	form := url.Values{"kind": {"complaint"}, "law": {"gdpr"}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "reference": {"DPA 12"}}
	r.officer.Post(t, "/privacy/requests/new", form).Expect(t, "without a deadline", http.StatusUnprocessableEntity, `data-error="due_on"`)
	form.Set("due_on", due)
	at := r.officer.Post(t, "/privacy/requests/new", form).ExpectCreated(t, "/privacy/requests/pr_")
	p := r.officer.Get(t, at)
	p.Expect(t, "a case", http.StatusOK, `data-kind="complaint"`, due, "data-guidance")
	if strings.Contains(p.Body, "data-letter") {
		t.Error("a complaint has letters to the consumer")
	}
	later := r.Time.Now().AddDate(0, 0, 20).Format(time.DateOnly)
	r.officer.Post(t, at+"/extend", url.Values{"reason": {"holidays"}, "until": {due}}).Expect(t, "not later", http.StatusUnprocessableEntity, `data-error="until"`)
	r.officer.Post(t, at+"/extend", url.Values{"reason": {"holidays"}, "until": {later}}).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "extended", http.StatusOK, later)
	if p := r.officer.Get(t, at+"/close"); strings.Contains(p.Body, `value="rejected"`) {
		t.Error("a complaint can be rejected")
	}
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"done"}, "note": {"answered on time"}}).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "closed", http.StatusOK, `data-state="done"`, "answered on time")
	r.CheckAuditLog(t)
}

func TestErasureWithLegalHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "erasure")
	r.checkIdentity(t, at)
	if p := r.officer.Get(t, at); len(p.Values("data-held")) != 0 || !strings.Contains(p.Body, at+`/erase"`) {
		t.Errorf("without a hold: got %s", p.Text())
	}
	r.officer.Post(t, "/leads/"+r.lead+"/hold", url.Values{"person": {"yes"}, "reason": {"case 7"}}).ExpectRedirect(t, "/leads/"+r.lead)
	p := r.officer.Get(t, at)
	p.Expect(t, "with a hold", http.StatusOK, `data-held="1"`)
	if strings.Contains(p.Body, at+`/erase"`) {
		t.Error("the page of a request with held leads links to the erasure")
	}
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).Expect(t, "erased", http.StatusConflict, `data-code="legal_hold"`)
	r.officer.Get(t, "/leads/"+r.lead).Expect(t, "the lead", http.StatusOK, `data-state="delivered"`)
	access := r.create(t, "access")
	r.checkIdentity(t, access)
	r.officer.Get(t, access).Expect(t, "a request for a copy", http.StatusOK, `data-held="1"`, access+`/export"`)
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"rejected"}, "ground": {"legal_claims"}}).ExpectRedirect(t, at)
	if p := r.officer.Get(t, at); len(p.Values("data-held")) != 0 {
		t.Errorf("closed: got %s", p.Text())
	}
	r.CheckAuditLog(t)
}

func TestDeadlineAndRejection(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "erasure")
	r.officer.Post(t, at+"/extend", url.Values{"reason": {" "}}).Expect(t, "without a reason", http.StatusUnprocessableEntity, `data-error="reason"`)
	r.officer.Post(t, at+"/extend", url.Values{"reason": {"many leads"}}).ExpectRedirect(t, at)
	r.officer.Post(t, at+"/extend", url.Values{"reason": {"more"}}).Expect(t, "extended again", http.StatusConflict, `data-code="extended"`, "more")
	r.Time.Advance(100 * 24 * time.Hour)
	r.officer = r.SignedInAs(t, models.Privacy)
	r.officer.Get(t, at).Expect(t, "overdue", http.StatusOK, `data-state="overdue"`, "many leads")
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"rejected"}, "note": {"kept"}}).Expect(t, "without a ground", http.StatusUnprocessableEntity, `data-error="ground"`, "kept")
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"nothing_found"}}).Expect(t, "although leads were found", http.StatusConflict, `data-code="leads_found"`)
	r.officer.Post(t, at+"/close", url.Values{"outcome": {"rejected"}, "ground": {"legal_claims"}}).ExpectRedirect(t, at)
	r.officer.Get(t, at).Expect(t, "rejected", http.StatusOK, `data-state="rejected"`, "17(3)(e)")
	r.CheckAuditLog(t)
}

// The form keeps what was typed, but none of it is stored.
func TestInvalidNewRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	valid := url.Values{"kind": {"access"}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "email": {"erika@example.com"}}
	for field, value := range map[string]string{
		"kind": "", "law": "lgpd", "received_on": "yesterday", "email": "nonsense", "phone": "12", "leads": "x", "reference": "\a",
	} {
		form := url.Values{}
		for name := range valid {
			form[name] = valid[name]
		}
		form.Set(field, value)
		want := field
		if field == "phone" {
			want = "country"
		}
		r.officer.Post(t, "/privacy/requests/new", form).Expect(t, field, http.StatusUnprocessableEntity, `data-error="`+want+`"`)
	}
	if n := r.Count(t, "privacy_requests", "true"); n != 0 {
		t.Errorf("got %d requests, want 0", n)
	}
	if p := r.officer.Get(t, web.RequestURL(uuid.New())); p.Status != http.StatusNotFound {
		t.Errorf("an unknown request: got %d", p.Status)
	}
}

// A privacy officer for one partner may not answer requests, because they concern all partners.
func TestRequestsConcernAllPartners(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "access")
	harbour := r.Harbour().ID
	officer := r.AddStaff(t, "of-harbour@example.com", models.StaffRole{Role: models.Privacy, PartnerID: &harbour})
	r.Reload(t)
	b := r.NewClient(t)
	b.SignIn(t, officer.Email)
	for _, path := range []string{"/privacy/requests", "/privacy/requests/new", at, at + "/export", at + "/leads.csv"} {
		if p := b.Get(t, path); p.Status != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403", path, p.Status)
		}
	}
	if p := b.Get(t, "/leads"); strings.Contains(p.Body, `href="/privacy/requests"`) {
		t.Error("the navigation contains the area")
	}
}

// TestExportNamesRecipients checks that the form for an export has warnings if the export names neither the controller
// nor the recipients.
func TestExportNamesRecipients(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	at := r.create(t, "access")
	r.checkIdentity(t, at)
	r.officer.Get(t, at+"/export").Expect(t, "the form", http.StatusOK, "data-no-controller", "data-no-recipients")
}
