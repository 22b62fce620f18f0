package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

var proposalField = regexp.MustCompile(`name="proposal" value="([^"]+)"`)

// Where prices take two people, a partner's own are proposed by one and approved by
// another, who proves to be there.
func TestPartnerPricesTakeTwo(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{policy: ratecard.Policy{SecondPerson: true}})
	o := office{house: h, id: h.partner(t, "harbour-leads")}
	o.url = web.PartnerURL(o.id)
	h.person(t, "pia@example.com", models.StaffRole{Role: models.PricingManager})
	h.reload(t)
	ann, pia, auditor := h.as(t, models.PricingManager), h.visitor(t), h.as(t, models.Auditor)
	pia.signIn(t, "pia@example.com")
	tab := o.url + "?tab=prices"

	form := url.Values{"version": {versionAt(t, ann.get(t, tab))}, "adjustment": {"+5.25"}, "cap": {"2"}}
	if p := ann.post(t, o.url+"/prices", form); p.location() != tab || o.prices(t) != "" {
		t.Fatalf("%d, %q holds: %s", p.status, o.prices(t), p.text())
	}
	p := ann.get(t, tab)
	proposal := proposalField.FindStringSubmatch(p.body)
	if proposal == nil || strings.Contains(p.body, "/prices/approve") || strings.Contains(p.body, `name="adjustment"`) || !strings.Contains(p.body, "/prices/withdraw") {
		t.Fatalf("the proposer sees %s", p.text())
	}
	decision := url.Values{"proposal": {proposal[1]}}
	if p := ann.post(t, o.url+"/prices/approve", decision); p.status != http.StatusForbidden {
		t.Errorf("approved by the proposer: %d %s", p.status, p.text())
	}
	if p := auditor.get(t, tab); !strings.Contains(p.body, "pricing_manager@example.com") || strings.Contains(p.body, "/prices/withdraw") {
		t.Errorf("the auditor sees %s", p.text())
	}
	if p := auditor.post(t, o.url+"/prices/approve", decision); p.status != http.StatusForbidden {
		t.Errorf("approved by the auditor: %d", p.status)
	}
	if p := pia.get(t, "/"); !strings.Contains(p.body, tab) {
		t.Errorf("the overview: %s", p.text())
	}
	if p := ann.get(t, "/"); strings.Contains(p.body, tab) {
		t.Error("it waits for whoever proposed it")
	}

	h.time.Advance(11 * time.Minute)
	if p := pia.post(t, o.url+"/prices/approve", decision); p.status != http.StatusUnprocessableEntity || o.prices(t) != "" {
		t.Errorf("without a proof: %d, %q holds", p.status, o.prices(t))
	}
	for _, other := range []string{"", "x", "019b7ca9-8f2e-716e-a61b-6fb0ac79f23e"} {
		if p := pia.post(t, o.url+"/prices/approve", url.Values{"proposal": {other}, "proof": {password}}); p.status != http.StatusConflict {
			t.Errorf("the proposal %q: %d", other, p.status)
		}
	}
	if p := pia.post(t, o.url+"/prices/approve", decision); p.location() != tab || o.prices(t) != "525 [] 2 v1" {
		t.Errorf("%d, %q holds: %s", p.status, o.prices(t), p.text())
	}
	if p := pia.post(t, o.url+"/prices/approve", decision); p.status != http.StatusConflict {
		t.Errorf("approved twice: %d", p.status)
	}

	form.Set("version", "1")
	form.Set("cap", "3")
	form.Set("proof", password)
	if p := pia.post(t, o.url+"/prices", form); p.location() != tab {
		t.Fatalf("%d %s", p.status, p.text())
	}
	again := proposalField.FindStringSubmatch(ann.get(t, tab).body)
	if p := ann.post(t, o.url+"/prices/withdraw", url.Values{"proposal": {again[1]}}); p.location() != tab || o.prices(t) != "525 [] 2 v1" || strings.Contains(ann.get(t, tab).body, "/prices/withdraw") {
		t.Errorf("withdrawn: %d, %q holds", p.status, o.prices(t))
	}
	h.intact(t)
}
