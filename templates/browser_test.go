package templates_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/admin/assets"
	"github.com/pingpost/pingpost/internal/browser"
)

// policy is the console's: nothing from elsewhere, nothing in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// serve shows each sample at the address of its name; a form's address answers
// with the overview.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	if err := assets.Check(); err != nil {
		t.Fatal(err)
	}
	all := pages()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/assets/") {
			assets.Handler().ServeHTTP(w, r)
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

var looks = []struct {
	name string
	look browser.Look
}{
	{"light", browser.Look{}},
	{"dark", browser.Look{Dark: true}},
	{"narrow", browser.Look{Width: 320, Height: 700}},
	{"narrow-dark", browser.Look{Width: 320, Height: 700, Dark: true}},
}

// TestInBrowser tries the pages in one Chromium, side by side.
func TestInBrowser(t *testing.T) {
	server, chromium := serve(t), browser.Start(t)
	for name, behaviour := range map[string]func(*testing.T, *browser.Browser, string){
		"keys": keys, "copies": copies, "dialogs and menus": dialogsAndMenus, "error summary": errorSummaryTakesTheFocus,
		"filter": filterWithScript, "without script": withoutScript,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behaviour(t, chromium, server.URL)
		})
	}
	names := slices.Sorted(maps.Keys(pages()))
	for _, one := range looks {
		// The pages are shared out, so that the cores are.
		for part := range 2 {
			t.Run(fmt.Sprintf("pages/%s/%d", one.name, part), func(t *testing.T) {
				t.Parallel()
				p := chromium.Page(t, one.look)
				for i := part; i < len(names); i += 2 {
					tryPage(p, server.URL, names[i], one.name)
				}
			})
		}
	}
}

// tryPage opens a page and looks for what is wrong with it. With SCREENSHOTS it
// writes a picture into that folder.
func tryPage(p *browser.Page, url, name, look string) {
	p.At(name)
	p.Open(url + "/" + name)
	if folder := os.Getenv("SCREENSHOTS"); folder != "" && look != "narrow-dark" {
		p.Screenshot(filepath.Join(folder, name+"-"+look+".png"))
	}
	p.Fits()
	p.Axe()
}
