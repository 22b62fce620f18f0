package leads_test

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

func TestLegalHold(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	harbour := b.Harbour()
	lead, _ := b.Deliver(t, harbour)
	at := "/leads/" + lead
	b.Get(t, at+"/hold").Expect(t, "finance opens the form", http.StatusForbidden)
	b.AddStaff(t, "one@example.com", models.StaffRole{Role: models.Privacy, PartnerID: &harbour.ID})
	b.Reload(t)
	first := b.NewClient(t)
	first.SignIn(t, "one@example.com")
	auditor := b.SignedInAs(t, models.Auditor)
	b.Client = b.SignedInAs(t, models.Privacy)
	b.Get(t, at).Expect(t, "the lead's page", http.StatusOK, at+"/hold", at+"/erase")
	b.Get(t, at+"/hold").Expect(t, "the form", http.StatusOK, `name="person"`, `name="reason"`)
	if p := first.Get(t, at+"/hold"); p.Status != http.StatusOK || strings.Contains(p.Body, `name="person"`) {
		t.Errorf("a user for one partner: got %d: %s", p.Status, p.Text())
	}
	form := url.Values{"person": {"yes"}, "reason": {"case 7"}}
	if p := first.Post(t, at+"/hold", form); p.Status != http.StatusForbidden {
		t.Errorf("a user for one partner holds a person: got %d: %s", p.Status, p.Text())
	}
	for name, wrong := range map[string]string{"no reason": " ", "long": strings.Repeat("x", 201)} {
		if p := b.Post(t, at+"/hold", url.Values{"reason": {wrong}}); p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d", name, p.Status)
		}
	}
	for _, v := range []*admintest.Client{b.Client, first} {
		if p := v.Post(t, at+"/hold", url.Values{"person": {"no"}, "reason": {"case 7"}}); p.Status != http.StatusSeeOther ||
			p.Location() != at {
			t.Fatalf("got %d: %s", p.Status, p.Text())
		}
	}
	p := b.Get(t, at)
	holds := p.Values("data-hold")
	if len(holds) != 2 || !strings.Contains(p.Body, "case 7") || strings.Contains(p.Body, at+"/erase") ||
		!strings.Contains(p.Body, at+"/release?hold="+holds[0]) {
		t.Errorf("the lead's page: got %v: %s", holds, p.Text())
	}
	if p := auditor.Get(t, at); !slices.Equal(p.Values("data-hold"), holds) || strings.Contains(p.Body, "/release?") ||
		strings.Contains(p.Body, at+"/hold") {
		t.Errorf("the auditor's page: %s", p.Text())
	}
	erase := func() admintest.Response {
		return b.Post(t, at+"/erase", url.Values{"reason": {"request"}, "proof": {admintest.Password}})
	}
	if p := erase(); p.Status != http.StatusConflict || !slices.Equal(p.Codes(), []string{"legal_hold"}) {
		t.Errorf("erase: got %d, %v: %s", p.Status, p.Codes(), p.Text())
	}
	other, _ := b.Deliver(t, harbour)
	if p := b.Post(t, "/leads/"+other+"/release", url.Values{"hold": {holds[0]}}); p.Status != http.StatusNotFound {
		t.Errorf("release at another lead: got %d", p.Status)
	}
	if p := auditor.Post(t, at+"/release", url.Values{"hold": {holds[0]}}); p.Status != http.StatusForbidden {
		t.Errorf("the auditor releases a hold: got %d", p.Status)
	}
	b.Get(t, at+"/release?hold="+holds[0]).Expect(t, "the form", http.StatusOK, holds[0])
	b.Time.Advance(time.Hour) // the password must be entered again
	b.Client = b.SignedInAs(t, models.Privacy)
	for _, hold := range holds {
		if p := b.Post(t, at+"/release", url.Values{"hold": {hold}}); p.Status != http.StatusSeeOther {
			t.Errorf("release: got %d: %s", p.Status, p.Text())
		}
	}
	if p := b.Get(t, at+"/release?hold="+holds[0]); p.Status != http.StatusNotFound {
		t.Errorf("the form of a released hold: got %d", p.Status)
	}
	if p := erase(); p.Status != http.StatusSeeOther {
		t.Errorf("erase: got %d: %s", p.Status, p.Text())
	}
	if p := b.Get(t, at+"/hold"); p.Status != http.StatusNotFound {
		t.Errorf("hold an erased lead: got %d", p.Status)
	}
	b.CheckAuditLog(t)
}

// If the details of the consent were kept, the lead can still be put under a legal hold and erased.
func TestLeadWithKeptConsent(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithRetention(t, 10)
	s := b.Options.Retention
	if _, err := s.Run(t.Context()); err != nil { // puts the period into effect, because there are no leads
		t.Fatal(err)
	}
	lead, _ := b.Deliver(t, b.Harbour())
	b.Time.Advance(11 * 24 * time.Hour)
	if run, err := s.Run(t.Context()); err != nil || len(run.Erased) != 1 {
		t.Fatalf("got %+v, %v", run, err)
	}
	at := "/leads/" + lead
	b.Client = b.SignedInAs(t, models.Privacy)
	p := b.Get(t, at)
	if !slices.Equal(p.Values("data-erasure"), []string{"done"}) || !strings.Contains(p.Body, at+"/erase") ||
		!strings.Contains(p.Body, at+"/hold") {
		t.Errorf("got %d: %s", p.Status, p.Text())
	}
	if p := b.Get(t, at+"/hold"); p.Status != http.StatusOK || strings.Contains(p.Body, `name="person"`) {
		t.Errorf("hold: got %d: %s", p.Status, p.Text())
	}
	if p := b.Get(t, at+"/reveal"); p.Status != http.StatusNotFound {
		t.Errorf("reveal: got %d", p.Status)
	}
	if p := b.Post(t, at+"/erase", url.Values{"reason": {"request"}, "proof": {admintest.Password}}); p.Status != http.StatusSeeOther {
		t.Errorf("erase: got %d: %s", p.Status, p.Text())
	}
	if n := testkit.Value[int](t, b.Database, `SELECT count(*) FROM consents WHERE num_nonnulls(disclosure_digest, form_cert_url) > 0`); n != 0 {
		t.Errorf("got %d consents with details, want 0", n)
	}
	if p := b.Get(t, at+"/erase"); p.Status != http.StatusNotFound {
		t.Errorf("erase again: got %d", p.Status)
	}
}
