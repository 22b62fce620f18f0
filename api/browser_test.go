package api_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/internal/browser"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
)

// TestPartnerPageInBrowser checks that the page is accessible, fits in the window, and does not
// violate its Content-Security-Policy. If SCREENSHOTS is set, it saves screenshots in that folder.
func TestPartnerPageInBrowser(t *testing.T) {
	s := newService(t, newPlatform(t), nil, nil)
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
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
		lookAt(p, name)
		if name == "partner" {
			samplesOpen(t, chromium, url)
		}
	}
}

// lookAt checks that a page fits in the window in each variant, and is accessible in two of them.
func lookAt(p *browser.Page, name string) {
	folder := os.Getenv("SCREENSHOTS")
	for _, one := range []struct {
		name string
		look browser.Emulation
		axe  bool
	}{
		{"light", browser.Emulation{}, true},
		{"dark", browser.Emulation{Dark: true}, false},
		{"narrow", browser.Emulation{Width: 320, Height: 700}, false},
		{"narrow-dark", browser.Emulation{Width: 320, Height: 700, Dark: true}, true},
	} {
		p.At(name + ", " + one.name)
		p.Emulate(one.look)
		p.CheckNoOverflow()
		if one.axe {
			p.Axe()
		}
		if folder != "" {
			p.Screenshot(filepath.Join(folder, name+"-"+one.name+".png"))
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
