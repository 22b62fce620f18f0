package admin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	pricingpages "github.com/pingpost/pingpost/admin/pricing"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// rule is the form of a rule for plumbers, on the draft as it is, with other fields.
func (d *desk) rule(t testing.TB, more ...string) url.Values {
	t.Helper()
	f := url.Values{"version": {versionAt(t, d.get(t, d.url+"/rules/new"))}, "industry": {"plumber"}, "country": {"GB"}, "base-GBP": {"58"}, "note": {"Scarce in spring"}}
	for i := 0; i+1 < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	return f
}

// A rule is added, changed and taken out, each on the version that was seen.
func TestRules(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rule := func(more ...string) url.Values { return d.rule(t, more...) }
	if p := d.post(t, d.url+"/rules/new", rule()); p.location() != d.url+"?tab=rules" || d.base(t, "plumber") != 5800 {
		t.Fatalf("%d, base %d: %s", p.status, d.base(t, "plumber"), p.text())
	}
	list := d.get(t, d.url+"?tab=rules&q=scarce")
	if !strings.Contains(list.body, "industry plumber, country GB") || !strings.Contains(list.body, "base 58.00 GBP") || !strings.Contains(list.body, ">1 rule<") {
		t.Fatalf("%s", list.text())
	}
	at := d.url + "/rules/" + fmt.Sprint(testkit.Value[int](t, d.Database, `SELECT position FROM pricing_rules WHERE note = 'Scarce in spring'`))
	if p := d.get(t, at); !strings.Contains(p.body, `value="58.00"`) || !strings.Contains(p.body, `<option value="plumber" selected>`) || !strings.Contains(p.body, at+"/remove") {
		t.Errorf("%s", p.text())
	}
	if p := d.post(t, at, rule("base-GBP", "59", "multiplier", "1.25", "exclude", "no")); p.status != http.StatusSeeOther || d.base(t, "plumber") != 5900 {
		t.Errorf("%d, base %d: %s", p.status, d.base(t, "plumber"), p.text())
	}
	if p := d.post(t, at, rule("version", "1", "base-GBP", "77")); p.status != http.StatusConflict || !strings.Contains(p.body, "Changed the rule for industry plumber") || !strings.Contains(p.body, `value="77"`) || d.base(t, "plumber") != 5900 {
		t.Errorf("stale: %d %s", p.status, p.text())
	}
	if p := d.post(t, at+"/remove", url.Values{"version": {"1"}}); p.status != http.StatusConflict {
		t.Errorf("taken out unseen: %d", p.status)
	}
	if p := d.post(t, at+"/remove", url.Values{"version": {versionAt(t, d.get(t, at))}}); p.status != http.StatusSeeOther || d.base(t, "plumber") != 0 {
		t.Errorf("%d, base %d", p.status, d.base(t, "plumber"))
	}
	for _, gone := range []string{at, d.url + "/rules/0", d.url + "/rules/x", d.url + "/rules/99999999999999999999"} {
		if p := d.get(t, gone); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", gone, p.status)
		}
		if p := d.post(t, gone, rule()); p.status != http.StatusNotFound {
			t.Errorf("sent to %s: %d", gone, p.status)
		}
	}
	d.intact(t)
}

// A rule that cannot be is refused beside its field.
func TestRuleMistakes(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if p := d.post(t, d.url+"/rules/new", d.rule(t)); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if p := d.post(t, d.url+"/rules/new", d.rule(t)); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "set twice for industry plumber") {
		t.Errorf("a second one: %d %s", p.status, p.text())
	}
	for field, text := range map[string]string{"base-GBP": "-1", "floor-EUR": "5 GBP", "ceiling-USD": "1,5", "multiplier": "much", "note": "a\x00b"} {
		if p := d.post(t, d.url+"/rules/new", d.rule(t, field, text)); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `id="f-`+field+`-error"`) {
			t.Errorf("%s %q: %d %s", field, text, p.status, p.text())
		}
	}
	for field, text := range map[string]string{"industry": "zebra", "category": "home-services", "country": "ZZ", "urgency": "soon", "note": strings.Repeat("x", 500)} {
		if p := d.post(t, d.url+"/rules/new", d.rule(t, field, text)); p.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %.20q: %d %s", field, text, p.status, p.text())
		}
	}
	if p := d.post(t, d.url+"/rules/new", url.Values{"version": {versionAt(t, d.get(t, d.url+"/rules/new"))}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "sets nothing") {
		t.Errorf("an empty one: %d %s", p.status, p.text())
	}
}

// A rule that makes cells wrong is marked in the list; pages follow one another.
func TestRulesList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	f := url.Values{"version": {"1"}, "industry": {"plumber"}, "country": {"GB"}, "floor-GBP": {"900"}}
	if p := d.post(t, d.url+"/rules/new", f); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	wrong := d.get(t, d.url+"?tab=rules&only=wrong")
	if !strings.Contains(wrong.body, "industry plumber, country GB") || strings.Count(wrong.body, `class="main"`) != 1 || !strings.Contains(wrong.body, "floor") {
		t.Errorf("%s", wrong.text())
	}
	first := d.get(t, d.url+"?tab=rules")
	second := d.get(t, d.url+"?tab=rules&older=100")
	back := d.get(t, d.url+"?tab=rules&newer=101")
	if strings.Count(first.body, `class="main"`) != pricingpages.RulesPage || !strings.Contains(first.body, "older=100") || strings.Contains(first.body, "newer=") || !strings.Contains(second.body, "newer=101") || !strings.Contains(back.body, "older=100") {
		t.Errorf("%d rules: %s", strings.Count(first.body, `class="main"`), first.text())
	}
	d.cell(t, "plumber", "0", "61.5")
	if p := d.get(t, d.url+"?q=plumber"); !strings.Contains(p.body, "no price") {
		t.Errorf("a gap is not shown: %s", p.text())
	}
}

// Whoever may only look sees a draft without its forms.
func TestPricingRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	b := d.as(t, models.Auditor)
	for _, path := range []string{"/pricing", d.url, d.url + "?tab=rules", d.url + "?tab=edits"} {
		p := b.get(t, path)
		if p.status != http.StatusOK || strings.Contains(p.body, `name="base"`) || strings.Contains(p.body, "/rules/") || strings.Contains(p.body, "/import") || strings.Contains(p.body, "/drafts/new") {
			t.Errorf("%s: %d %s", path, p.status, p.text())
		}
	}
	if p := b.get(t, d.url); !strings.Contains(p.body, "look at this draft, not change it") {
		t.Errorf("%s", p.text())
	}
	if p := b.get(t, d.url+"/export?format=yaml"); p.status != http.StatusOK {
		t.Errorf("%d", p.status)
	}
}

// A draft that waits for somebody's word does not change meanwhile.
func TestSubmittedDraft(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.cell(t, "plumber", "0", "61.5")
	d.Exec(t, `UPDATE rate_cards SET state = 'submitted', submitter = 'x', row_version = row_version + 1 WHERE id = $1`, d.draft.ID)
	if p := d.get(t, d.url); !strings.Contains(p.body, "waits for approval, and does not change") || strings.Contains(p.body, `name="base"`) {
		t.Errorf("%s", p.text())
	}
	if p := d.cell(t, "plumber", "6150", "70"); p.status != http.StatusConflict || !strings.Contains(p.body, "waits for approval: take it back") || d.base(t, "plumber") != 6150 {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := d.upload(t, map[string]string{"kind": "csv", "apply": "yes", "version": "3", "text": "industry,country,base\nplumber,GB,70\n"}, "", ""); p.status != http.StatusConflict || d.base(t, "plumber") != 6150 {
		t.Errorf("%d %s", p.status, p.text())
	}
}

// Every form about drafts, with what no form of ours sends, as who may send it.
func TestBadPricingForms(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.cell(t, "plumber", "0", "61.5")
	state := func() string {
		return testkit.Value[string](t, d.Database, `SELECT md5(string_agg(x::text, '' ORDER BY x::text)) FROM (SELECT c::text FROM rate_cards c UNION ALL
			SELECT r::text FROM pricing_rules r UNION ALL SELECT e::text FROM rate_card_edits e) AS all_of_it(x)`)
	}
	fields := []string{
		"title", "from", "version", "name", "industry", "category", "country", "urgency", "was", "base", "mode", "lines", "by", "amount", "apply", "edit", "part",
		"base-GBP", "floor-EUR", "ceiling-AUD", "multiplier", "exclude", "note", "kind", "text", "file", "days", "at",
	}
	everywhere := func(value string) string {
		form := url.Values{}
		for _, name := range fields {
			form.Set(name, value)
		}
		return form.Encode()
	}
	before := state()
	for name, body := range map[string]string{
		"nothing": "", "empty fields": everywhere(""), "long fields": everywhere(strings.Repeat("x", 3_000)), "hostile": everywhere(hostile), "NUL": everywhere("a\x00b"),
		"no UTF-8":    "title=%ff&note=%c3%28&industry=%ff&category=&base=%ff&was=0&amount=%ff&by=set&mode=bulk&lines=%ff&version=2&multiplier=%ff&kind=csv&text=%ff&name=%ff",
		"bad escapes": "title=%zz&industry=%", "a megabyte": "title=x&industry=plumber&was=0&base=" + strings.Repeat("x", 1<<20), "another kind": `{"title":"x"}`,
		"a huge version": "version=99999999999999999999&title=x&name=discard&base-GBP=5&industry=roofer&mode=bulk&by=set&amount=5&apply=yes&edit=99999999999999999999&kind=csv&text=x",
	} {
		for _, r := range d.routes("/pricing") {
			if r.Method != http.MethodPost || r.Path == "/pricing/drafts/new" && (name == "nothing" || name == "empty fields" || name == "another kind" || name == "a huge version") {
				continue // a draft needs no title
			}
			if (strings.HasSuffix(r.Path, "/remove") || strings.HasSuffix(r.Path, "/update")) && name == "no UTF-8" {
				continue // take a version alone, and this is the right one
			}
			path := strings.NewReplacer("{id}", id.Format(id.RateCard, d.draft.ID), "{position}", "1").Replace(r.Path)
			p := d.send(t, http.MethodPost, path, strings.NewReader(keyed(body)), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			switch p.status {
			case http.StatusBadRequest, http.StatusConflict, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			default:
				t.Errorf("%s: %s: %d %.200s", name, r.Path, p.status, p.text())
			}
			if strings.Contains(p.body, "<script>alert") || strings.Contains(p.body, "onerror=alert(1)>") && !strings.Contains(p.body, "onerror=alert(1)&gt;") {
				t.Errorf("%s: %s repeats markup as it came", name, r.Path)
			}
			if now := state(); now != before {
				t.Fatalf("%s: %s changed something", name, r.Path)
			}
		}
	}
	d.intact(t)
}
