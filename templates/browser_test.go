package templates_test

import (
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

// TestPages opens every page in each look. With SCREENSHOTS it writes pictures
// into that folder.
func TestPages(t *testing.T) {
	server, chromium := serve(t), browser.Start(t)
	names := slices.Sorted(maps.Keys(pages()))
	for _, one := range looks {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			p := chromium.Page(t, one.look)
			for _, name := range names {
				p.At(name)
				p.Open(server.URL + "/" + name)
				if folder := os.Getenv("SCREENSHOTS"); folder != "" && one.name != "narrow-dark" {
					p.Screenshot(filepath.Join(folder, name+"-"+one.name+".png"))
				}
				p.Fits()
				p.Axe()
			}
		})
	}
}
