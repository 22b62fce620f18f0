package pricing_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// lastEdit returns the description of the last edit.
func lastEdit(t testing.TB, db *testkit.Database) string {
	t.Helper()
	return html.EscapeString(testkit.Value[string](t, db, `SELECT summary FROM rate_card_edits ORDER BY id DESC LIMIT 1`))
}

// A draft is created, edited, renamed and discarded, and its edits are listed.
func TestDraftLifecycle(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	home := d.Get(t, "/pricing")
	for _, want := range []string{`href="/pricing/versions/1"`, "Spring prices", "/pricing/drafts/new",
		`id="precedence"`, `id="row-plumber"`, "/pricing/versions/1/export?country=GB&amp;format=csv",
		"/pricing/versions/1/export?format=yaml"} {
		if !strings.Contains(home.Body, want) {
			t.Errorf("got a pricing page without %q: %s", want, home.Text())
		}
	}
	if p := d.Get(t, "/pricing/drafts/new?from=1"); !strings.Contains(p.Body, `name="from" value="1"`) {
		t.Errorf("got page %s", p.Text())
	}
	d.DraftURL = d.Post(t, "/pricing/drafts/new", url.Values{"title": {"Winter"}, "from": {"1"}}).ExpectCreated(t, "/pricing/drafts/rc_")
	for _, tab := range []string{"", "?tab=grid", "?tab=rules", "?tab=edits", "?country=DE&urgency=urgent",
		"?country=ZZ", "?q=zebra", "/import", "/title", "/discard", "/rules/new", "/rules/1"} {
		if p := d.Get(t, d.DraftURL+tab); p.Status != http.StatusOK {
			t.Errorf("%s: got status %d: %s", tab, p.Status, p.Text())
		}
	}
	if p := d.Get(t, "/jump?q="+strings.TrimPrefix(d.DraftURL, "/pricing/drafts/")); p.Location() != d.DraftURL {
		t.Errorf("jump to the ID: got redirect to %q", p.Location())
	}
	title := url.Values{
		"title":   {"Winter, Germany"},
		"version": {admintest.VersionAt(t, d.Get(t, d.DraftURL+"/title"))},
	}
	if p := d.Post(t, d.DraftURL+"/title", title); p.Location() != d.DraftURL ||
		!strings.Contains(d.Get(t, "/pricing").Body, "Winter, Germany") {
		t.Errorf("got status %d: %s", p.Status, p.Text())
	}
	if p := d.Post(t, d.DraftURL+"/title", url.Values{"title": {"Mine"}, "version": {"1"}}); p.Status != http.StatusConflict || len(p.Values("data-conflict")) != 1 || !strings.Contains(p.Body, "pricing_manager@example.com") || !strings.Contains(p.Body, `value="Mine"`) {
		t.Errorf("stale title: got status %d: %s", p.Status, p.Text())
	}
	ask := d.Get(t, d.DraftURL+"/discard")
	if p := d.Post(t, d.DraftURL+"/discard", url.Values{"name": {"yes"}, "version": {admintest.VersionAt(t, ask)}}); p.Status != http.StatusUnprocessableEntity {
		t.Errorf("discarding without confirmation: got status %d", p.Status)
	}
	if p := d.Post(t, d.DraftURL+"/discard", url.Values{"name": {"discard"}, "version": {admintest.VersionAt(t, ask)}}); p.Location() != "/pricing" {
		t.Errorf("got status %d: %s", p.Status, p.Text())
	}
	if p := d.Get(t, d.DraftURL); p.State() != "discarded" || !slices.Contains(p.Values("data-notice"), "info") ||
		strings.Contains(p.Body, `name="base"`) {
		t.Errorf("got page %s", p.Text())
	}
	if p := d.Get(t, d.DraftURL+"/rules/new"); p.Location() != d.DraftURL {
		t.Errorf("adding a rule to a discarded draft: got status %d", p.Status)
	}
	d.CheckAuditLog(t)
}

// A cell can be set and cleared, and each edit can be undone.
func TestCells(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	saved := d.Cell(t, "plumber", "0", " 61.5 ")
	if saved.Status != http.StatusSeeOther ||
		saved.Location() != d.DraftURL+"?category=home-services&country=GB&q=pl#f-base-plumber" || d.Base(t, "plumber") != 6150 {
		t.Fatalf("got status %d, redirect to %s, base %d: %s", saved.Status, saved.Location(), d.Base(t, "plumber"), saved.Text())
	}
	p := d.Get(t, d.DraftURL+"?q=plumber")
	for _, want := range []string{`value="61.50"`, d.DraftURL + "/undo?", lastEdit(t, d.Database), "<ins>",
		`name="was" value="6150"`} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("got a grid without %s: %s", want, p.Text())
		}
	}
	if p := d.Cell(t, "plumber", "6150", "£70", "part", "rows"); p.Status != http.StatusOK ||
		!strings.Contains(p.Body, `id="grid-part" data-version="3"`) ||
		!strings.Contains(p.Body, `id="row-plumber"`) || strings.Contains(p.Body, "<h1>") ||
		strings.Contains(p.Body, `id="row-solicitor"`) {
		t.Errorf("fragment: got status %d: %.300s", p.Status, p.Body)
	}
	if p := d.Cell(t, "plumber", "7000", ""); p.Status != http.StatusSeeOther || d.Base(t, "plumber") != 0 {
		t.Errorf("got status %d, base %d", p.Status, d.Base(t, "plumber"))
	}
	undo := func() admintest.Response {
		t.Helper()
		_, rest, _ := strings.Cut(d.Get(t, d.DraftURL).Body, `name="edit" value="`)
		edit, _, _ := strings.Cut(rest, `"`)
		return d.Post(t, d.DraftURL+"/undo?country=GB", url.Values{"edit": {edit}})
	}
	for _, want := range []int64{7000, 6150, 0} {
		if p := undo(); p.Status != http.StatusSeeOther || d.Base(t, "plumber") != want {
			t.Errorf("undo: got status %d, base %d, want %d", p.Status, d.Base(t, "plumber"), want)
		}
	}
	if p := d.Post(t, d.DraftURL+"/undo", url.Values{"edit": {"1"}}); p.Status != http.StatusConflict {
		t.Errorf("with nothing to undo: got status %d", p.Status)
	}
	if p := d.Get(t, d.DraftURL+"?tab=edits"); strings.Count(strings.Join(p.Values("data-state"), " "), "undone") != 3 || strings.Count(p.Body, "pricing_manager@example.com") < 6 {
		t.Errorf("got page %s", p.Text())
	}
	d.CheckAuditLog(t)
}

// A rejected amount stays in its cell, with an error message.
func TestCellRejectsAmounts(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	for typed, want := range map[string]struct{ code, shown string }{
		"-5":                   {"range", ""},
		"0":                    {"range", ""},
		"45.605":               {"format", ""},
		"1e3":                  {"format", ""},
		"9999999":              {"range", "1000000"},
		"45 EUR":               {"currency", "EUR"},
		"eur45":                {"currency", "EUR"},
		"€45":                  {"currency", "EUR"},
		"$45":                  {"currency", "USD"},
		"45,60":                {"decimal_comma", "45.60"},
		"12,04.50":             {"format", ""},
		"forty":                {"format", ""},
		admintest.HostileText:  {"format", ""},
		"99999999999999999999": {"format", ""},
	} {
		for _, part := range []string{"", "rows"} {
			f := []string{"part", part}
			if part == "" {
				f = nil
			}
			p := d.Cell(t, "plumber", "0", typed, f...)
			if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{want.code}) ||
				!strings.Contains(p.Body, want.shown) || !strings.Contains(p.Body, `id="f-base-plumber-error"`) ||
				!strings.Contains(p.Body, `href="#f-base-plumber"`) || !strings.Contains(p.Body, `aria-invalid="true"`) {
				t.Errorf("%q: got status %d, codes %v: %s", typed, p.Status, p.Codes(), p.Text())
			}
			if typed != admintest.HostileText && !strings.Contains(p.Body, `value="`+typed+`"`) {
				t.Errorf("got a cell without the input %q", typed)
			}
		}
	}
	for _, good := range []string{"45 GBP", "GBP 45.6", "£45", "1,204.50"} {
		if p := d.Cell(t, "plumber", fmt.Sprint(d.Base(t, "plumber")), good); p.Status != http.StatusSeeOther {
			t.Errorf("%q: got status %d: %s", good, p.Status, p.Text())
		}
	}
	if p := d.Cell(t, "zebra-groomer", "0", "45"); p.Status != http.StatusUnprocessableEntity {
		t.Errorf("unknown industry: got status %d", p.Status)
	}
}

// If two users change the same cell, the second user sees the first change before overwriting it.
func TestConcurrentCellChanges(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	plumber := pricingrules.Target{Industry: "plumber", Country: "GB"}
	if err := d.Service(models.Administrator).SetBase(t.Context(), d.Draft.ID, plumber, 0, 5100); err != nil {
		t.Fatal(err)
	}
	p := d.Cell(t, "plumber", "0", "49")
	if p.Status != http.StatusConflict || !slices.Equal(p.Codes(), []string{"cell_changed"}) ||
		!strings.Contains(p.Body, "51.00 GBP") || !strings.Contains(p.Body, `value="49"`) ||
		!strings.Contains(p.Body, `name="was" value="5100"`) || d.Base(t, "plumber") != 5100 {
		t.Errorf("got status %d, base %d: %s", p.Status, d.Base(t, "plumber"), p.Text())
	}
	if p := d.Cell(t, "plumber", "5100", "49"); p.Status != http.StatusSeeOther || d.Base(t, "plumber") != 4900 {
		t.Errorf("after the conflict was shown: got status %d", p.Status)
	}
	stale := url.Values{"version": {"1"}, "mode": {"paste"}, "lines": {"plumber\t1\r\narborist\t2"}}
	if p := d.Post(t, d.DraftURL+"/cells?country=GB", stale); p.Status != http.StatusConflict ||
		!slices.Equal(p.Codes(), []string{"changed"}) ||
		!strings.Contains(p.Body, "pricing_manager@example.com") || d.Base(t, "arborist") != 0 {
		t.Errorf("pasting a column into a changed draft: got status %d: %s", p.Status, p.Text())
	}
}

// A rejected cell or column keeps its original version, so that submitting it again does not overwrite
// another user's change.
func TestRejectedCellsKeepVersion(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	opened := admintest.VersionAt(t, d.Get(t, d.DraftURL))
	plumber := pricingrules.Target{Industry: "plumber", Country: "GB"}
	if err := d.Service(models.Administrator).SetBase(t.Context(), d.Draft.ID, plumber, 0, 5100); err != nil {
		t.Fatal(err)
	}
	p := d.Cell(t, "plumber", "0", "-1")
	if p.Status != http.StatusUnprocessableEntity || strings.Contains(p.Body, `name="was" value="5100"`) {
		t.Errorf("error in a cell: got status %d: %s", p.Status, p.Text())
	}
	column := url.Values{"version": {opened}, "mode": {"paste"}, "lines": {"plumber\t49\r\narborist\t-1"}}
	if p := d.Post(t, d.DraftURL+"/cells?country=GB", column); p.Status != http.StatusConflict ||
		!slices.Equal(p.Codes(), []string{"changed"}) {
		t.Errorf("error in a column of a stale form: got status %d, codes %v: %s", p.Status, p.Codes(), p.Text())
	}
	if base := d.Base(t, "plumber"); base != 5100 {
		t.Errorf("got base %d, want 5100", base)
	}
}

// A pasted column is saved completely or not at all.
func TestPastedColumn(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	version := func() string { return admintest.VersionAt(t, d.Get(t, d.DraftURL)) }
	paste := func(lines string) admintest.Response {
		return d.Post(t, d.DraftURL+"/cells?country=GB", url.Values{
			"version": {version()},
			"mode":    {"paste"},
			"lines":   {lines},
		})
	}
	if p := paste("arborist\t40\r\narchitect\t41.5\r\ncategory-home-services\t39"); p.Status != http.StatusSeeOther || d.Base(t, "arborist") != 4000 || d.Base(t, "architect") != 4150 {
		t.Fatalf("got status %d: %s", p.Status, p.Text())
	}
	if p := d.Get(t, d.DraftURL); !strings.Contains(p.Body, lastEdit(t, d.Database)) ||
		d.Count(t, "rate_card_edits", "rules = 3") != 1 {
		t.Errorf("got page %s", p.Text())
	}
	for name, c := range map[string]struct{ lines, code, row string }{
		"bad amount":     {"arborist\t50\r\narchitect\tmuch", "format", "architect"},
		"two columns":    {"arborist\t50\t60\r\narchitect\t51", "format", "arborist"},
		"too many lines": {"arborist\t50\r\n\t51", "too_long", ""},
		"unknown row":    {"zebra\t50", "row", ""},
	} {
		p := paste(c.lines)
		if p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{"amount", c.code}) ||
			c.row != "" && !strings.Contains(p.Body, `href="#f-base-`+c.row+`"`) || d.Base(t, "arborist") != 4000 {
			t.Errorf("%s: got status %d, base %d, codes %v: %s", name, p.Status, d.Base(t, "arborist"), p.Codes(), p.Text())
		}
		if strings.HasPrefix(c.lines, "arborist\t50\r") && !strings.Contains(p.Body, `value="50"`) {
			t.Errorf("%s: got a page without the pasted text", name)
		}
	}
}

// A bulk change applies to all rows shown, after a preview.
func TestBulk(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithDraft(t)
	edits := func() int { return d.Count(t, "rate_card_edits", "true") }
	send := func(by, amount string, more ...string) admintest.Response {
		f := url.Values{
			"version": {admintest.VersionAt(t, d.Get(t, d.DraftURL))},
			"mode":    {"bulk"},
			"by":      {by},
			"amount":  {amount},
		}
		for i := 0; i+1 < len(more); i += 2 {
			f.Set(more[i], more[i+1])
		}
		return d.Post(t, d.DraftURL+"/cells?category=home-services&country=GB", f)
	}
	for amount, want := range map[string]string{
		"":                    "format",
		"5.123":               "format",
		"-95":                 "range",
		"900.01":              "range",
		"0":                   "zero",
		admintest.HostileText: "format",
	} {
		if p := send("percent", amount, "apply", "yes"); p.Status != http.StatusUnprocessableEntity ||
			!slices.Equal(p.Codes(), []string{want}) || !strings.Contains(p.Body, `id="f-amount-error"`) {
			t.Errorf("%q: got status %d: %s", amount, p.Status, p.Text())
		}
	}
	for _, amount := range []string{"", "-4", "5 USD"} {
		if p := send("set", amount, "apply", "yes"); p.Status != http.StatusUnprocessableEntity ||
			!strings.Contains(p.Body, `<option value="set" selected>`) {
			t.Errorf("%q: got status %d: %s", amount, p.Status, p.Text())
		}
	}
	p := send("percent", "+2.5")
	if p.Status != http.StatusOK || !strings.Contains(p.Body, "+2.5%") ||
		!strings.Contains(p.Body, "home-services") || len(p.Values("data-inherited")) != 20 ||
		len(p.Values("data-more")) != 1 || edits() != 0 {
		t.Fatalf("preview: got status %d, %d edits: %s", p.Status, edits(), p.Text())
	}
	if p := send("percent", "+2.5", "apply", "yes"); p.Status != http.StatusSeeOther || edits() != 1 {
		t.Fatalf("got status %d: %s", p.Status, p.Text())
	}
	if rules := testkit.Value[int](t, d.Database, `SELECT rules FROM rate_card_edits`); rules < 50 {
		t.Errorf("got an edit of %d rules, want at least 50", rules)
	}
	if p := send("set", "50", "apply", "yes"); p.Status != http.StatusSeeOther || d.Base(t, "plumber") != 5000 {
		t.Errorf("got status %d, base %d", p.Status, d.Base(t, "plumber"))
	}
	if p := send("set", "50"); p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Codes(), []string{"nothing"}) {
		t.Errorf("without a change: got status %d: %s", p.Status, p.Text())
	}
	if p := send("set", "51", "version", "1"); p.Status != http.StatusConflict {
		t.Errorf("stale form: got status %d", p.Status)
	}
	d.CheckAuditLog(t)
}
