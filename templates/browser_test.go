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
	"github.com/pingpost/pingpost/internal/browser"
)

// policy is the console's: nothing from elsewhere, nothing in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// serve serves each sample page under its name. Forms are answered with the overview, and live
// URLs with their fragments. A search for "signed out" or "broken" simulates that failure.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	if err := assets.Check(); err != nil {
		t.Fatal(err)
	}
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

// looks are those in which every page is checked: with all rules at both widths, and with
// the rules about colours in both colour schemes.
var looks = []struct {
	name string
	look browser.Emulation
	axe  func(*browser.Page)
}{
	{"light", browser.Emulation{}, (*browser.Page).Axe},
	{"dark", browser.Emulation{Dark: true}, (*browser.Page).AxeColours},
	{"narrow", browser.Emulation{Width: 320, Height: 700}, (*browser.Page).Axe},
}

// TestInBrowser tries the pages in one Chromium, side by side.
func TestInBrowser(t *testing.T) {
	server, chromium := serve(t), browser.Start(t)
	for name, behaviour := range map[string]func(*testing.T, *browser.Browser, string){
		"keys":              keys,
		"copies":            copies,
		"dialogs and menus": dialogsAndMenus,
		"error summary":     errorSummaryTakesTheFocus,
		"filter":            filterWithScript,
		"colours":           coloursFollow,
		"without script":    withoutScript,
		"arrivals":          arrivalsShow,
		"steps":             stepsOpen,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, chromium, server.URL)
		})
	}
	names := slices.Sorted(maps.Keys(pages()))
	const parts = 4 // side by side, as far as there are cores
	for part := range parts {
		t.Run(fmt.Sprintf("pages/%d", part), func(t *testing.T) {
			t.Parallel()
			p := chromium.Page(t, browser.Emulation{})
			for i := part; i < len(names); i += parts {
				p.At(names[i])
				p.Open(server.URL + "/" + names[i])
				tryLooks(p, names[i])
			}
		})
	}
}

// tryLooks looks for what is wrong with a page in each of its looks.
func tryLooks(p *browser.Page, name string) {
	for _, one := range looks {
		p.At(name + " " + one.name)
		p.Emulate(one.look)
		p.CheckNoOverflow()
		one.axe(p)
	}
}
