package admin

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// fullDraft has a change of each kind.
func (h *house) fullDraft(t testing.TB) models.RateCard {
	t.Helper()
	small := pricingrules.Rule{Industry: "electrician", Country: "GB", Note: "a few pence"}
	small.Base[money.GBP] = 3850
	crossed := pricingrules.Rule{Industry: "roofer", Country: "GB"}
	crossed.Floor[money.GBP], crossed.Ceiling[money.GBP] = 10000, 5000
	return h.drafted(t, "Spring prices", plumbersIn("GB", money.GBP, 9120), small, crossed,
		pricingrules.Rule{Industry: "locksmith", Country: "IE", Exclude: pricingrules.ExcludeTrue},
		pricingrules.Rule{Industry: "plumber", Country: "US", Urgency: "emergency", Multiplier: pricingrules.MultiplierOne})
}

func TestPreview(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	card := d.fullDraft(t)
	at := web.DraftURL(card.ID) + "?tab=preview"
	p := d.get(t, at)
	p.wants(t, "the preview", http.StatusOK,
		"1 problem keeps this draft from being published", "The floor of 100 GBP is above the ceiling of 50", "industry roofer, country GB",
		"1 price belies its urgency", "plumber, United States: emergency costs no more than standard",
		"91.20", "45.60", "+100.0 %", "outlier", "newly excluded", "no price any more", "An outlier is a change of more than 25 %", "21 prices")
	link := regexp.MustCompile(regexp.QuoteMeta(web.DraftURL(card.ID)) + `/rules/\d+`).FindString(p.body)
	if link == "" {
		t.Error("the rule at fault has no link")
	}
	order := func(first, second string) {
		t.Helper()
		_, list, _ := strings.Cut(p.body, `id="list"`)
		if a, b := strings.Index(list, first), strings.Index(list, second); a < 0 || b < a {
			t.Errorf("%s at %d, %s at %d", first, a, second, b)
		}
	}
	order("newly excluded", "+100.0 %")
	order("+100.0 %", "+0.3 %")
	for filter, want := range map[string]string{
		"q=plumb": "6 prices", "country=GB": "15 prices", "urgency=standard": "4 prices", "only=outliers": "16 prices", "category=" + url.QueryEscape(hostile): "Nothing matches",
		"q=" + url.QueryEscape(hostile): "Nothing matches", "q=%ff%00": "Nothing matches", "country=gb": "Nothing matches", "before=nothing&after=plumber%2FGB": "21 prices",
	} {
		p := d.get(t, at+"&"+filter)
		p.wants(t, filter, http.StatusOK, want, `name="tab" value="preview"`)
		if strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s repeats markup as it came", filter)
		}
	}
	d.get(t, web.DraftURL(card.ID)+"?tab=publish").wants(t, "publishing", http.StatusOK, "has to be mended", "1 problem")
	if p := d.post(t, web.DraftURL(card.ID)+"/publish", url.Values{"version": {"6"}, "note": {"x"}}); p.status != http.StatusUnprocessableEntity || d.state(t, card) != "draft 0" {
		t.Errorf("%d %s", p.status, p.text())
	}
	same := d.drafted(t, "The same")
	d.get(t, web.DraftURL(same.ID)+"?tab=preview").wants(t, "a draft that changes nothing", http.StatusOK, "No price changes", "no rules clash")
	reader := d.as(t, models.Auditor).get(t, at)
	reader.wants(t, "an auditor's", http.StatusOK, "industry roofer, country GB")
	if strings.Contains(reader.body, "/rules/") {
		t.Error("an auditor is led to a form")
	}
}

// A long list is paged by its cells: every one once, in order, there and back.
func TestPreviewPages(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	card := d.drafted(t, "", pricingrules.Rule{Country: "GB", Urgency: "standard", Multiplier: 11_000})
	row := regexp.MustCompile(`<th scope="row" role="rowheader"><span class="main">([a-z0-9-]+)</span>`)
	link := func(p page, rel string) string {
		m := regexp.MustCompile(`href="([^"]+)" rel="` + rel + `"`).FindStringSubmatch(p.body)
		if m == nil {
			return ""
		}
		return html.UnescapeString(m[1])
	}
	seen, pages := map[string]bool{}, 0
	p := d.get(t, web.DraftURL(card.ID)+"?tab=preview&country=GB")
	last := p
	for {
		pages++
		for _, m := range row.FindAllStringSubmatch(p.body, -1) {
			if seen[m[1]] {
				t.Errorf("%s twice", m[1])
			}
			seen[m[1]] = true
		}
		last = p
		next := link(p, "next")
		if next == "" {
			break
		}
		p = d.get(t, next)
	}
	if len(seen) != 336 || pages != 4 {
		t.Errorf("%d industries on %d pages", len(seen), pages)
	}
	for range pages - 1 {
		last = d.get(t, link(last, "prev"))
	}
	if link(last, "prev") != "" || len(row.FindAllString(last.body, -1)) != 100 {
		t.Errorf("the way back: %s", last.text())
	}
}

// recorded is some days' pings and leads, most of a partner that has nothing of its own.
func (h *house) recorded(t testing.TB) {
	t.Helper()
	p, err := h.options.Partners.Create(t.Context(), partners.NewPartner{Slug: "harbour-leads", Name: "Harbour Leads", Signing: models.SigningOff})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.options.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	index, _ := h.options.Prices.Taxonomy().BySlug("plumber")
	term := h.options.Prices.Taxonomy().At(index).TermID
	for n := range 60 { // of which 10 were sold when plumbers cost twice as much
		at := h.time.Now().Add(-time.Duration(n) * time.Hour)
		h.Exec(t, `INSERT INTO leads (id, transaction, transaction_id, partner_id, account_id, hmac_verified, sandbox, price_minor, currency, industry, term_id, urgency,
				card_version, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, state, key_wrapper, key_version)
			VALUES ($1::uuid, $1::uuid, '', $2, $2, false, false, $4, 'GBP', 'plumber', $5, 'standard', 1, 'GB', '', $3, $3, 'GB', '', false, 'erased', '', '')`,
			id.New(at), p.ID, at, 4560*(1+n/50), term)
	}
	h.Exec(t, `SELECT ensure_ping_partitions($1::date - 31, 33)`, h.time.Now())
	h.Exec(t, `INSERT INTO pings (transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
		SELECT gen_random_uuid(), $1::timestamptz - (n % 6) * interval '1 day' - interval '1 minute', CASE WHEN n % 4 > 0 THEN $2::uuid END, n % 50 = 0, $3, (ARRAY['GB', 'IE'])[1 + n % 2], 'BS1', 'standard', '', '',
			CASE WHEN n % 10 = 0 THEN 'capped' ELSE 'priced' END, CASE WHEN n % 10 = 0 THEN 0 ELSE 4560 END, (ARRAY['GBP', 'EUR'])[1 + n % 2], 1, 90
		FROM generate_series(1, 1000) AS n`, h.time.Now(), p.ID, term)
}

func TestReplaying(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	d.recorded(t)
	card := d.drafted(t, "Plumbers", plumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	d.get(t, at+"?tab=replay").wants(t, "before", http.StatusOK, "No replay yet", `value="30" selected`, "no replay knows", "Sandboxes are left out")
	for _, days := range []string{"", "0", "-1", "91", "a week", hostile, "99999999999999999999"} {
		d.post(t, at+"/replay", url.Values{"days": {days}}).wants(t, "days "+days, http.StatusUnprocessableEntity, `id="f-days-error"`, "1 to 90 days")
	}
	if p := d.post(t, at+"/replay", url.Values{"days": {"7"}}); p.location() != at+"?tab=replay" {
		t.Fatalf("%d %s", p.status, p.text())
	}
	d.get(t, at+"?tab=replay").wants(t, "waiting", http.StatusOK, "waits for its turn", `<progress class="progress" max="7" value="0"`, `hx-get="`+at+`/replay/live"`, "Look again")
	d.Exec(t, `UPDATE rate_card_replays SET state = 'running', days_done = 3, seen_at = $1`, d.time.Now())
	live := d.get(t, at+"/replay/live")
	live.wants(t, "the part", http.StatusOK, "under way", "3 of 7 days done", `hx-trigger="every 2s"`)
	if strings.Contains(live.body, "<html") {
		t.Error("the part is a whole page")
	}
	d.Exec(t, `UPDATE rate_card_replays SET state = 'waiting', days_done = 0, seen_at = NULL`)
	if did, err := d.options.Prices.ReplayNext(t.Context()); !did || err != nil {
		t.Fatal(did, err)
	}
	done := d.get(t, at+"?tab=replay")
	// Of 500 British pings 20 were a sandbox's and 80 capped: 400 were priced at 45.60 and
	// are at 50.00.
	done.wants(t, "done", http.StatusOK, "18,240.00", "20,000.00", "+1,760.00 (+9.6 %)", "3,192.00 →", "−192.00 (−6.0 %)", "83.3 %", "GBP", "EUR", "United Kingdom", `>harbour-leads</a>`)
	if strings.Contains(done.body, "every 2s") || strings.Contains(done.body, "changed since") {
		t.Error("what is done still asks, or is told as stale")
	}
	d.time.Advance(time.Minute)
	d.ruled(t, card, plumbersIn("IE", money.EUR, 6000))
	d.get(t, at+"?tab=replay").wants(t, "after an edit", http.StatusOK, "The draft has changed since")
	d.Exec(t, `UPDATE rate_card_replays SET state = 'failed', result = NULL`)
	d.get(t, at+"/replay/live").wants(t, "failed", http.StatusOK, "could not be finished")
	reader := d.as(t, models.Auditor)
	if p := reader.get(t, at+"?tab=replay"); strings.Contains(p.body, `action="`+at+`/replay"`) {
		t.Error("an auditor is offered a replay")
	}
	if p := reader.post(t, at+"/replay", url.Values{"days": {"7"}}); p.status != http.StatusForbidden {
		t.Errorf("an auditor starts a replay: %d", p.status)
	}
}

// published makes a version of a rule.
func (h *house) published(t testing.TB, note string, rules ...pricingrules.Rule) int {
	t.Helper()
	d := h.drafted(t, note, rules...)
	card, err := h.prices().Publish(t.Context(), d.ID, 1+len(rules), note, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return card.Version
}

func TestHistory(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	d.published(t, "Dearer <b>plumbers</b>", plumbersIn("GB", money.GBP, 5000))
	d.published(t, "Every standard lead", pricingrules.Rule{Country: "GB", Urgency: "standard", Multiplier: 11_000})
	list := d.get(t, "/pricing/versions")
	list.wants(t, "the list", http.StatusOK, "/pricing/versions/3", "in force", "superseded", "Dearer &lt;b&gt;plumbers", `name="a" required`, `value="2"`, "/pricing/compare?a=1&amp;b=2")
	d.get(t, "/pricing/versions?before=2").wants(t, "the next page", http.StatusOK, "/pricing/versions/1", `rel="prev"`)
	for _, before := range []string{"x", "-5", "99999999999999999999", "1"} {
		if p := d.get(t, "/pricing/versions?before="+before); p.status != http.StatusOK {
			t.Errorf("before %s: %d", before, p.status)
		}
	}
	d.get(t, "/pricing/versions/3").wants(t, "a version", http.StatusOK, "336", "And 286 more", "/pricing/compare?a=2&amp;b=3", "Every standard lead")
	d.get(t, "/pricing/versions/2").wants(t, "an old one", http.StatusOK, "superseded", "To go back to these prices", "/pricing/drafts/new?from=2")
	d.get(t, "/pricing/versions/1").wants(t, "the first", http.StatusOK, "The rate card that the program ships.")
	for _, n := range []string{"0", "-1", "4", "x", "99999999999999999999", "3.0"} {
		if p := d.get(t, "/pricing/versions/"+n); p.status != http.StatusNotFound {
			t.Errorf("version %s: %d", n, p.status)
		}
	}
	reader := d.as(t, models.AccountManager).get(t, "/pricing/versions/2")
	reader.wants(t, "an account manager's", http.StatusOK, "Dearer")
	if strings.Contains(reader.body, "/pricing/drafts/new") {
		t.Error("an account manager is offered a draft")
	}
	if got := len(regexp.MustCompile(`href="/pricing/versions/\d+"`).FindAllString(list.body, -1)); got != 3 {
		t.Errorf("%d versions are listed", got)
	}
}

func TestComparing(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	for n := range 2 {
		d.published(t, "Plumbers "+strconv.Itoa(n), pricingrules.Rule{Industry: "plumber", Country: []string{"GB", "IE"}[n], Multiplier: 15_000})
	}
	d.get(t, "/pricing/compare").wants(t, "nothing chosen", http.StatusOK, `name="a"`, `name="b"`)
	d.get(t, "/pricing/compare?a=1&b=3").wants(t, "two", http.StatusOK, "10 prices", "Version 1", "Version 3", `name="a" value="1"`, "10 of them are outliers")
	d.get(t, "/pricing/compare?a=3&b=1&country=GB").wants(t, "the other way round", http.StatusOK, "5 prices", "−33.3 %")
	for query, c := range map[string]struct{ field, text string }{
		"a=1&b=1": {"b", "the same version twice"}, "a=1": {"b", "A version is a number"}, "a=x&b=2": {"a", "A version is a number"}, "a=1&b=9": {"b", "There is no version 9"},
		"a=-1&b=2": {"a", "A version is a number"}, "a=99999999999999999999&b=2": {"a", "A version is a number"}, "a=%00%ff&b=2": {"a", "A version is a number"},
		"a=" + url.QueryEscape(hostile) + "&b=2": {"a", "A version is a number"},
	} {
		p := d.get(t, "/pricing/compare?"+query)
		p.wants(t, query, http.StatusUnprocessableEntity, c.text, `id="f-`+c.field+`-error"`)
		if strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s repeats markup as it came", query)
		}
	}
}

func TestPricingALead(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	d.recorded(t)
	p, err := d.options.Partners.Find(t.Context(), scope.System, "harbour-leads")
	if err != nil {
		t.Fatal(err)
	}
	own := partners.PriceForm{Adjustment: "+10", Exclusions: "country IE"}
	if err := d.options.Partners.SetOwnPrice(t.Context(), scope.System, p.ID, 0, own, d.options.Prices.Taxonomy()); err != nil {
		t.Fatal(err)
	}
	card := d.drafted(t, "Plumbers", plumbersIn("GB", money.GBP, 5000))
	const at = "/pricing/explain?"
	d.get(t, at).wants(t, "the form", http.StatusOK, "The most specific one: industry before category", `<option value="plumber">`)
	for query, wants := range map[string][]string{
		"industry=plumber&country=GB&urgency=emergency": {"72.96", "× 1.6", "industry plumber", "urgency emergency", "Version 1"},
		"industry=plumber": {"45.60", "United Kingdom"},
		"industry=%20plumber%20&country=gb&urgency=whenever":                    {"45.60", "standard"},
		"industry=plumber&country=ZZ":                                           {"Any other country"},
		"industry=plumber&country=GB&version=1":                                 {"45.60", "/pricing/versions/1"},
		"industry=plumber&draft=" + strings.ToLower(web.DraftURL(card.ID)[16:]): {"50.00", web.DraftURL(card.ID) + "/rules/", "industry plumber, country GB"},
		"industry=plumber&partner=harbour-leads":                                {"50.16", "+10 %", "Partner&#39;s adjustment", "Harbour Leads"},
		"industry=plumber&country=IE&partner=harbour-leads":                     {"Not bought", "own exclusion"},
	} {
		d.get(t, at+query).wants(t, query, http.StatusOK, wants...)
	}
	for query, field := range map[string]string{
		"industry=plumbing": "industry", "industry=plumber&country=GBR": "country", "industry=plumber&country=G1": "country", "industry=plumber&partner=nobody": "partner",
		"industry=plumber&partner=%00%ff": "partner", "industry=plumber&version=9": "version", "industry=plumber&version=x": "version", "draft=rc_nothing": "draft",
		"industry=" + url.QueryEscape(hostile): "industry", "country=GB&version=0": "version",
	} {
		p := d.get(t, at+query)
		p.wants(t, query, http.StatusUnprocessableEntity, `id="f-`+field+`-error"`)
		if strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s repeats markup as it came", query)
		}
	}
	d.get(t, at+"industry=plumbing&country=GBR&partner=nobody&version=77").wants(t, "two mistakes", http.StatusUnprocessableEntity, `id="f-partner-error"`, `id="f-version-error"`)
	d.get(t, at+"industry=plumbing&partner=nobody").wants(t, "two others", http.StatusUnprocessableEntity, `id="f-industry-error"`, `id="f-partner-error"`)
	reader := d.as(t, models.Auditor).get(t, at+"industry=plumber&draft="+web.DraftURL(card.ID)[16:])
	if strings.Contains(reader.body, "/rules/") || reader.status != http.StatusOK {
		t.Errorf("an auditor is led to a form: %d", reader.status)
	}
}
