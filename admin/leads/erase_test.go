package leads_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

// With privacy.require_approval, a lead's page links to the form for a privacy request instead.
func TestEraseLeadNeedsTwoUsers(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithTwoUsers(t)
	lead, _ := b.Deliver(t, b.Harbour())
	b.Client = b.SignedInAs(t, models.Privacy)
	form := "/privacy/requests/new?kind=erasure&leads=" + lead
	page := b.Get(t, "/leads/"+lead)
	page.Expect(t, "the lead's page", http.StatusOK, `href="`+html.EscapeString(form)+`"`)
	if strings.Contains(page.Body, lead+"/erase") {
		t.Error("the lead's page has a link to the form that erases the lead")
	}
	b.Get(t, form).Expect(t, "the form for a request", http.StatusOK, lead)
	b.Get(t, "/leads/"+lead+"/erase").ExpectRedirect(t, form)
	b.Post(t, "/leads/"+lead+"/erase", url.Values{"reason": {"request"}, "proof": {admintest.Password}}).
		Expect(t, "submitting the form", http.StatusForbidden)
	if n := b.Count(t, "erasures", "true"); n != 0 {
		t.Errorf("got %d erasures, want 0", n)
	}
}

func TestEraseLead(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	at := "/leads/" + lead + "/erase"
	b.Get(t, at).Expect(t, "finance opens the form", http.StatusForbidden)
	b.Client = b.SignedInAs(t, models.Privacy)
	page := b.Get(t, "/leads/"+lead)
	if page.Status != http.StatusOK || !strings.Contains(page.Body, `href="`+at+`"`) || strings.Contains(page.Body, `id="price"`) {
		t.Fatalf("the lead's page: got %d: %s", page.Status, page.Text())
	}
	if list := b.Get(t, "/leads"); list.Status != http.StatusOK || !strings.Contains(list.Body, lead) || !strings.Contains(list.Body, ">hidden<") {
		t.Errorf("the list: got %d: %s", list.Status, list.Text())
	}
	b.Get(t, at).Expect(t, "the form", http.StatusOK, `name="reason"`, `name="proof"`, `data-returnable="1"`, `data-open-returns="0"`)
	send := func(more url.Values) admintest.Response {
		t.Helper()
		f := url.Values{"reason": {"request"}, "note": {"case 7"}, "proof": {admintest.Password}}
		for name, value := range more {
			f[name] = value
		}
		return b.Post(t, at, f)
	}
	for name, wrong := range map[string]url.Values{
		"no password": {"proof": {""}}, "wrong password": {"proof": {"not the password"}}, "no reason": {"reason": {""}},
		"other without a note": {"reason": {"other"}, "note": {" "}},
	} {
		if p := send(wrong); p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusUnauthorized || !strings.Contains(p.Body, `name="proof"`) {
			t.Errorf("%s: got %d: %s", name, p.Status, p.Text())
		}
	}
	if n := b.Count(t, "erasures", "true"); n != 0 {
		t.Fatalf("got %d erasures after rejected forms, want 0", n)
	}
	if p := send(nil); p.Status != http.StatusSeeOther || p.Header.Get("Location") != "/leads/"+lead {
		t.Fatalf("got %d, %v: %s", p.Status, p.Header, p.Text())
	}
	page = b.Get(t, "/leads/"+lead)
	receipt := testkit.Value[string](t, b.Database, `SELECT encode(hash, 'hex') FROM erasure_entries`)
	if !slices.Equal(page.Values("data-erasure"), []string{"done"}) || !slices.Equal(page.Values("data-contact"), []string{"erased"}) ||
		!strings.Contains(page.Body, receipt) || !strings.Contains(page.Body, "case 7") || strings.Contains(page.Body, at) || strings.Contains(page.Body, "/reveal?") {
		t.Errorf("the lead's page after the erasure: %s", page.Text())
	}
	page.Expect(t, "the partner to notify", http.StatusOK, "data-notify")
	b.Exec(t, `UPDATE leads SET partner_id = $1`, models.PlatformIDs.Partner)
	if p := b.Get(t, "/leads/"+lead); strings.Contains(p.Body, "data-notify") {
		t.Error("the platform's own partner is to be notified")
	}
	b.Get(t, at).Expect(t, "the form of an erased lead", http.StatusNotFound)
	if p := send(nil); p.Status != http.StatusNotFound {
		t.Errorf("a second erasure: got %d", p.Status)
	}
	b.CheckAuditLog(t)
}

// If the erasure journal is not usable, staff cannot reveal, search for, export or erase personal data.
func TestUnusableErasureJournal(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	finance := b.Client
	b.Client = b.SignedInAs(t, models.Privacy)
	if err := os.RemoveAll(b.Erasures); err != nil {
		t.Fatal(err)
	}
	proof := url.Values{"proof": {admintest.Password}, "reason": {"legal"}, "field": {"email"}}
	if p := b.Post(t, "/leads/"+lead+"/erase", proof); p.Status != http.StatusServiceUnavailable || !slices.Equal(p.Codes(), []string{"journal_unavailable"}) {
		t.Errorf("erase: got %d, %v: %s", p.Status, p.Codes(), p.Text())
	}
	if p := b.Post(t, "/leads/"+lead+"/reveal", proof); p.Status != http.StatusServiceUnavailable || !slices.Equal(p.Codes(), []string{"journal_unavailable"}) {
		t.Errorf("reveal: got %d, %v: %s", p.Status, p.Codes(), p.Text())
	}
	for by, text := range map[string]string{"email": deliveredEmail, "phone": "+442079460018"} {
		if p := b.Post(t, "/leads/find", url.Values{"q": {text}}); p.Status != http.StatusServiceUnavailable {
			t.Errorf("search by %s: got %d: %s", by, p.Status, p.Text())
		}
	}
	if p := finance.Get(t, "/payouts/ledger.csv"); p.Status != http.StatusServiceUnavailable {
		t.Errorf("export: got %d: %s", p.Status, p.Text())
	}
	if p := finance.Post(t, "/payouts/exports", url.Values{}); p.Status != http.StatusServiceUnavailable {
		t.Errorf("export as a job: got %d: %s", p.Status, p.Text())
	}
	if p := b.Get(t, "/leads/"+lead); p.Status != http.StatusOK {
		t.Errorf("the lead's page: got %d: %s", p.Status, p.Text())
	}
}

func TestPrivacySeesNoMoney(t *testing.T) {
	t.Parallel()
	b := admintest.NewConsoleWithDeliveries(t)
	lead, _ := b.Deliver(t, b.Harbour())
	b.Client = b.SignedInAs(t, models.Privacy)
	for _, path := range []string{"/", "/leads", "/leads/" + lead} {
		if p := b.Get(t, path); p.Status != http.StatusOK || strings.Contains(p.Body, `class="money"`) || strings.Contains(p.Body, `id="payouts"`) {
			t.Errorf("%s: got %d: %s", path, p.Status, p.Text())
		}
	}
	for _, path := range []string{"/partners", "/payouts", "/payouts/balances", "/payouts/runs", "/pricing", "/reconciliation", "/audit", "/staff"} {
		if p := b.Get(t, path); p.Status != http.StatusForbidden {
			t.Errorf("%s: got %d, want 403", path, p.Status)
		}
	}
}
