package browser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

// everyDisclosurePage replaces a disclosure text, while another user has the form open.
func everyDisclosurePage(t *testing.T, chromium *browser.Browser) {
	s := admintest.NewConsoleWithLeads(t)
	p := chromium.Page(t, browser.Emulation{})
	signIn(s.Console, p, "privacy@example.com")
	p.Open(s.URL + "/privacy/disclosures")
	check(p, "disclosures-none")
	p.Open(s.URL + "/privacy/disclosures?kind=replaced")
	check(p, "disclosures-none-replaced")

	const wording = "By clicking “Get quotes”, I, Jo Bloggs, agree that up to four plumbers may call or text me about my request.\n\nI can withdraw my consent at any time."
	lead, page := s.AddLeadWithText(t, s.Harbour, wording)
	s.AddLeadWithText(t, s.Other, wording)
	_, standard := s.AddLeadWithText(t, s.Other, "I agree to be called about my request. "+strings.Repeat("I have read the terms and the privacy policy. ", 60))
	s.AddLeadWithText(t, s.Other, "https://partner.example.com/"+strings.Repeat("terms-and-conditions-", 12))
	s.Exec(t, `UPDATE disclosures SET standard = true WHERE text LIKE '%terms and the%'`)
	p.Open(s.URL + "/privacy/disclosures")
	check(p, "disclosures")
	p.Open(s.URL + "/privacy/disclosures?kind=standard")
	check(p, "disclosures-standard")
	p.Open(s.URL + standard)
	check(p, "disclosure-standard")
	p.Open(s.URL + page)
	check(p, "disclosure")
	p.Submit(`a[href$="/replace"]`)
	check(p, "disclosure-replace")

	s.AddStaff(t, "ann@example.com", models.StaffRole{Role: models.Privacy, PartnerID: &s.Harbour.ID})
	s.AddStaff(t, "bea@example.com", models.StaffRole{Role: models.Privacy})
	s.Reload(t)
	limited, other := chromium.Page(t, browser.Emulation{}), chromium.Page(t, browser.Emulation{})
	signIn(s.Console, limited, "ann@example.com")
	limited.Open(s.URL + page)
	check(limited, "disclosure-one-partner")
	signIn(s.Console, other, "bea@example.com")
	other.Open(s.URL + page)
	other.Submit(`a[href$="/replace"]`)
	s.Time.Advance(time.Minute)
	replace := func(p *browser.Page, text string) {
		p.Wait(`document.querySelector("textarea") !== null`)
		browser.Eval[bool](p, `document.querySelectorAll("textarea").forEach(t => t.value = ""); true`)
		p.Type(`textarea[name="text"]`, text)
		p.Type(`textarea[name="note"]`, "Case 2041")
		p.Type(`input[name="proof"]`, admintest.Password)
		p.Submit(`form.form button[type="submit"]`)
	}
	replace(other, "I, [name], agree.")
	if other.Address() != s.URL+page {
		t.Errorf("the address is %s: %s", other.Address(), other.Text("main"))
	}
	check(other, "disclosure-replaced")
	replace(p, " ")
	check(p, "disclosure-replace-error")
	replace(p, "I, the consumer, agree.")
	check(p, "disclosure-replace-conflict")
	p.Type(`input[name="proof"]`, admintest.Password)
	p.Submit(`form.form button[type="submit"]`)
	if text := testkit.Value[string](t, s.Database, `SELECT text FROM disclosures WHERE replaced_at IS NOT NULL`); text != "I, the consumer, agree." {
		t.Errorf("got %q", text)
	}
	p.Open(s.URL + "/privacy/disclosures?kind=replaced")
	check(p, "disclosures-replaced")
	p.Open(s.URL + web.LeadURL(lead.ID))
	check(p, "lead-disclosure-replaced")
	for _, tab := range []*browser.Page{limited, other, p} {
		expectOnlyStatusErrors(t, tab)
	}
}
