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
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/testkit"
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
	p.Expect(t, "erased", http.StatusOK, `data-state="erased"`, `data-erased="1"`, `data-state="not_told"`)
	partner := id.Format(id.Partner, r.Harbour().ID)
	r.officer.Post(t, at+"/notices", url.Values{"partner": {partner}}).ExpectRedirect(t, at+"#notices")
	r.officer.Get(t, at).Expect(t, "told", http.StatusOK, `data-state="told"`, "privacy@example.com")
	if csv := r.officer.Get(t, at+"/leads.csv"); csv.Body != "\ufefflead_id,partner\n"+r.lead+",harbour-leads\n" {
		t.Errorf("got %s", csv.Body)
	}
	r.officer.Get(t, "/leads/"+r.lead).Expect(t, "the lead", http.StatusOK, `data-erasure="done"`)
	r.officer.Post(t, at+"/erase", url.Values{"proof": {admintest.Password}}).Expect(t, "erased again", http.StatusConflict, `data-code="request_closed"`)
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

// The form keeps what was typed, but nothing of it is stored.
func TestInvalidNewRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	valid := url.Values{"kind": {"access"}, "received_on": {r.Time.Now().Format(time.DateOnly)}, "email": {"erika@example.com"}}
	for field, value := range map[string]string{
		"kind": "", "received_on": "yesterday", "email": "nonsense", "phone": "12", "leads": "x", "reference": "\a",
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
	who := r.AddStaff(t, "of-harbour@example.com", models.StaffRole{Role: models.Privacy, PartnerID: &harbour})
	r.Reload(t)
	b := r.NewClient(t)
	b.SignIn(t, who.Email)
	for _, path := range []string{"/privacy/requests", "/privacy/requests/new", at, at + "/export", at + "/leads.csv"} {
		if p := b.Get(t, path); p.Status != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403", path, p.Status)
		}
	}
	if p := b.Get(t, "/leads"); strings.Contains(p.Body, `href="/privacy/requests"`) {
		t.Error("the navigation contains the area")
	}
}
