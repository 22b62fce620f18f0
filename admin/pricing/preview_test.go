package pricing_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// expectChanges checks the number of changed prices on a page. If it is 0, the page must show an empty
// state.
func expectChanges(t testing.TB, p admintest.Response, want int) {
	t.Helper()
	if got := len(p.Values("data-change")); got != want ||
		want == 0 && !slices.Equal(p.Values("data-empty"), []string{"filtered"}) {
		t.Errorf("got %d changed prices, want %d: %s", got, want, p.Text())
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	card := d.AddFullDraft(t)
	at := web.DraftURL(card.ID) + "?tab=preview"
	p := d.Get(t, at)
	p.Expect(t, "the preview", http.StatusOK,
		`data-problems="1"`, "100 GBP", "industry: roofer, country: GB", `data-inversions="1"`, `data-cell="plumber/US/emergency"`,
		"91.20", "45.60", "+100.0%", `data-state="outlier"`, `data-change="excluded"`, `data-change="unpriced"`, `data-outliers="16"`, "25%")
	expectChanges(t, p, 21)
	link := regexp.MustCompile(regexp.QuoteMeta(web.DraftURL(card.ID)) + `/rules/\d+`).FindString(p.Body)
	if link == "" {
		t.Error("got no link to the rule with the problem")
	}
	order := func(first, second string) {
		t.Helper()
		_, list, _ := strings.Cut(p.Body, `id="list"`)
		if a, b := strings.Index(list, first), strings.Index(list, second); a < 0 || b < a {
			t.Errorf("got %s at %d and %s at %d, want them in this order", first, a, second, b)
		}
	}
	order(`data-change="excluded"`, "+100.0%")
	order("+100.0%", "+0.3%")
	for filter, want := range map[string]int{
		"q=plumb":          6,
		"country=GB":       15,
		"urgency=standard": 4,
		"only=outliers":    16,
		"category=" + url.QueryEscape(admintest.HostileText): 0,
		"q=" + url.QueryEscape(admintest.HostileText):        0,
		"q=%ff%00":                          0,
		"country=gb":                        0,
		"before=nothing&after=plumber%2FGB": 21,
	} {
		p := d.Get(t, at+"&"+filter)
		p.Expect(t, filter, http.StatusOK, `name="tab" value="preview"`)
		expectChanges(t, p, want)
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got unescaped markup", filter)
		}
	}
	d.Get(t, web.DraftURL(card.ID)+"?tab=publish").Expect(t, "publishing", http.StatusOK, `data-problems="1"`)
	if p := d.Post(t, web.DraftURL(card.ID)+"/publish", url.Values{"version": {"6"}, "note": {"x"}}); p.Status != http.StatusUnprocessableEntity || d.State(t, card) != "draft 0" {
		t.Errorf("publishing with a problem: got status %d: %s", p.Status, p.Text())
	}
	same := d.AddDraft(t, "The same")
	d.Get(t, web.DraftURL(same.ID)+"?tab=preview").Expect(t, "a draft that changes nothing", http.StatusOK,
		`data-empty="none"`, `data-state="complete"`)
	reader := d.SignedInAs(t, models.Auditor).Get(t, at)
	reader.Expect(t, "as an auditor", http.StatusOK, "industry: roofer, country: GB")
	if strings.Contains(reader.Body, "/rules/") {
		t.Error("as an auditor: got a link to a form")
	}
}

// Paging through a long list shows every cell once, and paging back reaches the first page.
func TestPreviewPages(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	card := d.AddDraft(t, "", pricingrules.Rule{Country: "GB", Urgency: "standard", Multiplier: 11_000})
	row := regexp.MustCompile(`<th scope="row" role="rowheader"><span class="main">([a-z0-9-]+)</span>`)
	link := func(p admintest.Response, rel string) string {
		m := regexp.MustCompile(`href="([^"]+)" rel="` + rel + `"`).FindStringSubmatch(p.Body)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	seen, pages := map[string]bool{}, 0
	p := d.Get(t, web.DraftURL(card.ID)+"?tab=preview&country=GB")
	for {
		pages++
		for _, m := range row.FindAllStringSubmatch(p.Body, -1) {
			if seen[m[1]] {
				t.Errorf("got %s twice", m[1])
			}
			seen[m[1]] = true
		}
		next := link(p, "next")
		if next == "" {
			break
		}
		p = d.Get(t, next)
	}
	if len(seen) != 336 || pages != 4 {
		t.Errorf("got %d industries on %d pages, want 336 on 4", len(seen), pages)
	}
	for range pages - 1 {
		p = d.Get(t, link(p, "prev"))
	}
	if link(p, "prev") != "" || len(row.FindAllString(p.Body, -1)) != 100 {
		t.Errorf("paging back: got %s", p.Text())
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	d.AddRecordedTraffic(t)
	card := d.AddDraft(t, "Plumbers", admintest.PlumbersIn("GB", money.GBP, 5000))
	sheet, err := d.Options.Prices.ExamineCard(t.Context(), card)
	if err != nil {
		t.Fatal(err)
	}
	irish, err := ratecard.Explain(sheet, ratecard.Lead{Industry: "plumber", Country: "IE"}, pricingrules.PartnerPricing{})
	if err != nil {
		t.Fatal(err)
	}
	d.Exec(t, `UPDATE pings SET price_minor = $1 WHERE country = 'IE' AND outcome = 'priced'`, irish.Cell.Minor)
	at := web.DraftURL(card.ID)
	d.Get(t, at+"?tab=replay").Expect(t, "before", http.StatusOK, `data-empty="none"`, `value="30" selected`,
		`id="limits"`)
	for _, days := range []string{"", "0", "-1", "91", "a week", admintest.HostileText, "99999999999999999999"} {
		d.Post(t, at+"/replay", url.Values{"days": {days}}).Expect(t, "days "+days, http.StatusUnprocessableEntity,
			`id="f-days-error"`, `data-code="invalid_value"`)
	}
	d.Post(t, at+"/replay", url.Values{"days": {"7"}}).ExpectRedirect(t, at+"?tab=replay")
	d.Get(t, at+"?tab=replay").Expect(t, "waiting", http.StatusOK, `data-state="waiting"`,
		`<progress class="progress" max="7" value="0"`, `hx-get="`+at+`/replay/live"`,
		`class="without-js mt-2"><a href="?tab=replay"`)
	d.Exec(t, `UPDATE jobs SET state = 'running', done = 3, heartbeat_at = $1`, d.Time.Now())
	live := d.Get(t, at+"/replay/live")
	live.Expect(t, "the part", http.StatusOK, `data-state="running"`, `max="7" value="3"`, `hx-trigger="every 2s"`)
	if strings.Contains(live.Body, "<html") {
		t.Error("got a complete page instead of a fragment")
	}
	d.Exec(t, `UPDATE jobs SET state = 'waiting', done = 0, heartbeat_at = NULL`)
	d.RunReplay(t, card.ID)
	done := d.Get(t, at+"?tab=replay")
	// Of 500 British pings, 20 came from a sandbox account and 80 were capped. The recorded price of the other
	// 400 is 45.60, and their price with the draft is 50.00.
	done.Expect(t, "done", http.StatusOK, "18,240.00", "20,000.00", "+1,760.00 (+9.6%)", "3,192.00 →",
		"−192.00 (−6.0%)", "83.3%", "GBP", "EUR", "United Kingdom", `>harbour-leads</a>`)
	if got := done.Values("data-unchanged"); !slices.Equal(got, slices.Repeat([]string{"1"}, 4)) {
		t.Errorf("got %q unchanged rows", got)
	}
	if strings.Contains(done.Body, "every 2s") || slices.Contains(d.Get(t, at+"/replay/live").Values("data-notice"), "warn") {
		t.Error("got a completed replay that reloads or is stale")
	}
	d.Time.Advance(time.Minute)
	d.AddRule(t, card, admintest.PlumbersIn("IE", money.EUR, 6000))
	d.Get(t, at+"/replay/live").Expect(t, "after an edit", http.StatusOK, `data-state="done"`, `data-notice="warn"`)
	d.Exec(t, `UPDATE rate_card_replays SET result = NULL`)
	for state, notice := range map[string]string{"failed": "bad", "cancelled": "warn"} {
		d.Exec(t, `UPDATE jobs SET state = $1`, state)
		d.Get(t, at+"/replay/live").Expect(t, state, http.StatusOK, `data-state="`+state+`"`, `data-notice="`+notice+`"`)
	}
	d.Exec(t, `DELETE FROM jobs`)
	d.Get(t, at+"/replay/live").Expect(t, "without its job", http.StatusOK, `data-state="failed"`, `data-notice="bad"`)
	reader := d.SignedInAs(t, models.Auditor)
	if p := reader.Get(t, at+"?tab=replay"); strings.Contains(p.Body, `action="`+at+`/replay"`) {
		t.Error("as an auditor: got the form that starts a replay")
	}
	if p := reader.Post(t, at+"/replay", url.Values{"days": {"7"}}); p.Status != http.StatusForbidden {
		t.Errorf("starting a replay as an auditor: got status %d", p.Status)
	}
}

func TestVersionHistory(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	d.Publish(t, "Dearer <b>plumbers</b>", admintest.PlumbersIn("GB", money.GBP, 5000))
	d.Publish(t, "Every standard lead", pricingrules.Rule{Country: "GB", Urgency: "standard", Multiplier: 11_000})
	list := d.Get(t, "/pricing/versions")
	list.Expect(t, "the list", http.StatusOK, "/pricing/versions/3", `data-state="published"`,
		`data-state="superseded"`, `href="/pricing/versions/1/rollback"`, "Dearer &lt;b&gt;plumbers",
		`name="a" required`, `value="2"`,
		"/pricing/compare?a=1&amp;b=2")
	d.Get(t, "/pricing/versions?before=2").Expect(t, "the next page", http.StatusOK, "/pricing/versions/1", `rel="prev"`)
	for _, before := range []string{"x", "-5", "99999999999999999999", "1"} {
		if p := d.Get(t, "/pricing/versions?before="+before); p.Status != http.StatusOK {
			t.Errorf("before %s: got status %d", before, p.Status)
		}
	}
	d.Get(t, "/pricing/versions/3").Expect(t, "a version", http.StatusOK, "336", `data-more="286"`,
		"/pricing/compare?a=2&amp;b=3", "Every standard lead")
	d.Get(t, "/pricing/versions/2").Expect(t, "a superseded version", http.StatusOK, `data-state="superseded"`,
		"/pricing/versions/2/rollback", "/pricing/drafts/new?from=2")
	d.Get(t, "/pricing/versions/1").Expect(t, "the first", http.StatusOK,
		html.EscapeString(testkit.Value[string](t, d.Database, `SELECT note FROM rate_cards WHERE version = 1`)))
	for _, n := range []string{"0", "-1", "4", "x", "99999999999999999999", "3.0"} {
		if p := d.Get(t, "/pricing/versions/"+n); p.Status != http.StatusNotFound {
			t.Errorf("version %s: got status %d", n, p.Status)
		}
	}
	reader := d.SignedInAs(t, models.AccountManager).Get(t, "/pricing/versions/2")
	reader.Expect(t, "as an account manager", http.StatusOK, "Dearer")
	if strings.Contains(reader.Body, "/pricing/drafts/new") || strings.Contains(reader.Body, "/rollback") {
		t.Error("as an account manager: got the button that creates a draft or rolls back")
	}
	if got := len(regexp.MustCompile(`href="/pricing/versions/\d+"`).FindAllString(list.Body, -1)); got != 3 {
		t.Errorf("got %d versions, want 3", got)
	}
	draft := d.AddDraft(t, "By two users", admintest.PlumbersIn("FR", money.EUR, 5000))
	colleague := d.Options.Prices.By(testkit.Actor(t, d.Database, "colleague@example.com"))
	if _, err := colleague.Publish(t.Context(), draft.ID, 2, "By two users", time.Time{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/pricing/versions", "/pricing/versions/4"} {
		d.Get(t, path).Expect(t, path, http.StatusOK, "colleague@example.com", "pricing_manager@example.com")
	}
	d.Get(t, "/pricing").Expect(t, "the current version", http.StatusOK, ">colleague@example.com", "/versions/3/rollback")
	if p := d.SignedInAs(t, models.AccountManager).Get(t, "/pricing"); strings.Contains(p.Body, "/rollback") {
		t.Error("as an account manager: got the button that rolls back")
	}
}

func TestCompareVersions(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	for n := range 2 {
		d.Publish(t, "Plumbers "+strconv.Itoa(n), pricingrules.Rule{
			Industry:   "plumber",
			Country:    []string{"GB", "IE"}[n],
			Multiplier: 15_000,
		})
	}
	d.Get(t, "/pricing/compare").Expect(t, "nothing chosen", http.StatusOK, `name="a"`, `name="b"`)
	two := d.Get(t, "/pricing/compare?a=1&b=3")
	two.Expect(t, "two versions", http.StatusOK, `href="/pricing/versions/1"`, `href="/pricing/versions/3"`,
		`name="a" value="1"`, `data-outliers="10"`)
	expectChanges(t, two, 10)
	swapped := d.Get(t, "/pricing/compare?a=3&b=1&country=GB")
	swapped.Expect(t, "in reverse order", http.StatusOK, "−33.3%")
	expectChanges(t, swapped, 5)
	for query, c := range map[string]struct{ field, code string }{
		"a=1&b=1": {"b", "same"}, "a=1": {"b", "format"}, "a=x&b=2": {"a", "format"}, "a=1&b=9": {"b", "version"},
		"a=-1&b=2": {"a", "format"}, "a=99999999999999999999&b=2": {"a", "format"}, "a=%00%ff&b=2": {"a", "format"},
		"a=" + url.QueryEscape(admintest.HostileText) + "&b=2": {"a", "format"},
	} {
		p := d.Get(t, "/pricing/compare?"+query)
		p.Expect(t, query, http.StatusUnprocessableEntity, `data-code="`+c.code+`"`, `id="f-`+c.field+`-error"`)
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got unescaped markup", query)
		}
	}
}

func TestPriceHistoryOfALead(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	d.Publish(t, "Version 2", admintest.PlumbersIn("GB", money.GBP, 5000))
	prices := d.PricingManagerPrices()
	for version := 3; version <= 2*ratecard.HistoryVersions; version++ {
		draft, err := prices.CreateDraft(t.Context(), "", 1+version/4%2) // the price changes every four versions
		if err != nil {
			t.Fatal(err)
		}
		d.AddRule(t, draft, admintest.PlumbersIn("FR", money.EUR, int64(6000+version)))
		if _, err := prices.Publish(t.Context(), draft.ID, 2, "Spring", time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	draft := d.AddDraft(t, "Plumbers", admintest.PlumbersIn("GB", money.GBP, 9900))
	const at = "/pricing/explain?country=GB&"
	show := func(query string) (versions []string, page admintest.Response) {
		t.Helper()
		page = d.Get(t, at+query)
		section := page.Body[strings.Index(page.Body, `id="history"`):]
		for _, m := range regexp.MustCompile(`href="/pricing/versions/(\d+)"`).FindAllStringSubmatch(section, -1) {
			versions = append(versions, m[1])
		}
		return versions, page
	}
	first, page := show("industry=plumber&history=show")
	if want := []string{"24", "20", "16", "13"}; !slices.Equal(first, want) {
		t.Errorf("the newest versions: got %v, want %v", first, want)
	}
	if strings.Count(page.Body, "or an earlier version") != 1 {
		t.Error("the oldest change has the date of its version, but can be older")
	}
	older := "/pricing/explain?country=GB&history=13&industry=plumber#history"
	if !slices.Contains(page.Values("href"), older) || !strings.Contains(page.Body, `name="history" value="show"`) {
		t.Errorf("got no link to %s, or a form that hides the history: %v", older, page.Values("href"))
	}
	older = "/pricing/explain?country=GB&history=3&industry=plumber#history"
	if _, page := show("industry=plumber&history=15"); !slices.Contains(page.Values("href"), older) {
		t.Errorf("got no link to the oldest part: %v", page.Values("href"))
	}
	newer := "/pricing/explain?country=GB&history=15&industry=plumber#history"
	if _, page := show("industry=plumber&history=3"); !slices.Contains(page.Values("href"), newer) {
		t.Errorf("the oldest part: got no link to %s: %v", newer, page.Values("href"))
	}
	d.Get(t, at+"industry=plummer&history=show").Expect(t, "a typing error", http.StatusUnprocessableEntity,
		`name="history" value="show"`)
	rest, page := show("industry=plumber&history=13")
	if want := []string{"12", "8", "4", "3", "2", "1"}; !slices.Equal(rest, want) ||
		strings.Contains(page.Body, "or an earlier version") {
		t.Errorf("the older versions: got %v, want %v, all with their dates", rest, want)
	}
	if versions, page := show("industry=plumber&history=1"); len(versions) > 0 ||
		strings.Contains(page.Body, "Covers version") {
		t.Errorf("before the first version: got %v, or the versions that the history covers", versions)
	}
	ofDraft := "history=show&draft=" + id.Format(id.RateCard, draft.ID)
	for _, query := range []string{"history=x", "history=-1", "history=99999999999", ofDraft} {
		if versions, _ := show("industry=plumber&" + query); !slices.Equal(versions, first) {
			t.Errorf("%s: got %v, want those of the newest versions", query, versions)
		}
	}
}

func TestPriceALead(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	d.AddRecordedTraffic(t)
	p, err := d.Options.Partners.Find(t.Context(), scope.System, "harbour-leads")
	if err != nil {
		t.Fatal(err)
	}
	own := partners.PriceForm{Adjustment: "+10", Exclusions: "country IE"}
	if err := d.Options.Partners.SetPricing(t.Context(), scope.System, p.ID, 0, own,
		d.Options.Prices.Taxonomy()); err != nil {
		t.Fatal(err)
	}
	card := d.AddDraft(t, "Plumbers", admintest.PlumbersIn("GB", money.GBP, 5000))
	const at = "/pricing/explain?"
	markets := d.Options.Prices.Markets()
	elsewhere := markets.At(markets.Index([2]byte{'Z', 'Z'})).Name
	d.Get(t, at).Expect(t, "the form", http.StatusOK, `id="order"`, `<option value="plumber">`)
	for query, wants := range map[string][]string{
		"industry=plumber&country=GB&urgency=emergency": {"72.96", "× 1.6", "industry: plumber", "urgency: emergency",
			`href="/pricing/versions/1"`},
		"industry=plumber": {"45.60", "United Kingdom"},
		"industry=%20plumber%20&country=gb&urgency=whenever": {"45.60", "standard"},
		"industry=plumber&country=ZZ":                        {elsewhere, `data-other="ZZ"`},
		"industry=plumber&country=el":                        {elsewhere, `data-other="GR"`},
		"industry=plumber&country=UK":                        {"45.60", "United Kingdom"},
		"industry=plumber&country=GB&version=1":              {"45.60", "/pricing/versions/1"},
		"industry=plumber&draft=" + strings.ToLower(web.DraftURL(card.ID)[16:]): {
			"50.00", web.DraftURL(card.ID) + "/rules/", "industry: plumber, country: GB",
		},
		"industry=plumber&partner=harbour-leads":            {"50.16", "+10%", "Harbour Leads"},
		"industry=plumber&country=IE&partner=harbour-leads": {`data-state="own_exclusion"`},
	} {
		d.Get(t, at+query).Expect(t, query, http.StatusOK, wants...)
	}
	for query, field := range map[string]string{
		"industry=plumbing":                                  "industry",
		"industry=plumber&country=GBR":                       "country",
		"industry=plumber&country=G1":                        "country",
		"industry=plumber&partner=unknown":                   "partner",
		"industry=plumber&partner=%00%ff":                    "partner",
		"industry=plumber&version=9":                         "version",
		"industry=plumber&version=x":                         "version",
		"draft=rc_nothing":                                   "draft",
		"industry=" + url.QueryEscape(admintest.HostileText): "industry",
		"country=GB&version=0":                               "version",
	} {
		p := d.Get(t, at+query)
		p.Expect(t, query, http.StatusUnprocessableEntity, `id="f-`+field+`-error"`)
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got unescaped markup", query)
		}
	}
	const plumber = "industry=plumber&country=GB"
	history := at + "country=GB&history=show&industry=plumber#history"
	if p := d.Get(t, at+plumber); !slices.Contains(p.Values("href"), history) {
		t.Errorf("got no link to the price history: %v", p.Values("href"))
	}
	d.Get(t, at+plumber+"&history=show").Expect(t, "the history", http.StatusOK, `id="history"`, "45.60 GBP")
	d.Get(t, at+"industry=plummer").Expect(t, "a typing error", http.StatusUnprocessableEntity,
		`id="f-industry-error"`, "plumber?")
	d.Get(t, at+"industry=plumbing&country=GBR&partner=unknown&version=77").Expect(t, "two errors",
		http.StatusUnprocessableEntity, `id="f-partner-error"`, `id="f-version-error"`)
	d.Get(t, at+"industry=plumbing&partner=unknown").Expect(t, "two other errors", http.StatusUnprocessableEntity,
		`id="f-industry-error"`, `id="f-partner-error"`)
	reader := d.SignedInAs(t, models.Auditor).Get(t, at+"industry=plumber&draft="+web.DraftURL(card.ID)[16:])
	if strings.Contains(reader.Body, "/rules/") || reader.Status != http.StatusOK {
		t.Errorf("as an auditor: got status %d or a link to a form", reader.Status)
	}
}
