package docs

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	view "github.com/pingpost/pingpost/templates/docs"
)

func renderedDocs(t *testing.T) string {
	t.Helper()
	rendered, err := renderGeneral(options(t))
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

// elements calls visit for each tag, and fails if tags are not properly nested.
func elements(t *testing.T, page string, visit func(name string, attr map[string]string, within []string)) {
	t.Helper()
	void := []string{"meta", "link", "br"}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.Entity = false, xml.HTMLEntity
	var open []string
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tag := token.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range tag.Attr {
				attr[a.Name.Local] = a.Value
			}
			visit(tag.Name.Local, attr, open)
			if !slices.Contains(void, tag.Name.Local) {
				open = append(open, tag.Name.Local)
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != tag.Name.Local {
				t.Fatalf("</%s> has no opening tag in %v", tag.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("tags without an end: %v", open)
	}
}

func TestDocsPageIsSoundHTML(t *testing.T) {
	isSoundHTML(t, renderedDocs(t), "./", "openapi.yaml", "api/industries", "docs", "docs.css", "docs.js")
}

// isSoundHTML checks the HTML of a page. The parameter leaves lists the allowed targets of links to
// other pages and files.
func isSoundHTML(t *testing.T, page string, leaves ...string) {
	t.Helper()
	ids, links := map[string]int{}, []string{}
	count := map[string]int{}
	level := 0
	headings := map[string]string{} // each heading's link, by the heading's id
	heading := ""
	elements(t, page, func(name string, attr map[string]string, within []string) {
		count[name]++
		if id, ok := attr["id"]; ok {
			ids[id]++
		}
		if name == "a" {
			links = append(links, attr["href"])
		}
		if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
			next := int(name[1] - '0')
			if next > level+1 {
				t.Errorf("a heading of level %d follows one of level %d", next, level)
			}
			level, heading = next, attr["id"]
			if level > 1 {
				headings[heading] = ""
			}
		}
		if parent := within[max(len(within)-1, 0):]; name == "a" && len(parent) == 1 && slices.Contains([]string{"h2", "h3", "h4", "h5"}, parent[0]) {
			headings[heading] = attr["href"]
		}
		if name == "pre" && !slices.Contains(within, "figure") {
			t.Error("a code sample is not in a figure")
		}
		if src := attr["src"]; name == "script" && src != "docs.js" && src != "../docs.js" {
			t.Errorf("script from %q", src)
		}
		if name == "th" && attr["scope"] == "" {
			t.Error("a th has no scope")
		}
		if slices.Contains(within, "p") && slices.Contains([]string{"p", "ul", "ol", "dl", "table", "pre", "figure"}, name) {
			t.Errorf("<%s> within a paragraph", name)
		}
		for key := range attr {
			if key == "style" || strings.HasPrefix(key, "on") {
				t.Errorf("<%s %s>: inline styles and scripts are not allowed", name, key)
			}
		}
	})
	for name, want := range map[string]int{
		"h1":     1,
		"main":   1,
		"nav":    1,
		"header": 1,
		"title":  1,
		"link":   1,
		"script": 1,
		"style":  0,
		"img":    0,
		"button": 0, // the script creates them
	} {
		if count[name] != want {
			t.Errorf("got %d <%s>, want %d", count[name], name, want)
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %s occurs %d times", id, n)
		}
	}
	for _, link := range links {
		if id, inside := strings.CutPrefix(link, "#"); inside && ids[id] == 0 {
			t.Errorf("link to missing id %s", link)
		} else if !inside && !slices.Contains(leaves, link) {
			t.Errorf("link outside the service or its prefix: %s", link)
		}
	}
	for id, link := range headings {
		if target := strings.TrimPrefix(link, "#"); id == "" || target != id && target != strings.TrimSuffix(id, "-title") {
			t.Errorf("heading %q has the link %q, want one to itself", id, link)
		}
	}
	if links[0] != "#content" || ids["content"] != 1 {
		t.Error("the first link is not the skip link")
	}
}

// TestDocsPageIsComplete checks that every name in the document is on the page.
func TestDocsPageIsComplete(t *testing.T) {
	text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(renderedDocs(t), ""))
	var root yaml.Node
	if err := yaml.Unmarshal(document(t), &root); err != nil {
		t.Fatal(err)
	}
	doc := node{at: root.Content[0], root: root.Content[0]}
	wanted := func(what string) {
		if what == "" || !strings.Contains(text, what) {
			t.Errorf("the page lacks %q", what)
		}
	}
	for path := range doc.get("paths").entries() {
		wanted(path)
	}
	components := doc.get("components")
	for name, schema := range components.get("schemas").entries() {
		for field := range schema.get("properties").entries() {
			wanted(field)
		}
		if name != "IndustrySlug" {
			continue
		}
		for slug := range schema.get("x-extensible-enum").items() {
			wanted(slug.at.Value)
		}
	}
	for _, example := range components.get("examples").entries() {
		wanted(example.get("value").text("message"))
		wanted(example.get("value").text("code"))
		var fix string
		for _, s := range spans(example.text("description")) {
			fix += s.Text
		}
		wanted(fix)
	}
	for _, parameter := range components.get("parameters").entries() {
		if parameter.text("in") == "header" {
			wanted(parameter.text("name"))
		}
	}
	for header := range components.get("responses", "Delivered", "headers").entries() {
		wanted(header)
	}
	for _, figure := range components.get("securitySchemes", "signature", "x-worked-example").entries() {
		wanted(figure.at.Value)
	}
	wanted("curl -i 'https://leads.example.com/api/lead/post'")
	wanted(`-d '{"industry":"plumber","postcode":"SW1A 1AA"}'`)
	wanted("https://leads.example.com/p/{partnerSlug}")
	wanted("Alternatives, in this order: contact.fullName, name.")
	wanted("At most 10,000 characters.")
	for _, not := range []string{"{origin}", "{http.", "{limits.", "{payouts.", "{retention.", "](#", "x-source", "decision 12",
		"<no value>", "//api"} {
		if strings.Contains(text, not) {
			t.Errorf("the page contains %q", not)
		}
	}
}

func TestRenderDocsRejects(t *testing.T) {
	o := options(t)
	whole := string(o.Document)
	for name, c := range map[string]struct{ document, publicURL string }{
		"a relative URL":      {whole, "leads.example.com"},
		"no scheme":           {whole, "//leads.example.com"},
		"no URL":              {whole, ""},
		"no YAML":             {"openapi: [", "https://a.example"},
		"nothing":             {"", "https://a.example"},
		"another document":    {"openapi: 3.1.0\ninfo: {title: t}", "https://a.example"},
		"no worked example":   {strings.Replace(whole, "x-worked-example", "x-other", 1), "https://a.example"},
		"no endpoints at all": {strings.Replace(whole, "\npaths:", "\nx-paths:", 1), "https://a.example"},
	} {
		o.Document, o.Settings.HTTP.PublicURL = []byte(c.document), c.publicURL
		if got, err := renderGeneral(o); err == nil {
			t.Errorf("%s: rendered %d bytes", name, len(got))
		}
	}
}

func TestRenderDocsEscapes(t *testing.T) {
	o := options(t)
	o.Document = []byte(strings.Replace(string(o.Document), "title: Lead", "title: <script>Lead", 1))
	rendered, err := renderGeneral(o)
	if err != nil || strings.Contains(rendered, "<script>") {
		t.Errorf("a tag in the document was not escaped (%v)", err)
	}
}

// WCAG 2.2, 1.4.3: text has a contrast of at least 4.5:1 with its background.
func TestDocsContrast(t *testing.T) {
	css := string(view.Stylesheet)
	variable := regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`)
	schemes := strings.Split(css, ":root {")[1:]
	if len(schemes) != 3 {
		t.Fatalf("got %d colour schemes, want light, dark and print", len(schemes))
	}
	for i, scheme := range schemes {
		colour := map[string]float64{}
		block, _, _ := strings.Cut(scheme, "}")
		for _, m := range variable.FindAllStringSubmatch(block, -1) {
			colour[m[1]] = luminance(t, m[2])
		}
		for _, text := range []string{"ink", "quiet", "accent", "get", "must", "key", "string", "number"} {
			for _, ground := range []string{"paper", "code"} {
				a, b := colour[text], colour[ground]
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("scheme %d: %s on %s: got a contrast of %.2f:1", i, text, ground, ratio)
				}
			}
		}
	}
	for _, outside := range []string{"url(", "@import", "http"} {
		if strings.Contains(css, outside) {
			t.Errorf("the stylesheet loads external content: %s", outside)
		}
	}
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// The support section has a mailto link for an email address, a link for a URL, and no
// link without a contact.
func TestDocsShowTheSupportContact(t *testing.T) {
	o := options(t)
	for contact, link := range map[string]string{
		"":                               "",
		"partners@example.com":           `<a href="mailto:partners@example.com"`,
		"https://help.example.com/leads": `<a href="https://help.example.com/leads"`,
	} {
		o.Settings.HTTP.SupportContact = contact
		page, err := renderGeneral(o)
		if err != nil {
			t.Fatal(err)
		}
		_, support, ok := strings.Cut(page, `<a href="#support">Support</a></h2>`)
		if !ok || strings.Contains(support, "<a ") != (link != "") || !strings.Contains(support, link) {
			t.Errorf("%q: %q, want the link %q", contact, support, link)
		}
	}
}

// docs/partner-api.md lists the same messages and codes as the OpenAPI document.
func TestPartnerAPIPageListsEveryError(t *testing.T) {
	reference := newPages(t, "").reference
	text, err := os.ReadFile("../../docs/partner-api.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[[3]string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| (`.+?`) \\| `(.+?)` \\|").FindAllStringSubmatch(string(text), -1) {
		for _, message := range strings.Split(strings.Trim(row[2], "`"), "`, `") {
			listed[[3]string{row[1], message, row[3]}] = false
		}
	}
	for _, e := range reference.Errors {
		if e.Status == "500" { // its message describes the error
			continue
		}
		key := [3]string{e.Status, e.Message, e.Code}
		if _, ok := listed[key]; !ok {
			t.Errorf("docs/partner-api.md does not list %s", key)
		}
		listed[key] = true
	}
	for key, known := range listed {
		if !known {
			t.Errorf("docs/partner-api.md lists %s, which the OpenAPI document does not have", key)
		}
	}
}
