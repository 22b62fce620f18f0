package templates_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/dev/browser"
)

// policy is the console's Content-Security-Policy. It forbids inline code and other origins.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// serve serves each sample page and each fragment under its name. All other URLs return the overview.
// A search for "signed out" or "broken" simulates that failure.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	all := pages()
	maps.Copy(all, fragments())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			assets.Handler().ServeHTTP(w, r)
			return
		}
		switch r.URL.Query().Get("q") {
		case "signed out":
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return
		case "broken":
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		page, known := all[strings.TrimPrefix(r.URL.Path, "/")]
		if !known {
			page = all["overview"]
		}
		w.Header().Set("Content-Security-Policy", policy)
		templ.Handler(page).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// looks are the settings with which every page is checked. Both widths are checked with all rules of
// axe, and the dark colour scheme only with its rules on colours.
var looks = []struct {
	name string
	look browser.Emulation
	axe  func(*browser.Page)
}{
	{"light", browser.Emulation{}, (*browser.Page).Axe},
	{"dark", browser.Emulation{Dark: true}, (*browser.Page).AxeColours},
	{"narrow", browser.Emulation{Width: 320, Height: 700}, (*browser.Page).Axe},
}

// TestInBrowser checks the pages and their behaviour in one Chromium, in parallel.
func TestInBrowser(t *testing.T) {
	server, chromium := serve(t), browser.Start(t)
	for name, behaviour := range map[string]func(*testing.T, *browser.Browser, string){
		"keys":              keys,
		"copies":            copies,
		"dialogs and menus": dialogsAndMenus,
		"error summary":     errorSummaryHasFocus,
		"filter":            filterWithScript,
		"themes":            themes,
		"without script":    withoutScript,
		"live activity":     liveActivityReloads,
		"onboarding steps":  onboardingSteps,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, chromium, server.URL)
		})
	}
	names := slices.Sorted(maps.Keys(pages()))
	const parts = 4 // run in parallel if there are enough cores
	for part := range parts {
		t.Run(fmt.Sprintf("pages/%d", part), func(t *testing.T) {
			t.Parallel()
			p := chromium.Page(t, browser.Emulation{})
			for i := part; i < len(names); i += parts {
				p.At(names[i])
				p.Open(server.URL + "/" + names[i])
				checkLooks(p, names[i])
			}
		})
	}
}

// checkLooks checks a page for overflow and accessibility in each look.
func checkLooks(p *browser.Page, name string) {
	for _, emulation := range looks {
		p.At(name + " " + emulation.name)
		p.Emulate(emulation.look)
		p.CheckNoOverflow()
		emulation.axe(p)
	}
}
