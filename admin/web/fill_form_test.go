package web

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/pingpost/pingpost/internal/staff"
)

// FuzzFillIn checks that saved values cannot add elements to a page or remove them.
func FuzzFillIn(f *testing.F) {
	const page = `<!DOCTYPE html><html><head></head><body><form method="post" action="/a"><input name="n" value="old"/><textarea name="n">
old</textarea><select name="s"><option value="1">1</option><option value="2">2</option></select><input type="password" name="proof"/></form><p>end</p></body></html>`
	f.Add("n", "x", "2")
	f.Add("s", `"><script>alert(1)</script>`, "\n</textarea><b>")
	f.Fuzz(func(t *testing.T, name, first, second string) {
		out, _, err := fillIn([]byte(page), &staff.SavedForm{Action: "/a", Values: url.Values{name: {first, second}}})
		if err != nil {
			t.Fatal(err)
		}
		count := func(text []byte) (elements int) {
			document, err := html.Parse(strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for n := range document.Descendants() {
				if n.Type == html.ElementNode {
					elements++
				}
			}
			return elements
		}
		if before, has := count([]byte(page)), count(out); before != has || !strings.Contains(string(out), "<p>end</p>") {
			t.Errorf("got %d elements, want %d: %s", has, before, out)
		}
	})
}
