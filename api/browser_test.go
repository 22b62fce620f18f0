package api_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/browser"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// TestPartnerPageInBrowser checks that the page is accessible, fits in the window, and does not
// violate its Content-Security-Policy. If SCREENSHOTS is set, it saves screenshots in that folder.
func TestPartnerPageInBrowser(t *testing.T) {
	s := newService(t, newPlatform(t), nil, nil)
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	s.agree(t, s.ReportOnly.Partner)
	long := s.AddPartner(t, strings.Repeat("long-named-", 5)+"partner", models.SigningOff,
		partners.NewAccount{Identifier: strings.Repeat("Long_named.", 11)})
	if _, err := s.DB.Pool.Exec(t.Context(), `UPDATE partners SET name = $1 WHERE id = $2`, strings.Repeat("Wörter&<", 25), long.ID); err != nil {
		t.Fatal(err)
	}
	chromium := browser.Start(t)
	p := chromium.Page(t, browser.Emulation{})
	for name, partner := range map[string]models.Partner{
		"partner":      s.ReportOnly.Partner,
		"partner-long": long.Partner,
	} {
		link, err := s.Partners.NewLink(t.Context(), scope.System, partner)
		if err != nil {
			t.Fatal(err)
		}
		url := server.URL + "/partner/" + link.Token
		p.Emulate(browser.Emulation{})
		p.Open(url)
		lookAt(p, name, name == "partner") // both pages have the same structure and colours
		if name == "partner" {
			samplesOpen(t, chromium, url)
		}
	}
}

// agree gives a partner prices, exclusions, a cap, payment terms and an expiring secret.
func (s *service) agree(t *testing.T, p models.Partner) {
	t.Helper()
	err := s.Partners.SetPricing(t.Context(), scope.System, p.ID, 0,
		partners.PriceForm{Adjustment: "+5", DailyLeadCap: "500", Exclusions: "category legal-services\nindustry roofer"},
		s.Card.Get().Taxonomy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Partners.RotateSecret(t.Context(), scope.System, p, "", time.Hour, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Pool.Exec(t.Context(), `UPDATE partners SET payment_terms = '30 days after the end of the month',
		account_manager = 'Dana Example' WHERE id = $1`, p.ID); err != nil {
		t.Fatal(err)
	}
}

// lookAt checks that a page fits in the window in each variant and, if axe is set, that it is accessible.
// The checks of the colours are separate, because the pages are long and each check has a time limit.
func lookAt(p *browser.Page, name string, axe bool) {
	folder := os.Getenv("SCREENSHOTS")
	structure, colours := (*browser.Page).AxeExceptColours, (*browser.Page).AxeColours
	for _, page := range []struct {
		name   string
		look   browser.Emulation
		checks []func(*browser.Page)
	}{
		{"light", browser.Emulation{}, []func(*browser.Page){structure, colours}},
		{"dark", browser.Emulation{Dark: true}, nil},
		{"phone", browser.Emulation{Width: 360, Height: 780}, nil},
		{"narrow", browser.Emulation{Width: 320, Height: 700}, nil},
		{"narrow-dark", browser.Emulation{Width: 320, Height: 700, Dark: true}, []func(*browser.Page){colours}},
	} {
		p.At(name + ", " + page.name)
		p.Emulate(page.look)
		p.CheckNoOverflow()
		for _, check := range page.checks {
			if axe {
				check(p)
			}
		}
		if folder != "" {
			p.Screenshot(filepath.Join(folder, name+"-"+page.name+".png"))
		}
	}
}

// samplesOpen checks that samples can be opened and printed without scripts.
func samplesOpen(t *testing.T, chromium *browser.Browser, url string) {
	t.Helper()
	p := chromium.Page(t, browser.Emulation{NoScript: true})
	p.Open(url)
	shown := func(id string) bool {
		return browser.Eval[bool](p, `document.getElementById("code-`+id+`").checkVisibility()`)
	}
	if !shown("curl") || shown("python") {
		t.Error("want only the first sample open")
	}
	p.Click(`nav a[href="#run-go"]`)
	if !shown("go") {
		t.Error("the link in the contents does not open its sample")
	}
	p.Click("#sample-python > summary")
	if !shown("curl") || !shown("python") {
		t.Error("a second sample does not open")
	}
	if p.Emulate(browser.Emulation{NoScript: true, Print: true}); !shown("java") || !shown("ruby") {
		t.Error("closed samples are not printed")
	}
}
