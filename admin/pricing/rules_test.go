package pricing_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	pricingpages "github.com/pingpost/pingpost/admin/pricing"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

// A rule can be added, changed and removed, but not with a stale form.
func TestRules(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	rule := func(more ...string) url.Values { return d.Rule(t, more...) }
	d.Post(t, d.DraftURL+"/rules/new", rule()).ExpectRedirect(t, d.DraftURL+"?tab=rules")
	if base := d.Base(t, "plumber"); base != 5800 {
		t.Fatalf("got base %d, want 5800", base)
	}
	list := d.Get(t, d.DraftURL+"?tab=rules&q=scarce")
	if !strings.Contains(list.Body, "industry: plumber, country: GB") ||
		!strings.Contains(list.Body, "58.00 GBP") || strings.Count(list.Body, `class="main"`) != 1 {
		t.Fatalf("got rules %s", list.Text())
	}
	at := d.DraftURL + "/rules/" + fmt.Sprint(testkit.Value[int](t, d.Database,
		`SELECT position FROM pricing_rules WHERE note = 'Scarce in spring'`))
	if p := d.Get(t, at); !strings.Contains(p.Body, `value="58.00"`) ||
		!strings.Contains(p.Body, `<option value="plumber" selected>`) || !strings.Contains(p.Body, at+"/remove") {
		t.Errorf("got page %s", p.Text())
	}
	if p := d.Post(t, at, rule("base-GBP", "59", "multiplier", "1.25", "exclude", "no")); p.Status != http.StatusSeeOther || d.Base(t, "plumber") != 5900 {
		t.Errorf("got status %d, base %d: %s", p.Status, d.Base(t, "plumber"), p.Text())
	}
	if p := d.Post(t, at, rule("version", "1", "base-GBP", "77")); p.Status != http.StatusConflict ||
		len(p.Values("data-conflict")) != 1 || !strings.Contains(p.Body, lastEdit(t, d.Database)) ||
		!strings.Contains(p.Body, `value="77"`) || d.Base(t, "plumber") != 5900 {
		t.Errorf("stale form: got status %d: %s", p.Status, p.Text())
	}
	if p := d.Post(t, at+"/remove", url.Values{"version": {"1"}}); p.Status != http.StatusConflict {
		t.Errorf("removing with a stale form: got status %d", p.Status)
	}
	if p := d.Post(t, at+"/remove", url.Values{"version": {admintest.VersionAt(t, d.Get(t, at))}}); p.Status != http.StatusSeeOther || d.Base(t, "plumber") != 0 {
		t.Errorf("got status %d, base %d", p.Status, d.Base(t, "plumber"))
	}
	for _, gone := range []string{at, d.DraftURL + "/rules/0", d.DraftURL + "/rules/x",
		d.DraftURL + "/rules/99999999999999999999"} {
		if p := d.Get(t, gone); p.Status != http.StatusNotFound {
			t.Errorf("GET %s: got status %d", gone, p.Status)
		}
		if p := d.Post(t, gone, rule()); p.Status != http.StatusNotFound {
			t.Errorf("POST %s: got status %d", gone, p.Status)
		}
	}
	d.CheckAuditLog(t)
}

// A rule that is not valid is rejected, with an error at its field.
func TestRuleFormRejectsRules(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	d.Post(t, d.DraftURL+"/rules/new", d.Rule(t)).ExpectRedirect(t, d.DraftURL+"?tab=rules")
	if p := d.Post(t, d.DraftURL+"/rules/new", d.Rule(t)); p.Status != http.StatusUnprocessableEntity ||
		!slices.Equal(p.Codes(), []string{"rules"}) || !strings.Contains(p.Body, "industry: plumber, country: GB") {
		t.Errorf("duplicate rule: got status %d: %s", p.Status, p.Text())
	}
	for field, text := range map[string]string{
		"base-GBP":    "-1",
		"floor-EUR":   "5 GBP",
		"ceiling-USD": "1,5",
		"multiplier":  "much",
		"note":        "a\x00b",
	} {
		if p := d.Post(t, d.DraftURL+"/rules/new", d.Rule(t, field, text)); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `id="f-`+field+`-error"`) {
			t.Errorf("%s %q: got status %d: %s", field, text, p.Status, p.Text())
		}
	}
	for field, text := range map[string]string{
		"industry": "zebra",
		"category": "home-services",
		"country":  "ZZ",
		"urgency":  "soon",
		"note":     strings.Repeat("x", 500),
	} {
		if p := d.Post(t, d.DraftURL+"/rules/new", d.Rule(t, field, text)); p.Status != http.StatusUnprocessableEntity {
			t.Errorf("%s %.20q: got status %d: %s", field, text, p.Status, p.Text())
		}
	}
	if p := d.Post(t, d.DraftURL+"/rules/new", url.Values{"version": {admintest.VersionAt(t, d.Get(t, d.DraftURL+"/rules/new"))}}); p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{"rules"}) {
		t.Errorf("empty rule: got status %d: %s", p.Status, p.Text())
	}
}

// The list shows the problems of rules and is paged.
func TestRulesList(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	f := url.Values{"version": {"1"}, "industry": {"plumber"}, "country": {"GB"}, "floor-GBP": {"900"}}
	d.Post(t, d.DraftURL+"/rules/new", f).ExpectRedirect(t, d.DraftURL+"?tab=rules")
	wrong := d.Get(t, d.DraftURL+"?tab=rules&only=wrong")
	if !strings.Contains(wrong.Body, "industry: plumber, country: GB") ||
		strings.Count(wrong.Body, `class="main"`) != 1 || len(wrong.Values("data-problem")) == 0 {
		t.Errorf("got rules with problems %s", wrong.Text())
	}
	first := d.Get(t, d.DraftURL+"?tab=rules")
	second := d.Get(t, d.DraftURL+"?tab=rules&after=100")
	back := d.Get(t, d.DraftURL+"?tab=rules&before=101")
	if strings.Count(first.Body, `class="main"`) != pricingpages.RulesPage ||
		!strings.Contains(first.Body, "after=100") || strings.Contains(first.Body, "before=") ||
		!strings.Contains(second.Body, "before=101") || !strings.Contains(back.Body, "after=100") {
		t.Errorf("got %d rules: %s", strings.Count(first.Body, `class="main"`), first.Text())
	}
	d.Cell(t, "plumber", "0", "61.5")
	if p := d.Get(t, d.DraftURL+"?q=plumber"); !slices.Contains(p.Values("data-state"), "no_price") {
		t.Errorf("got a grid without the gap: %s", p.Text())
	}
}

// Users who cannot change prices see a draft without forms.
func TestPricingIsReadOnlyForAuditors(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	b := d.SignedInAs(t, models.Auditor)
	for _, path := range []string{"/pricing", d.DraftURL, d.DraftURL + "?tab=rules", d.DraftURL + "?tab=edits"} {
		p := b.Get(t, path)
		if p.Status != http.StatusOK || strings.Contains(p.Body, `name="base"`) ||
			strings.Contains(p.Body, "/rules/") || strings.Contains(p.Body, "/import") ||
			strings.Contains(p.Body, "/drafts/new") {
			t.Errorf("%s: got status %d: %s", path, p.Status, p.Text())
		}
	}
	if p := b.Get(t, d.DraftURL); p.State() != "draft" || !slices.Contains(p.Values("data-notice"), "info") {
		t.Errorf("got page %s", p.Text())
	}
	if p := b.Get(t, d.DraftURL+"/export?format=yaml"); p.Status != http.StatusOK {
		t.Errorf("export: got status %d", p.Status)
	}
}

// A submitted draft cannot be changed.
func TestSubmittedDraftIsLocked(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	d.Cell(t, "plumber", "0", "61.5")
	d.Exec(t,
		`UPDATE rate_cards SET state = 'submitted', submitter = 'x', row_version = row_version + 1 WHERE id = $1`,
		d.Draft.ID)
	if p := d.Get(t, d.DraftURL); p.State() != "submitted" || !slices.Contains(p.Values("data-notice"), "info") ||
		strings.Contains(p.Body, `name="base"`) {
		t.Errorf("got page %s", p.Text())
	}
	if p := d.Cell(t, "plumber", "6150", "70"); p.Status != http.StatusConflict ||
		!slices.Equal(p.Codes(), []string{"state"}) || d.Base(t, "plumber") != 6150 {
		t.Errorf("got status %d: %s", p.Status, p.Text())
	}
	if p := d.Upload(t, map[string]string{"kind": "csv", "apply": "yes", "version": "3", "text": "industry,country,base\nplumber,GB,70\n"}, "", ""); p.Status != http.StatusConflict || d.Base(t, "plumber") != 6150 {
		t.Errorf("got status %d: %s", p.Status, p.Text())
	}
}

// Pricing forms reject requests that the console never sends, even if the user has the permission.
func TestPricingFormsRejectBadRequests(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	d.Cell(t, "plumber", "0", "61.5")
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
		"no body":        "",
		"empty fields":   everywhere(""),
		"long fields":    everywhere(strings.Repeat("x", 3_000)),
		"hostile":        everywhere(admintest.HostileText),
		"NUL":            everywhere("a\x00b"),
		"not UTF-8":      "title=%ff&note=%c3%28&industry=%ff&category=&base=%ff&was=0&amount=%ff&by=set&mode=bulk&lines=%ff&version=2&multiplier=%ff&kind=csv&text=%ff&name=%ff",
		"bad escapes":    "title=%zz&industry=%",
		"a megabyte":     "title=x&industry=plumber&was=0&base=" + strings.Repeat("x", 1<<20),
		"JSON":           `{"title":"x"}`,
		"a huge version": "version=99999999999999999999&title=x&name=discard&base-GBP=5&industry=roofer&mode=bulk&by=set&amount=5&apply=yes&edit=99999999999999999999&kind=csv&text=x",
	} {
		for _, r := range d.Routes("/pricing") {
			if r.Method != http.MethodPost ||
				r.Path == "/pricing/drafts/new" &&
					(name == "no body" || name == "empty fields" || name == "JSON" || name == "a huge version") {
				continue // the title is optional, so these requests create a draft
			}
			if (strings.HasSuffix(r.Path, "/remove") || strings.HasSuffix(r.Path, "/update")) && name == "not UTF-8" {
				continue // these forms use only the version, which is valid here
			}
			path := strings.NewReplacer("{id}", id.Format(id.RateCard, d.Draft.ID), "{position}", "1").Replace(r.Path)
			p := d.Send(t, http.MethodPost, path, strings.NewReader(admintest.WithFormKeyBefore(body)),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			switch p.Status {
			case http.StatusBadRequest, http.StatusConflict, http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
			default:
				t.Errorf("%s: %s: got status %d: %.200s", name, r.Path, p.Status, p.Text())
			}
			if strings.Contains(p.Body, "<script>alert") ||
				strings.Contains(p.Body, "onerror=alert(1)>") && !strings.Contains(p.Body, "onerror=alert(1)&gt;") {
				t.Errorf("%s: %s: got unescaped markup", name, r.Path)
			}
			if now := state(); now != before {
				t.Fatalf("%s: %s changed the database", name, r.Path)
			}
		}
	}
	d.CheckAuditLog(t)
}

// A rejected form keeps its original version, so that submitting it again does not overwrite another user's
// change.
func TestRejectedFormKeepsVersion(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	d.AddStaff(t, "colleague@example.com", models.StaffRole{Role: models.PricingManager})
	d.Reload(t)
	colleague := d.Console.NewClient(t)
	colleague.SignIn(t, "colleague@example.com")
	d.Post(t, d.DraftURL+"/rules/new", d.Rule(t)).ExpectRedirect(t, d.DraftURL+"?tab=rules")
	rule := d.DraftURL + "/rules/" + fmt.Sprint(testkit.Value[int](t, d.Database,
		`SELECT position FROM pricing_rules WHERE note = 'Scarce in spring'`))
	for _, input := range []struct {
		name, form, field, mine, theirs, mistake string
		now                                      func(testing.TB) string
	}{
		{"rule", rule, "base-GBP", "77", "66", "-1", func(t testing.TB) string {
			return fmt.Sprint(d.Base(t, "plumber"))
		}},
		{"title", d.DraftURL + "/title", "title", "Mine", "Theirs", "a\x00b", func(t testing.TB) string {
			return testkit.Value[string](t, d.Database, `SELECT title FROM rate_cards WHERE id = $1`, d.Draft.ID)
		}},
	} {
		t.Run(input.name, func(t *testing.T) {
			form := func(version, value string) url.Values {
				f := d.Rule(t, "version", version)
				f.Set(input.field, value)
				return f
			}
			opened := admintest.VersionAt(t, d.Get(t, input.form))
			if p := colleague.Post(t, input.form, form(opened, input.theirs)); p.Status != http.StatusSeeOther {
				t.Fatalf("change by another user: got status %d: %s", p.Status, p.Text())
			}
			theirs := input.now(t)
			again := d.Post(t, input.form, form(opened, input.mistake))
			if again.Status != http.StatusUnprocessableEntity {
				t.Fatalf("form with an error: got status %d: %s", again.Status, again.Text())
			}
			conflict := d.Post(t, input.form, form(admintest.VersionAt(t, again), input.mine))
			if conflict.Status != http.StatusConflict || len(conflict.Values("data-conflict")) != 1 || input.now(t) != theirs {
				t.Fatalf("after correcting the error: got status %d, value %q, want %q: %s",
					conflict.Status, input.now(t), theirs, conflict.Text())
			}
			p := d.Post(t, input.form, form(admintest.VersionAt(t, conflict), input.mine))
			if p.Status != http.StatusSeeOther || input.now(t) == theirs {
				t.Errorf("after the conflict was shown: got status %d: %s", p.Status, p.Text())
			}
		})
	}
}
