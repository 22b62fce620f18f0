package pricing_test

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// Exported files can be parsed, and each export has an audit event.
func TestExport(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	d.Cell(t, "plumber", "0", "61.5")
	bases := d.Get(t, d.DraftURL+"/export?format=csv&country=GB&category=home-services&q=plumb")
	if got := bases.Header.Get("Content-Disposition"); got != `attachment; filename="rate-card-draft-`+
		strings.TrimPrefix(d.DraftURL, "/pricing/drafts/")+`-GB-any.csv"` ||
		bases.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("got Content-Disposition %q, Content-Type %q", got, bases.Header.Get("Content-Type"))
	}
	lines := testkit.Records(t, bases.Body)
	if len(lines) < 3 || !strings.Contains(bases.Body, "home-services,plumber,GB,any,61.5,GBP") {
		t.Errorf("got the file\n%s", bases.Body)
	}
	card := d.Get(t, "/pricing/versions/1/export?format=yaml")
	if _, _, err := pricingrules.Load("card", []byte(card.Body), d.Options.Prices.Taxonomy(), d.Options.Prices.Markets()); err != nil || card.Header.Get("Content-Disposition") != `attachment; filename="rate-card-v1.yaml"` {
		t.Errorf("got error %v, Content-Disposition %q", err, card.Header.Get("Content-Disposition"))
	}
	if n := d.Count(t, "audit_events", `action = 'pricing.export' AND object_kind = 'rate_card'`); n != 2 {
		t.Errorf("got %d audit events for exports, want 2", n)
	}
	for path, status := range map[string]int{
		d.DraftURL + "/export":                  http.StatusBadRequest,
		d.DraftURL + "/export?format=xls":       http.StatusBadRequest,
		"/pricing/versions/2/export?format=csv": http.StatusNotFound,
		"/pricing/versions/x/export?format=csv": http.StatusNotFound,
	} {
		if p := d.Get(t, path); p.Status != status {
			t.Errorf("%s: got status %d, want %d", path, p.Status, status)
		}
	}
	if p := d.Get(t, d.DraftURL+"/export?format=csv&country="+url.QueryEscape("\"\r\nX: y")); strings.Contains(p.Header.Get("Content-Disposition"), "X: y") || p.Header.Get("X") != "" {
		t.Errorf("got Content-Disposition %q", p.Header.Get("Content-Disposition"))
	}
	d.CheckAuditLog(t)
}

// One file is read at a time. Another import is rejected if it has to wait too long, and can be repeated.
func TestOneImportAtATime(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	body, sent := io.Pipe()
	slow := make(chan admintest.Response)
	go func() {
		slow <- d.Send(t, http.MethodPost, d.DraftURL+"/import", body, http.Header{
			"Content-Type": {"multipart/form-data; boundary=b"},
			"Origin":       {d.Console.URL},
		})
	}()
	// The lines before the first part are ignored. They do not fit in the buffers of the connection, so the
	// import reads them.
	line := strings.Repeat("x", 1023) + "\n"
	if _, err := io.WriteString(sent, strings.Repeat(line, 32<<10)); err != nil {
		t.Fatal(err)
	}
	const file = "industry,country,base\nplumber,GB,50\n"
	p := d.Upload(t, map[string]string{"kind": "csv"}, "a.csv", file)
	if p.Status != http.StatusServiceUnavailable || p.Header.Get("Retry-After") == "" || !slices.Equal(p.Codes(), []string{"file"}) {
		t.Errorf("during another import: got status %d, codes %q: %s", p.Status, p.Codes(), p.Text())
	}
	const part = "--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n"
	fmt.Fprintf(sent, part+part+"--b--\r\n", "kind", "csv", "text", file)
	sent.Close()
	if p := <-slow; p.Status != http.StatusOK || !changes(p, "1", "0") {
		t.Errorf("the slow import: got status %d: %s", p.Status, p.Text())
	}
	if p := d.Upload(t, map[string]string{"kind": "csv"}, "a.csv", file); p.Status != http.StatusOK {
		t.Errorf("after it: got status %d: %s", p.Status, p.Text())
	}
}

// changes reports whether a preview shows the given numbers of price and rule changes.
func changes(p admintest.Response, prices, rules string) bool {
	return slices.Equal(p.Values("data-changes"), []string{prices}) && slices.Equal(p.Values("data-rules"), []string{rules})
}

// applicable reports whether a preview has a button to apply the changes.
func applicable(p admintest.Response) bool {
	return strings.Contains(p.Body, `name="apply" value="yes"`)
}

// A file is applied only after a preview of its changes.
func TestImport(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	content := "\ufeffindustry;country;urgency;base\r\nplumber;GB;any;61,50\r\narborist;GB;any;\r\nroofer;DE;urgent;70\r\n"
	seen := d.Upload(t, map[string]string{"kind": "yaml"}, "spring.csv", content)
	if seen.Status != http.StatusOK || !changes(seen, "2", "0") ||
		!strings.Contains(seen.Body, `name="name" value="spring.csv"`) || !applicable(seen) ||
		!strings.Contains(seen.Body, "61.50 GBP") || !strings.Contains(seen.Body, "70.00 EUR") || d.Base(t, "plumber") != 0 ||
		len(seen.Values("data-inherited")) != 2 {
		t.Fatalf("got status %d: %s", seen.Status, seen.Text())
	}
	apply := map[string]string{
		"kind":    "csv",
		"name":    "spring.csv",
		"apply":   "yes",
		"version": admintest.VersionAt(t, seen),
		"text":    strings.TrimPrefix(content, "\ufeff"),
	}
	if p := d.Upload(t, apply, "", ""); p.Location() != d.DraftURL || d.Base(t, "plumber") != 6150 {
		t.Fatalf("got status %d, base %d: %s", p.Status, d.Base(t, "plumber"), p.Text())
	}
	if p := d.Get(t, d.DraftURL); !strings.Contains(p.Body, lastEdit(t, d.Database)) || !strings.Contains(p.Body, "spring.csv") {
		t.Errorf("got page %s", p.Text())
	}
	// If the draft was changed after the preview, the page shows the conflict and a new preview.
	apply["text"] = "industry,country,base\nplumber,GB,55\n"
	if p := d.Upload(t, apply, "", ""); p.Status != http.StatusConflict || len(p.Values("data-conflict")) != 1 ||
		!strings.Contains(p.Body, "pricing_manager@example.com") || !strings.Contains(p.Body, "61.50 GBP") ||
		d.Base(t, "plumber") != 6150 {
		t.Errorf("stale form: got status %d: %s", p.Status, p.Text())
	}
	if p := d.Upload(t, map[string]string{"kind": "csv", "text": "industry,country,base\nplumber,GB,61.5\n"}, "", ""); !changes(p, "0", "0") || applicable(p) {
		t.Errorf("got status %d: %s", p.Status, p.Text())
	}
	inherited := d.Upload(t, map[string]string{"kind": "csv", "text": "industry,country,base\nplumber,GB,\n"}, "", "")
	if !changes(inherited, "1", "0") || len(inherited.Values("data-inherited")) != 1 ||
		!regexp.MustCompile(`61\.50 GBP.*\d\d\.\d\d GBP\s*<span class="under" data-inherited>`).MatchString(inherited.Body) {
		t.Errorf("removing a base price: %s", inherited.Text())
	}
	above := d.Upload(t, map[string]string{
		"kind": "csv", "text": "industry,country,base\nplumber,GB,500\nroofer,GB,200\n",
	}, "", "")
	if !changes(above, "2", "0") || !slices.Equal(above.Values("data-ceiling"), []string{"200.00 GBP"}) {
		t.Errorf("a base price above the ceiling: %s", above.Text())
	}
	card := d.Get(t, "/pricing/versions/1/export?format=yaml").Body +
		"  - industry: plumber\n    country: FR\n    base: {EUR: 81}\n"
	seen = d.Upload(t, map[string]string{"kind": "csv"}, "card.yml", card)
	if seen.Status != http.StatusOK || !changes(seen, "11", "3") ||
		!strings.Contains(seen.Body, `name="name" value="card.yml"`) || !strings.Contains(seen.Body, "plumber, FR, standard") {
		t.Fatalf("got status %d: %s", seen.Status, seen.Text())
	}
	if p := d.Upload(t, map[string]string{"kind": "yaml", "name": "card.yml", "apply": "yes", "version": admintest.VersionAt(t, seen), "text": card}, "", ""); p.Location() != d.DraftURL || d.Base(t, "plumber") != 0 {
		t.Errorf("got status %d, base %d: %s", p.Status, d.Base(t, "plumber"), p.Text())
	}
	d.CheckAuditLog(t)
}

// problems returns the problems that package pricingrules reports for a file.
func problems(d admintest.ConsoleWithDraft, kind, content string) (found pricingrules.Problems) {
	taxonomy, markets := d.Options.Prices.Taxonomy(), d.Options.Prices.Markets()
	var err error
	if kind == "yaml" {
		_, _, err = pricingrules.Load("prices.txt", []byte(content), taxonomy, markets)
	} else {
		_, err = pricingrules.ParseBases("prices.txt", []byte(content), taxonomy, markets)
	}
	errors.As(err, &found)
	return found
}

// A file with errors is rejected completely, and the page shows the line of each error.
func TestImportRejectsFiles(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	before := d.Count(t, "rate_card_edits", "true")
	for name, c := range map[string]struct {
		kind, content string
		field         string // the field with the error, or "" if the page lists the file's problems
	}{
		"empty file":           {"csv", "", "file"},
		"unknown kind":         {"xls", "a", "kind"},
		"unknown slug":         {"csv", "industry,country,base\nplumber,GB,50\nplumbr,GB,50\n", ""},
		"negative":             {"csv", "industry,country,base\nplumber,GB,-5\n", ""},
		"wrong currency":       {"csv", "industry,country,base,currency\nplumber,GB,50,EUR\n", ""},
		"unknown country":      {"csv", "industry,country,base\nplumber,ZZ,50\n", ""},
		"not UTF-8":            {"csv", "industry,country,base\nplumb\xe9r,GB,50\n", ""},
		"YAML with a gap":      {"yaml", "rules:\n  - industry: plumber\n    base: {GBP: 5}\n", ""},
		"YAML with a conflict": {"yaml", "rules:\n  - base: {GBP: 5}\n  - base: {GBP: 6}\n", ""},
		"not YAML":             {"yaml", "rules: [", ""},
		"hostile":              {"csv", admintest.HostileText, ""},
		"NUL":                  {"yaml", "rules:\n  - note: a\x00b\n", ""},
	} {
		for way, p := range map[string]admintest.Response{
			"a file": d.Upload(t, map[string]string{"kind": c.kind}, "prices.txt", c.content),
			"text":   d.Upload(t, map[string]string{"kind": c.kind, "text": c.content}, "", ""),
			"apply": d.Upload(t, map[string]string{
				"kind":    c.kind,
				"text":    c.content,
				"apply":   "yes",
				"version": "1",
			}, "", ""),
		} {
			if p.Status != http.StatusUnprocessableEntity || strings.Contains(p.Body, "<script>alert") {
				t.Errorf("%s as %s: got status %d: %s", name, way, p.Status, p.Text())
			}
			if c.field != "" {
				if !slices.Equal(p.Codes(), []string{c.field}) || !strings.Contains(p.Body, `href="#f-`+c.field+`"`) {
					t.Errorf("%s as %s: got codes %v: %s", name, way, p.Codes(), p.Text())
				}
				continue
			}
			found := problems(d, c.kind, c.content)
			if !slices.Equal(p.Values("data-errors"), []string{strconv.Itoa(len(found))}) || len(found) == 0 {
				t.Errorf("%s as %s: got %v problems, want %d: %s", name, way, p.Values("data-errors"), len(found), p.Text())
			}
			lines := p.Values("data-line")
			for i, problem := range found[:min(len(found), 50)] {
				if lines[i] != strconv.Itoa(problem.Line) || !strings.Contains(p.Body, html.EscapeString(problem.Message)) {
					t.Errorf("%s as %s: got line %s, want %v: %s", name, way, lines[i], problem, p.Text())
				}
			}
		}
	}
	large := "industry,country,base\n" + strings.Repeat("plumber,GB,50\n", pricingrules.MaxFile/14)
	for _, content := range []string{large, strings.Repeat("x", 50<<20)} {
		if p := d.Upload(t, map[string]string{"kind": "csv"}, "large.csv", content); p.Status != http.StatusRequestEntityTooLarge || !slices.Equal(p.Codes(), []string{"file"}) || len(p.Body) > 100_000 {
			t.Errorf("%d bytes: got status %d: %s", len(content), p.Status, p.Text())
		}
	}
	if now := d.Count(t, "rate_card_edits", "true"); now != before {
		t.Errorf("got %d edits, want 0", now-before)
	}
}
