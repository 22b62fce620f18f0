package partners_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

var proposalField = regexp.MustCompile(`name="proposal" value="([^"]+)"`)

// If approval is required, one user proposes a change, and another user approves it after a
// step-up.
func TestPartnerPricesRequireTwoUsers(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{Policy: ratecard.Policy{RequireApproval: true}})
	o := admintest.ConsoleWithPartner{Console: h, PartnerID: h.AddPartner(t, "harbour-leads")}
	o.PartnerURL = web.PartnerURL(o.PartnerID)
	h.AddStaff(t, "pia@example.com", models.StaffRole{Role: models.PricingManager})
	h.Reload(t)
	ann, pia, auditor := h.SignedInAs(t, models.PricingManager), h.NewClient(t), h.SignedInAs(t, models.Auditor)
	pia.SignIn(t, "pia@example.com")
	tab := o.PartnerURL + "?tab=prices"

	form := url.Values{"version": {admintest.VersionAt(t, ann.Get(t, tab))}, "adjustment": {"+5.25"}, "cap": {"2"}}
	if p := ann.Post(t, o.PartnerURL+"/prices", form); p.Location() != tab || o.Prices(t) != "" {
		t.Fatalf("status %d, pricing %q: %s", p.Status, o.Prices(t), p.Text())
	}
	p := ann.Get(t, tab)
	proposal := proposalField.FindStringSubmatch(p.Body)
	if proposal == nil || strings.Contains(p.Body, "/prices/approve") ||
		strings.Contains(p.Body, `name="adjustment"`) || !strings.Contains(p.Body, "/prices/withdraw") {
		t.Fatalf("proposer's page: %s", p.Text())
	}
	decision := url.Values{"proposal": {proposal[1]}}
	if p := ann.Post(t, o.PartnerURL+"/prices/approve", decision); p.Status != http.StatusForbidden {
		t.Errorf("approved by the proposer: %d %s", p.Status, p.Text())
	}
	if p := auditor.Get(t, tab); !strings.Contains(p.Body, "pricing_manager@example.com") ||
		strings.Contains(p.Body, "/prices/withdraw") {
		t.Errorf("auditor's page: %s", p.Text())
	}
	if p := auditor.Post(t, o.PartnerURL+"/prices/approve", decision); p.Status != http.StatusForbidden {
		t.Errorf("approved by the auditor: %d", p.Status)
	}
	if p := pia.Get(t, "/"); !strings.Contains(p.Body, tab) {
		t.Errorf("the overview does not list the proposal: %s", p.Text())
	}
	if p := ann.Get(t, "/"); strings.Contains(p.Body, tab) {
		t.Error("the proposer's overview lists the proposal")
	}

	h.Time.Advance(11 * time.Minute)
	if p := pia.Post(t, o.PartnerURL+"/prices/approve", decision); p.Status != http.StatusUnprocessableEntity ||
		o.Prices(t) != "" {
		t.Errorf("without proof: status %d, pricing %q", p.Status, o.Prices(t))
	}
	for _, other := range []string{"", "x", "019b7ca9-8f2e-716e-a61b-6fb0ac79f23e"} {
		if p := pia.Post(t, o.PartnerURL+"/prices/approve", url.Values{"proposal": {other}, "proof": {admintest.Password}}); p.Status != http.StatusConflict {
			t.Errorf("proposal %q: %d", other, p.Status)
		}
	}
	if p := pia.Post(t, o.PartnerURL+"/prices/approve", decision); p.Location() != tab || o.Prices(t) != "525 [] 2 v1" {
		t.Errorf("approved: status %d, pricing %q: %s", p.Status, o.Prices(t), p.Text())
	}
	if p := pia.Post(t, o.PartnerURL+"/prices/approve", decision); p.Status != http.StatusConflict {
		t.Errorf("approved twice: %d", p.Status)
	}

	form.Set("version", "1")
	form.Set("cap", "3")
	form.Set("proof", admintest.Password)
	if p := pia.Post(t, o.PartnerURL+"/prices", form); p.Location() != tab {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	again := proposalField.FindStringSubmatch(ann.Get(t, tab).Body)
	if p := ann.Post(t, o.PartnerURL+"/prices/withdraw", url.Values{"proposal": {again[1]}}); p.Location() != tab || o.Prices(t) != "525 [] 2 v1" || strings.Contains(ann.Get(t, tab).Body, "/prices/withdraw") {
		t.Errorf("withdrawn: status %d, pricing %q", p.Status, o.Prices(t))
	}
	h.CheckAuditLog(t)
}
