package pricing_test

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// What is exported is read back; its taking is in the audit trail.
func TestExport(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	d.Cell(t, "plumber", "0", "61.5")
	bases := d.Get(t, d.DraftURL+"/export?format=csv&country=GB&category=home-services&q=plumb")
	if got := bases.Header.Get("Content-Disposition"); got != `attachment; filename="rate-card-draft-`+strings.TrimPrefix(d.DraftURL, "/pricing/drafts/")+`-GB-any.csv"` || bases.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%q, %q", got, bases.Header.Get("Content-Type"))
	}
	lines, err := csv.NewReader(strings.NewReader(bases.Body)).ReadAll()
	if err != nil || len(lines) < 3 || !strings.Contains(bases.Body, "home-services,plumber,GB,any,61.5,GBP") {
		t.Errorf("%v: %s", err, bases.Body)
	}
	card := d.Get(t, "/pricing/versions/1/export?format=yaml")
	if _, _, err := pricingrules.Load("card", []byte(card.Body), d.Options.Prices.Taxonomy(), d.Options.Prices.Markets()); err != nil || card.Header.Get("Content-Disposition") != `attachment; filename="rate-card-v1.yaml"` {
		t.Errorf("%v, %q", err, card.Header.Get("Content-Disposition"))
	}
	if n := d.Count(t, "audit_events", `action = 'pricing.export' AND object_kind = 'rate_card'`); n != 2 {
		t.Errorf("%d exports are in the audit trail", n)
	}
	for path, status := range map[string]int{
		d.DraftURL + "/export": http.StatusBadRequest, d.DraftURL + "/export?format=xls": http.StatusBadRequest, "/pricing/versions/2/export?format=csv": http.StatusNotFound, "/pricing/versions/x/export?format=csv": http.StatusNotFound,
	} {
		if p := d.Get(t, path); p.Status != status {
			t.Errorf("%s: %d", path, p.Status)
		}
	}
	if p := d.Get(t, d.DraftURL+"/export?format=csv&country="+url.QueryEscape("\"\r\nX: y")); strings.Contains(p.Header.Get("Content-Disposition"), "X: y") || p.Header.Get("X") != "" {
		t.Errorf("%q", p.Header.Get("Content-Disposition"))
	}
	d.CheckAuditTrail(t)
}

// A file changes nothing before its differences were shown, and then all of them.
func TestImport(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	content := "\ufeffindustry;country;urgency;base\r\nplumber;GB;any;61,50\r\narborist;GB;any;\r\nroofer;DE;urgent;70\r\n"
	seen := d.Upload(t, map[string]string{"kind": "yaml"}, "spring.csv", content)
	if seen.Status != http.StatusOK || !strings.Contains(seen.Body, "With spring.csv, 2 bases would change") || !strings.Contains(seen.Body, "Apply 2 changes") || !strings.Contains(seen.Body, "61.50 GBP") || !strings.Contains(seen.Body, "70.00 EUR") || d.Base(t, "plumber") != 0 {
		t.Fatalf("%d %s", seen.Status, seen.Text())
	}
	apply := map[string]string{"kind": "csv", "name": "spring.csv", "apply": "yes", "version": admintest.VersionAt(t, seen), "text": strings.TrimPrefix(content, "\ufeff")}
	if p := d.Upload(t, apply, "", ""); p.Location() != d.DraftURL || d.Base(t, "plumber") != 6150 {
		t.Fatalf("%d, base %d: %s", p.Status, d.Base(t, "plumber"), p.Text())
	}
	if p := d.Get(t, d.DraftURL); !strings.Contains(p.Body, "Undo: Imported the bases of spring.csv") {
		t.Errorf("%s", p.Text())
	}
	// The draft has changed since: what would change now is shown, with whose change it was.
	apply["text"] = "industry,country,base\nplumber,GB,55\n"
	if p := d.Upload(t, apply, "", ""); p.Status != http.StatusConflict || !strings.Contains(p.Body, "pricing_manager@example.com") || !strings.Contains(p.Body, "61.50 GBP") || d.Base(t, "plumber") != 6150 {
		t.Errorf("stale: %d %s", p.Status, p.Text())
	}
	if p := d.Upload(t, map[string]string{"kind": "csv", "text": "industry,country,base\nplumber,GB,61.5\n"}, "", ""); !strings.Contains(p.Body, "nothing would change") || strings.Contains(p.Body, "Apply") {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	card := d.Get(t, "/pricing/versions/1/export?format=yaml").Body + "  - industry: plumber\n    country: FR\n    base: {EUR: 81}\n"
	seen = d.Upload(t, map[string]string{"kind": "csv"}, "card.yml", card)
	if seen.Status != http.StatusOK || !strings.Contains(seen.Body, "With card.yml, 11 prices would change; 3 rules would be new, different or gone.") || !strings.Contains(seen.Body, "plumber, FR, standard") {
		t.Fatalf("%d %s", seen.Status, seen.Text())
	}
	if p := d.Upload(t, map[string]string{"kind": "yaml", "name": "card.yml", "apply": "yes", "version": admintest.VersionAt(t, seen), "text": card}, "", ""); p.Location() != d.DraftURL || d.Base(t, "plumber") != 0 {
		t.Errorf("%d, base %d: %s", p.Status, d.Base(t, "plumber"), p.Text())
	}
	d.CheckAuditTrail(t)
}

// A file that is wrong is told line by line, and nothing of it is taken.
func TestImportMistakes(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	before := d.Count(t, "rate_card_edits", "true")
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
		"hostile":           {"csv", admintest.HostileText, "Nothing was read", 422},
		"NUL":               {"yaml", "rules:\n  - note: a\x00b\n", "Nothing was read", 422},
	} {
		for way, p := range map[string]admintest.Response{
			"a file": d.Upload(t, map[string]string{"kind": c.kind}, "prices.txt", c.content),
			"text":   d.Upload(t, map[string]string{"kind": c.kind, "text": c.content}, "", ""),
			"apply":  d.Upload(t, map[string]string{"kind": c.kind, "text": c.content, "apply": "yes", "version": "1"}, "", ""),
		} {
			if p.Status != c.status || !strings.Contains(p.Body, c.want) || strings.Contains(p.Body, "<script>alert") {
				t.Errorf("%s as %s: %d %s", name, way, p.Status, p.Text())
			}
		}
	}
	large := "industry,country,base\n" + strings.Repeat("plumber,GB,50\n", pricingrules.MaxFile/14)
	for _, content := range []string{large, strings.Repeat("x", 50<<20)} {
		if p := d.Upload(t, map[string]string{"kind": "csv"}, "large.csv", content); p.Status != http.StatusRequestEntityTooLarge || !strings.Contains(p.Body, "more than 5 MB") || len(p.Body) > 100_000 {
			t.Errorf("%d bytes: %d %s", len(content), p.Status, p.Text())
		}
	}
	if now := d.Count(t, "rate_card_edits", "true"); now != before {
		t.Errorf("%d edits were made", now-before)
	}
}
