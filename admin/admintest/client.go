package admintest

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"github.com/pingpost/pingpost/templates/ui"
)

// Client is an HTTP client that keeps cookies and does not follow redirects.
type Client struct {
	*http.Client
	Console *Console
}

// Response is an HTTP response whose body has been read.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// RequestCompressed sends a form or requests a page. Like a browser, it accepts compressed
// responses.
func (b *Client) RequestCompressed(t testing.TB, method, path string, form url.Values) Response {
	t.Helper()
	return b.Send(t, method, path, strings.NewReader(WithFormKey(form).Encode()), http.Header{
		"Accept-Encoding": {"gzip, deflate, br, zstd"},
		"Content-Type":    {"application/x-www-form-urlencoded"},
		"Origin":          {b.Console.URL},
		"Sec-Fetch-Site":  {"same-origin"},
	})
}

// Decompressed returns the decompressed body.
func (p Response) Decompressed(t testing.TB) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(p.Body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Cookie returns the cookie with the given name that the response sets. If there is none, the test
// fails.
func (p Response) Cookie(t testing.TB, name string) *http.Cookie {
	t.Helper()
	for _, c := range (&http.Response{Header: p.Header}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no cookie %s in %v", name, p.Header["Set-Cookie"])
	return nil
}

// SecretText matches the setup key in the HTML of the page that shows the key.
var SecretText = regexp.MustCompile(`<code>([A-Z2-7 ]{32,})</code>`)

// SignIn signs in with the given email address and [Password].
func (b *Client) SignIn(t testing.TB, email string) Response {
	t.Helper()
	p := b.Post(t, "/login", url.Values{"email": {email}, "password": {Password}})
	if p.Status != http.StatusSeeOther {
		t.Fatalf("signing in as %s: %d %s", email, p.Status, p.Text())
	}
	return p
}

// Text describes the page for failure messages: its errors, its notices and the start of its main
// part.
func (p Response) Text() string {
	_, main, _ := strings.Cut(p.Body, "<main")
	text := strings.Join(strings.Fields(main), " ")
	return fmt.Sprintf("errors %q, codes %q, notices %q, location %q: %.600s", p.Errors(), p.Codes(),
		p.Values("data-notice"), p.Location(), text)
}

// Location returns the Location header.
func (p Response) Location() string { return p.Header.Get("Location") }

// Values returns the values of an attribute in the order in which they appear on the page.
func (p Response) Values(attribute string) (all []string) {
	for z := html.NewTokenizer(strings.NewReader(p.Body)); z.Next() != html.ErrorToken; {
		for _, a := range z.Token().Attr {
			if a.Key == attribute {
				all = append(all, a.Val)
			}
		}
	}
	return all
}

// State returns the value of the first data-state attribute on the page, or "" if there is none.
func (p Response) State() string {
	if all := p.Values("data-state"); len(all) > 0 {
		return all[0]
	}
	return ""
}

// Link returns the URL of the first link or form with the given rel attribute, such as "next", or "" if
// there is none.
func (p Response) Link(rel string) string {
	for z := html.NewTokenizer(strings.NewReader(p.Body)); z.Next() != html.ErrorToken; {
		attributes := map[string]string{}
		for _, a := range z.Token().Attr {
			attributes[a.Key] = a.Val
		}
		if attributes["rel"] == rel {
			return cmp.Or(attributes["href"], attributes["action"])
		}
	}
	return ""
}

// Errors returns the names of the fields that have an error.
func (p Response) Errors() []string { return p.Values("data-error") }

// Codes returns the codes of the page's notices and of the errors in its error summary.
func (p Response) Codes() []string { return p.Values("data-code") }

// ExpectRedirect fails the test unless the response redirects to the given URL.
func (p Response) ExpectRedirect(t testing.TB, to string) {
	t.Helper()
	if p.Status != http.StatusSeeOther || p.Location() != to {
		t.Fatalf("got %d, want a redirect to %s: %s", p.Status, to, p.Text())
	}
}

// ExpectCreated fails the test unless the response redirects to a URL that starts with prefix. It
// returns that URL.
func (p Response) ExpectCreated(t testing.TB, prefix string) string {
	t.Helper()
	if p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Location(), prefix) {
		t.Fatalf("got %d, want a redirect to %s…: %s", p.Status, prefix, p.Text())
	}
	return p.Location()
}

var (
	shownCount = regexp.MustCompile(`data-count>([^<]*)<`)
	notDigits  = regexp.MustCompile(`\D`)
)

// Total returns the total number of rows that a list's pager shows, or 0 if there is no pager.
func (p Response) Total(t testing.TB) int {
	t.Helper()
	m := shownCount.FindStringSubmatch(p.Body)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(notDigits.ReplaceAllString(m[1], ""))
	if err != nil {
		t.Fatalf("%q has no count", m[1])
	}
	return n
}

// Get requests a page.
func (b *Client) Get(t testing.TB, path string) Response {
	t.Helper()
	return b.Send(t, http.MethodGet, path, nil, nil)
}

// WithFormKey returns a copy of the form, with a new form key if the form has none.
func WithFormKey(form url.Values) url.Values {
	all := url.Values{ui.FormKeyField: {uuid.NewString()}}
	maps.Copy(all, form)
	return all
}

// WithFormKeyBefore adds a new form key in front of the fields of an encoded form.
func WithFormKeyBefore(body string) string { return WithFormKey(nil).Encode() + "&" + body }

// Post submits a form. If the form has no form key, Post adds a new one.
func (b *Client) Post(t testing.TB, path string, form url.Values) Response {
	t.Helper()
	return b.Send(t, http.MethodPost, path, strings.NewReader(WithFormKey(form).Encode()), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"},
		"Origin":       {b.Console.URL},
	})
}

// Send sends a request.
func (b *Client) Send(t testing.TB, method, path string, body io.Reader, header http.Header) Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.Console.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Response{resp.StatusCode, resp.Header, string(text)}
}

// Expect fails the test unless the response has the given status and contains all of the texts. Failure
// messages start with the description in the parameter what.
func (p Response) Expect(t testing.TB, what string, status int, texts ...string) {
	t.Helper()
	if p.Status != status {
		t.Errorf("%s: got %d, want %d: %s", what, p.Status, status, p.Text())
	}
	for _, text := range texts {
		if !strings.Contains(p.Body, text) {
			_, main, _ := strings.Cut(p.Body, "<h1>")
			t.Errorf("%s: the page does not contain %q: %.3000s", what, text, strings.Join(strings.Fields(main), " "))
		}
	}
}

// ExpectTexts is like Expect, but its failure messages do not start with a description.
func (p Response) ExpectTexts(t testing.TB, status int, texts ...string) {
	t.Helper()
	if p.Status != status {
		t.Errorf("got %d, want %d: %s", p.Status, status, p.Text())
	}
	for _, text := range texts {
		if !strings.Contains(p.Body, text) {
			t.Errorf("the page does not contain %q: %s", text, p.Text())
		}
	}
}
