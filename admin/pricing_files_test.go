package admin

import (
	"bytes"
	"encoding/csv"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// upload sends a form of several parts, with a file where name is not empty.
func (d *desk) upload(t testing.TB, fields map[string]string, name, content string) page {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, value := range fields {
		if err := w.WriteField(field, value); err != nil {
			t.Fatal(err)
		}
	}
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return d.send(t, http.MethodPost, d.url+"/import", &body, http.Header{"Content-Type": {w.FormDataContentType()}, "Origin": {d.house.url}})
}

// What is exported is read back; its taking is in the audit trail.
func TestExport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.cell(t, "plumber", "0", "61.5")
	bases := d.get(t, d.url+"/export?format=csv&country=GB&category=home-services&q=plumb")
	if got := bases.header.Get("Content-Disposition"); got != `attachment; filename="rate-card-draft-`+strings.TrimPrefix(d.url, "/pricing/drafts/")+`-GB-any.csv"` || bases.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%q, %q", got, bases.header.Get("Content-Type"))
	}
	lines, err := csv.NewReader(strings.NewReader(bases.body)).ReadAll()
	if err != nil || len(lines) < 3 || !strings.Contains(bases.body, "home-services,plumber,GB,any,61.5,GBP") {
		t.Errorf("%v: %s", err, bases.body)
	}
	card := d.get(t, "/pricing/versions/1/export?format=yaml")
	if _, _, err := pricingrules.Load("card", []byte(card.body), d.options.Prices.Taxonomy(), d.options.Prices.Markets()); err != nil || card.header.Get("Content-Disposition") != `attachment; filename="rate-card-v1.yaml"` {
		t.Errorf("%v, %q", err, card.header.Get("Content-Disposition"))
	}
	if n := d.count(t, "audit_events", `action = 'pricing.export' AND object_kind = 'rate_card'`); n != 2 {
		t.Errorf("%d exports are in the audit trail", n)
	}
	for path, status := range map[string]int{
		d.url + "/export": http.StatusBadRequest, d.url + "/export?format=xls": http.StatusBadRequest, "/pricing/versions/2/export?format=csv": http.StatusNotFound, "/pricing/versions/x/export?format=csv": http.StatusNotFound,
	} {
		if p := d.get(t, path); p.status != status {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	if p := d.get(t, d.url+"/export?format=csv&country="+url.QueryEscape("\"\r\nX: y")); strings.Contains(p.header.Get("Content-Disposition"), "X: y") || p.header.Get("X") != "" {
		t.Errorf("%q", p.header.Get("Content-Disposition"))
	}
	d.intact(t)
}

// A file changes nothing before its differences were shown, and then all of them.
func TestImport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	content := "\ufeffindustry;country;urgency;base\r\nplumber;GB;any;61,50\r\narborist;GB;any;\r\nroofer;DE;urgent;70\r\n"
	seen := d.upload(t, map[string]string{"kind": "yaml"}, "spring.csv", content)
	if seen.status != http.StatusOK || !strings.Contains(seen.body, "With spring.csv, 2 bases would change") || !strings.Contains(seen.body, "Apply 2 changes") || !strings.Contains(seen.body, "61.50 GBP") || !strings.Contains(seen.body, "70.00 EUR") || d.base(t, "plumber") != 0 {
		t.Fatalf("%d %s", seen.status, seen.text())
	}
	apply := map[string]string{"kind": "csv", "name": "spring.csv", "apply": "yes", "version": versionAt(t, seen), "text": strings.TrimPrefix(content, "\ufeff")}
	if p := d.upload(t, apply, "", ""); p.location() != d.url || d.base(t, "plumber") != 6150 {
		t.Fatalf("%d, base %d: %s", p.status, d.base(t, "plumber"), p.text())
	}
	if p := d.get(t, d.url); !strings.Contains(p.body, "Undo: Imported the bases of spring.csv") {
		t.Errorf("%s", p.text())
	}
	// The draft has changed since: what would change now is shown, with whose change it was.
	apply["text"] = "industry,country,base\nplumber,GB,55\n"
	if p := d.upload(t, apply, "", ""); p.status != http.StatusConflict || !strings.Contains(p.body, "pricing_manager@example.com") || !strings.Contains(p.body, "61.50 GBP") || d.base(t, "plumber") != 6150 {
		t.Errorf("stale: %d %s", p.status, p.text())
	}
	if p := d.upload(t, map[string]string{"kind": "csv", "text": "industry,country,base\nplumber,GB,61.5\n"}, "", ""); !strings.Contains(p.body, "nothing would change") || strings.Contains(p.body, "Apply") {
		t.Errorf("%d %s", p.status, p.text())
	}
	card := d.get(t, "/pricing/versions/1/export?format=yaml").body + "  - industry: plumber\n    country: FR\n    base: {EUR: 81}\n"
	seen = d.upload(t, map[string]string{"kind": "csv"}, "card.yml", card)
	if seen.status != http.StatusOK || !strings.Contains(seen.body, "With card.yml, 11 prices would change; 3 rules would be new, different or gone.") || !strings.Contains(seen.body, "plumber, FR, standard") {
		t.Fatalf("%d %s", seen.status, seen.text())
	}
	if p := d.upload(t, map[string]string{"kind": "yaml", "name": "card.yml", "apply": "yes", "version": versionAt(t, seen), "text": card}, "", ""); p.location() != d.url || d.base(t, "plumber") != 0 {
		t.Errorf("%d, base %d: %s", p.status, d.base(t, "plumber"), p.text())
	}
	d.intact(t)
}

// A file that is wrong is told line by line, and nothing of it is taken.
func TestImportMistakes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	before := d.count(t, "rate_card_edits", "true")
	for name, c := range map[string]struct {
		kind, content, want string
		status              int
	}{
		"nothing":           {"csv", "", "Choose a file", 422},
		"no kind":           {"xls", "a", "Choose what the file holds", 422},
		"a slug":            {"csv", "industry,country,base\nplumber,GB,50\nplumbr,GB,50\n", "Line 3: column industry: &#34;plumbr&#34; is not in the taxonomy", 422},
		"negative":          {"csv", "industry,country,base\nplumber,GB,-5\n", "Line 2: column base", 422},
		"another currency":  {"csv", "industry,country,base,currency\nplumber,GB,50,EUR\n", "Line 2: column currency: GB is priced in GBP", 422},
		"a country":         {"csv", "industry,country,base\nplumber,ZZ,50\n", "Line 2: column country", 422},
		"not UTF-8":         {"csv", "industry,country,base\nplumb\xe9r,GB,50\n", "not UTF-8", 422},
		"YAML with a gap":   {"yaml", "rules:\n  - industry: plumber\n    base: {GBP: 5}\n", "Nothing was read", 422},
		"YAML that clashes": {"yaml", "rules:\n  - base: {GBP: 5}\n  - base: {GBP: 6}\n", "Line 3: ", 422},
		"no YAML":           {"yaml", "rules: [", "Nothing was read", 422},
		"hostile":           {"csv", hostile, "Nothing was read", 422},
		"NUL":               {"yaml", "rules:\n  - note: a\x00b\n", "Nothing was read", 422},
	} {
		for way, p := range map[string]page{
			"a file": d.upload(t, map[string]string{"kind": c.kind}, "prices.txt", c.content),
			"text":   d.upload(t, map[string]string{"kind": c.kind, "text": c.content}, "", ""),
			"apply":  d.upload(t, map[string]string{"kind": c.kind, "text": c.content, "apply": "yes", "version": "1"}, "", ""),
		} {
			if p.status != c.status || !strings.Contains(p.body, c.want) || strings.Contains(p.body, "<script>alert") {
				t.Errorf("%s as %s: %d %s", name, way, p.status, p.text())
			}
		}
	}
	large := "industry,country,base\n" + strings.Repeat("plumber,GB,50\n", pricingrules.MaxFile/14)
	for _, content := range []string{large, strings.Repeat("x", 50<<20)} {
		if p := d.upload(t, map[string]string{"kind": "csv"}, "large.csv", content); p.status != http.StatusRequestEntityTooLarge || !strings.Contains(p.body, "more than 5 MB") || len(p.body) > 100_000 {
			t.Errorf("%d bytes: %d %s", len(content), p.status, p.text())
		}
	}
	if now := d.count(t, "rate_card_edits", "true"); now != before {
		t.Errorf("%d edits were made", now-before)
	}
}
