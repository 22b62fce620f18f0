package leads_test

import (
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/models"
)

// verified verifies a downloaded pack with the keys that the console publishes.
func verified(t *testing.T, b admintest.ConsoleWithDeliveries, p admintest.Response, lead string) pack.Document {
	t.Helper()
	if p.Status != http.StatusOK || p.Header.Get("Content-Type") != "application/zip" || p.Header.Get("Cache-Control") != "no-store" ||
		p.Header.Get("Content-Disposition") != `attachment; filename="evidence-`+lead+`.zip"` {
		t.Fatalf("got %d, %v: %s", p.Status, p.Header, p.Text())
	}
	b.Reload(t)
	published := b.NewClient(t).Get(t, pack.KeyPath)
	keys, err := pack.ParseKeys([]byte(published.Body))
	if err != nil || published.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Fatalf("got keys %s, %v, %v", published.Body, published.Header, err)
	}
	v, err := pack.Verify([]byte(p.Body), keys)
	if err != nil {
		t.Fatal(err)
	}
	return v.Document
}

func TestDownloadEvidence(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, earned := b.Deliver(t, b.Harbour())
	at := "/leads/" + lead + "/evidence"
	b.Get(t, "/leads/"+lead).Expect(t, "the lead's page", http.StatusOK, `href="`+at+`"`)
	b.Get(t, at).Expect(t, "the form", http.StatusOK, `action="`+at+`"`)
	d := verified(t, b, b.Post(t, at, nil), lead)
	if d.Lead.ID != lead || d.Lead.Price == nil || d.Lead.Price.Amount != earned.Decimal() || len(d.Contact) != 0 || d.CreatedBy != "finance@example.com" {
		t.Errorf("got %+v", d)
	}
	for role, amounts := range map[models.Role]bool{models.Privacy: false, models.Auditor: true} {
		b.Client = b.SignedInAs(t, role)
		if d := verified(t, b, b.Post(t, at, nil), lead); (d.Lead.Price != nil) != amounts || (d.Ledger != nil) != amounts {
			t.Errorf("%s: got price %v", role, d.Lead.Price)
		}
	}
	b.Client = b.SignedInAs(t, models.AccountManager)
	b.Get(t, at).Expect(t, "an account manager opens the form", http.StatusForbidden)
	if p := b.Get(t, "/leads/"+lead); p.Status != http.StatusOK || strings.Contains(p.Body, at) {
		t.Errorf("the lead's page for an account manager: got %d", p.Status)
	}
	if n := b.Count(t, "audit_events", "action = 'lead.evidence' AND outcome = 'done'"); n != 3 {
		t.Errorf("got %d audit events, want 3", n)
	}
	b.CheckAuditLog(t)
}

func TestDownloadEvidenceForReturn(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	other, _ := b.Deliver(t, b.Harbour())
	at := "/leads/" + lead + "/evidence"
	asked := b.Post(t, "/payouts/returns/new", admintest.WithFormKey(url.Values{"lead": {lead}, "reason": {"fraud"}, "evidence": {"The number is a canary."}}))
	page := asked.Location()
	disputed := page[strings.LastIndex(page, "/")+1:]
	b.Get(t, page).Expect(t, "the return's page", http.StatusOK, at+"?return="+disputed)
	b.Get(t, at+"?return="+disputed).Expect(t, "the form", http.StatusOK, `name="return" value="`+disputed+`"`, `href="`+page+`"`)
	p := b.Post(t, at, url.Values{"return": {disputed}})
	if d := verified(t, b, p, lead); d.DisputedReturn != disputed || len(d.Returns) != 1 || strings.Contains(p.Body, "number is a canary") {
		t.Errorf("got %+v", d)
	}
	for name, address := range map[string]string{"nonsense": at + "?return=rt_x", "another kind": at + "?return=" + lead} {
		if p := b.Get(t, address); p.Status != http.StatusNotFound {
			t.Errorf("%s: got %d", name, p.Status)
		}
	}
	if p := b.Post(t, "/leads/"+other+"/evidence", url.Values{"return": {disputed}}); p.Status != http.StatusNotFound {
		t.Errorf("another lead's return: got %d", p.Status)
	}
}

func TestDownloadEvidenceWithContact(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	at, form := "/leads/"+lead+"/evidence", url.Values{"contact": {"yes"}}
	if p := b.Get(t, at); strings.Contains(p.Body, `name="contact"`) {
		t.Error("contact data can be included before a reveal")
	}
	if p := b.Post(t, at, form); p.Status != http.StatusConflict || !slices.Equal(p.Codes(), []string{"not_revealed"}) {
		t.Errorf("before a reveal: got %d, %v: %s", p.Status, p.Codes(), p.Text())
	}
	b.Post(t, "/leads/"+lead+"/reveal", admintest.WithFormKey(url.Values{"field": {"email"}, "reason": {"legal"}, "proof": {admintest.Password}})).
		Expect(t, "a reveal", http.StatusOK, deliveredEmail)
	b.Get(t, at).Expect(t, "the form", http.StatusOK, `name="contact"`, "email address")
	if d := verified(t, b, b.Post(t, at, form), lead); len(d.Contact) != 1 || d.Contact[0].Value != deliveredEmail {
		t.Errorf("got %+v", d.Contact)
	}
	if d := verified(t, b, b.Post(t, at, nil), lead); len(d.Contact) != 0 {
		t.Errorf("without the box: got %+v", d.Contact)
	}
	b.Exec(t, `UPDATE lead_reveals SET staff_id = $1`, b.People[models.Auditor].ID)
	if p := b.SignedInAs(t, models.Auditor).Post(t, at, form); p.Status != http.StatusForbidden {
		t.Errorf("a user who may no longer reveal: got %d", p.Status)
	}
	b.Exec(t, `UPDATE lead_reveals SET staff_id = $1`, b.People[models.Finance].ID)
	// After some time, the password is required again.
	b.Time.Advance(20 * time.Minute)
	if p := b.Post(t, at, form); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `name="proof"`) || !strings.Contains(p.Body, "checked") {
		t.Errorf("without the password: got %d: %s", p.Status, p.Text())
	}
	form.Set("proof", admintest.Password)
	if d := verified(t, b, b.Post(t, at, form), lead); len(d.Contact) != 1 {
		t.Errorf("with the password: got %+v", d.Contact)
	}
	if err := os.RemoveAll(b.Erasures); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]url.Values{"with contact data": form, "without": nil} {
		if p := b.Post(t, at, f); p.Status != http.StatusServiceUnavailable || !slices.Equal(p.Codes(), []string{"journal_unavailable"}) {
			t.Errorf("%s, with an unusable journal: got %d, %v: %s", name, p.Status, p.Codes(), p.Text())
		}
	}
}

// TestLeadPageListsExports checks that a lead's page lists each file that contained data of the lead.
func TestLeadPageListsExports(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	other, _ := b.Deliver(t, b.Harbour())
	object, err := id.Parse(id.Lead, lead)
	if err != nil {
		t.Fatal(err)
	}
	request := admintest.PrivacyRequest(t, b.Console, object)
	b.Client = b.SignedInAs(t, models.Privacy)
	at := "/privacy/requests/" + request
	exported := b.Post(t, at+"/export", admintest.WithFormKey(url.Values{"proof": {admintest.Password}}))
	exported.Expect(t, "the export", http.StatusOK, at+"/export.zip")
	if p := b.Get(t, at+"/export.zip"); p.Status != http.StatusOK {
		t.Fatalf("the download: got %d", p.Status)
	}
	verified(t, b, b.Post(t, "/leads/"+lead+"/evidence", nil), lead)
	for address, want := range map[string][]string{
		lead: {"request_export", "request_download", "evidence_pack"}, other: nil,
	} {
		p := b.Get(t, "/leads/"+address)
		var events []string
		for _, event := range p.Values("data-event") {
			if slices.Contains([]string{"request_export", "request_download", "evidence_pack"}, event) {
				events = append(events, event)
			}
		}
		if !slices.Equal(events, want) || strings.Contains(p.Body, at) != (want != nil) {
			t.Errorf("the page of %s lists %v, want %v", address, events, want)
		}
	}
}
