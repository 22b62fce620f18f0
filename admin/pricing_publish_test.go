package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// priceDesk is a house with the shipped prices in force, and its pricing manager's browser.
type priceDesk struct {
	*house
	*visitor
}

func newPriceDesk(t *testing.T, k kind) priceDesk {
	t.Helper()
	h := newHouse(t, k)
	if _, err := h.options.Prices.PublishShipped(t.Context()); err != nil {
		t.Fatal(err)
	}
	return priceDesk{h, h.as(t, models.PricingManager)}
}

// colleague is another pricing manager.
func (d priceDesk) colleague(t testing.TB) *visitor {
	t.Helper()
	b := d.house.visitor(t)
	b.signIn(t, "colleague@example.com")
	return b
}

func (d priceDesk) hires(t *testing.T) {
	t.Helper()
	d.person(t, "colleague@example.com", models.StaffRole{Role: models.PricingManager})
	d.reload(t)
}

// prices is the service on behalf of a pricing manager.
func (h *house) prices() *ratecard.Service {
	return h.options.Prices.By(audit.Actor{Staff: h.people[models.PricingManager].ID, Name: "pricing_manager@example.com", Role: string(models.PricingManager)})
}

func (h *house) drafted(t testing.TB, title string, rules ...pricingrules.Rule) models.RateCard {
	t.Helper()
	d, err := h.prices().Begin(t.Context(), title, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		h.ruled(t, d, r)
	}
	return d
}

func (h *house) ruled(t testing.TB, d models.RateCard, r pricingrules.Rule) {
	t.Helper()
	version := testkit.Value[int](t, h.Database, `SELECT row_version FROM rate_cards WHERE id = $1`, d.ID)
	if err := h.prices().PutRule(t.Context(), d.ID, version, 0, r); err != nil {
		t.Fatal(err)
	}
}

func plumbersIn(country string, currency money.Currency, minor int64) pricingrules.Rule {
	r := pricingrules.Rule{Industry: "plumber", Country: country}
	r.Base[currency] = minor
	return r
}

func (d priceDesk) state(t testing.TB, card models.RateCard) string {
	t.Helper()
	return testkit.Value[string](t, d.Database, `SELECT state || ' ' || coalesce(version, 0) FROM rate_cards WHERE id = $1`, card.ID)
}

// wants fails for each text that a page lacks.
func (p page) wants(t testing.TB, what string, status int, texts ...string) {
	t.Helper()
	if p.status != status {
		t.Errorf("%s: %d, want %d: %s", what, p.status, status, p.text())
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			_, main, _ := strings.Cut(p.body, "<h1>")
			t.Errorf("%s: lacks %q in %.3000s", what, text, strings.Join(strings.Fields(main), " "))
		}
	}
}

func TestPublishing(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	card := d.drafted(t, "Plumbers", plumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	form := d.get(t, at+"?tab=publish")
	form.wants(t, "the form", http.StatusOK, "What would be published", `name="note"`, `type="datetime-local"`, "Publish")
	version := versionAt(t, form)
	for name, c := range map[string]struct {
		values url.Values
		field  string
	}{
		"no note":        {url.Values{}, "note"},
		"a long note":    {url.Values{"note": {strings.Repeat("x", 201)}}, "note"},
		"two lines":      {url.Values{"note": {"a\r\nb"}}, "note"},
		"no text":        {url.Values{"note": {"a\x00\xff"}}, "note"},
		"no time":        {url.Values{"note": {"x"}, "at": {"tomorrow"}}, "at"},
		"the past":       {url.Values{"note": {"x"}, "at": {"2020-01-01T09:00"}}, "at"},
		"years ahead":    {url.Values{"note": {"x"}, "at": {"9999-01-01T09:00"}}, "at"},
		"a time of tags": {url.Values{"note": {"x"}, "at": {hostile}}, "at"},
	} {
		c.values.Set("version", version)
		p := d.post(t, at+"/publish", c.values)
		p.wants(t, name, http.StatusUnprocessableEntity, `id="f-`+c.field+`-error"`, `href="#f-`+c.field+`"`)
		if strings.Contains(p.body, "<script>alert") {
			t.Errorf("%s: repeats markup as it came", name)
		}
	}
	good := url.Values{"version": {version}, "note": {"Plumbers in Britain are short"}}
	d.time.Advance(11 * time.Minute)
	d.post(t, at+"/publish", good).wants(t, "without proof", http.StatusUnprocessableEntity, `name="proof"`, "Plumbers in Britain are short")
	good.Set("proof", "wrong")
	d.post(t, at+"/publish", good).wants(t, "with a wrong proof", http.StatusUnprocessableEntity, `id="f-proof-error"`)
	if d.state(t, card) != "draft 0" {
		t.Fatal(d.state(t, card))
	}
	good.Set("proof", password)
	if p := d.post(t, at+"/publish", good); p.location() != "/pricing/versions/2" || d.state(t, card) != "published 2" {
		t.Fatalf("%d to %q: %s", p.status, p.location(), p.text())
	}
	d.get(t, "/pricing/versions/2").wants(t, "the version", http.StatusOK, "in force", "Plumbers in Britain are short", "plumber", "pricing: publish", "/pricing/drafts/new?from=2", "/pricing/versions/2/export?format=yaml")
	d.get(t, at+"?tab=publish").wants(t, "the draft afterwards", http.StatusOK, `href="/pricing/versions/2"`, "does not change any more")
	if p := d.post(t, at+"/publish", good); p.status != http.StatusConflict || d.count(t, "rate_cards", "version > 2") != 0 {
		t.Errorf("again: %d %s", p.status, p.text())
	}
	d.intact(t)
}

// Of two drafts the second is shown what the first one published, and loses nothing.
func TestPublishingLosesARace(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	d.hires(t)
	mine := d.drafted(t, "Mine", plumbersIn("GB", money.GBP, 5000), plumbersIn("IE", money.EUR, 6000))
	theirs := d.drafted(t, "Theirs", plumbersIn("GB", money.GBP, 7000))
	form := url.Values{"version": {versionAt(t, d.get(t, web.DraftURL(mine.ID)+"?tab=publish"))}, "note": {"My note"}}
	b := d.colleague(t)
	first := url.Values{"version": {versionAt(t, b.get(t, web.DraftURL(theirs.ID)+"?tab=publish"))}, "note": {"Their note"}}
	if p := b.post(t, web.DraftURL(theirs.ID)+"/publish", first); p.location() != "/pricing/versions/2" {
		t.Fatalf("%d %s", p.status, p.text())
	}
	p := d.post(t, web.DraftURL(mine.ID)+"/publish", form)
	p.wants(t, "the second", http.StatusConflict, "Version 2 was published meanwhile", "Their note", "pricing_manager@example.com", "/pricing/compare?a=1&amp;b=2", "70.00", "Bring it up to date")
	if d.state(t, mine) != "draft 0" {
		t.Fatal(d.state(t, mine))
	}
	if n := strings.Count(p.body, `action="`+web.DraftURL(mine.ID)+`/update"`); n != 1 {
		t.Errorf("%d forms bring it up to date", n)
	}
	updated := d.post(t, web.DraftURL(mine.ID)+"/update", url.Values{"version": {versionAt(t, p)}})
	updated.wants(t, "up to date", http.StatusOK, "up to date with Version 2", "industry plumber, country GB", "base 50.00 GBP")
	if strings.Contains(updated.body, "country IE") {
		t.Error("what only one of the two changed is told as kept")
	}
	d.get(t, web.DraftURL(mine.ID)+"?tab=preview").wants(t, "the preview", http.StatusOK, "5 prices", "Ireland")
	form.Set("version", versionAt(t, d.get(t, web.DraftURL(mine.ID)+"?tab=publish")))
	if p := d.post(t, web.DraftURL(mine.ID)+"/publish", form); p.location() != "/pricing/versions/3" {
		t.Fatalf("%d %s", p.status, p.text())
	}
	for name, c := range map[string]struct{ country, want string }{"theirs": {"GB", "70.00"}, "mine": {"IE", "industry plumber, country IE"}} {
		d.get(t, "/pricing/explain?industry=plumber&country="+c.country).wants(t, name, http.StatusOK, c.want)
	}
	// Up to date it stays so, however often it is asked.
	next := d.drafted(t, "Next", plumbersIn("FR", money.EUR, 6000))
	if p := d.post(t, web.DraftURL(next.ID)+"/update", url.Values{"version": {"2"}}); p.location() != web.DraftURL(next.ID)+"?tab=preview" {
		t.Errorf("%d %s", p.status, p.text())
	}
	d.intact(t)
}

// What is published is what was looked at: an edit since then is shown instead.
func TestPublishingAnEditedDraft(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	card := d.drafted(t, "", plumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	version := versionAt(t, d.get(t, at+"?tab=publish"))
	d.ruled(t, card, plumbersIn("IE", money.EUR, 6000))
	for _, path := range []string{"/publish", "/update"} {
		p := d.post(t, at+path, url.Values{"version": {version}, "note": {"My note"}})
		p.wants(t, path, http.StatusConflict, "pricing_manager@example.com changed this draft", "Added a rule for industry plumber, country IE")
		if now := versionAt(t, p); path == "/publish" && now == version {
			t.Errorf("%s: the form still carries %s", path, now)
		}
	}
	if d.state(t, card) != "draft 0" {
		t.Error(d.state(t, card))
	}
}

// Where the policy asks for two, nobody publishes alone.
func TestPublishingTakesTwo(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{policy: ratecard.Policy{SecondPerson: true}})
	d.hires(t)
	card := d.drafted(t, "Plumbers", plumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	tab := func(b *visitor) page { return b.get(t, at+"?tab=publish") }
	tab(d.visitor).wants(t, "the form", http.StatusOK, "Submit for approval")
	submit := func() {
		t.Helper()
		if p := d.post(t, at+"/publish", url.Values{"version": {versionAt(t, tab(d.visitor))}, "note": {"Short of plumbers"}}); p.location() != at+"?tab=publish" || d.state(t, card) != "submitted 0" {
			t.Fatalf("%d %s: %s", p.status, d.state(t, card), p.text())
		}
	}
	submit()
	own := tab(d.visitor)
	own.wants(t, "the submitter's", http.StatusOK, "You submitted it: somebody else", "Take it back")
	if strings.Contains(own.body, at+"/approve") {
		t.Error("the submitter is offered to approve")
	}
	d.post(t, at+"/approve", url.Values{"version": {versionAt(t, own)}}).wants(t, "the submitter approves", http.StatusForbidden, "somebody else approves it")
	if p := d.post(t, at+"/take-back", url.Values{"version": {"1"}}); p.status != http.StatusConflict || d.state(t, card) != "submitted 0" {
		t.Errorf("taken back unseen: %d", p.status)
	}
	if p := d.post(t, at+"/take-back", url.Values{"version": {versionAt(t, own)}}); p.location() != at+"?tab=publish" || d.state(t, card) != "draft 0" {
		t.Fatalf("taken back: %d %s", p.status, d.state(t, card))
	}
	submit()
	b := d.colleague(t)
	form := url.Values{"version": {versionAt(t, tab(b))}}
	d.time.Advance(11 * time.Minute)
	b.post(t, at+"/approve", form).wants(t, "without proof", http.StatusUnprocessableEntity, `name="proof"`)
	form.Set("proof", password)
	if p := b.post(t, at+"/approve", form); p.location() != "/pricing/versions/2" {
		t.Fatalf("%d %s", p.status, p.text())
	}
	b.get(t, "/pricing/versions/2").wants(t, "the version", http.StatusOK, "colleague@example.com", "pricing_manager@example.com", "Approved by")
	reader := d.as(t, models.Auditor)
	if p := reader.post(t, at+"/take-back", form); p.status != http.StatusForbidden {
		t.Errorf("an auditor takes back: %d", p.status)
	}
	tab(reader).wants(t, "an auditor's page", http.StatusOK, "does not change any more")
	d.intact(t)
}

func TestPublishingAtATime(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	card, other := d.drafted(t, "Monday", plumbersIn("GB", money.GBP, 5000)), d.drafted(t, "Today", plumbersIn("IE", money.EUR, 6000))
	at, then := web.DraftURL(card.ID), d.time.Now().UTC().Add(26*time.Hour).Truncate(time.Minute)
	schedule := func() {
		t.Helper()
		form := url.Values{"version": {versionAt(t, d.get(t, at+"?tab=publish"))}, "note": {"From Monday"}, "at": {then.Format("2006-01-02T15:04")}}
		if p := d.post(t, at+"/publish", form); p.location() != at+"?tab=publish" || d.state(t, card) != "scheduled 0" {
			t.Fatalf("%d %s: %s", p.status, d.state(t, card), p.text())
		}
	}
	schedule()
	waiting := d.get(t, at+"?tab=publish")
	waiting.wants(t, "waiting", http.StatusOK, then.Format("2006-01-02 15:04:05 UTC"), "in 1 d", "Take it back")
	d.post(t, web.DraftURL(other.ID)+"/publish", url.Values{"version": {versionAt(t, d.get(t, web.DraftURL(other.ID)+"?tab=publish"))}, "note": {"Now"}}).
		wants(t, "another meanwhile", http.StatusConflict, "“Monday” is to be published at")
	if p := d.post(t, at+"/take-back", url.Values{"version": {versionAt(t, waiting)}}); p.status != http.StatusSeeOther || d.state(t, card) != "draft 0" {
		t.Fatalf("%d %s", p.status, d.state(t, card))
	}
	schedule()
	d.time.Advance(26*time.Hour + time.Second)
	if did, err := d.options.Prices.ReleaseDue(t.Context()); err != nil || !did || d.state(t, card) != "published 2" {
		t.Fatalf("%t, %v, %s", did, err, d.state(t, card))
	}
	b := d.as(t, models.PricingManager)
	b.get(t, at+"?tab=publish").wants(t, "afterwards", http.StatusOK, `href="/pricing/versions/2"`)
}

// Every form about a draft, with what no form of ours sends.
func TestBadPublishingForms(t *testing.T) {
	t.Parallel()
	d := newPriceDesk(t, kind{})
	card := d.drafted(t, "Plumbers", plumbersIn("GB", money.GBP, 5000))
	rows := func() string {
		return testkit.Value[string](t, d.Database, `SELECT md5(string_agg(x, '' ORDER BY x)) FROM (SELECT c::text FROM rate_cards c UNION ALL SELECT r::text FROM pricing_rules r UNION ALL SELECT p::text FROM rate_card_replays p) AS all_of_it(x)`)
	}
	all := func(value string) string {
		return url.Values{"version": {value}, "note": {value}, "at": {value}, "days": {value}, "proof": {value}}.Encode()
	}
	before := rows()
	for name, body := range map[string]string{
		"nothing": "", "empty": all(""), "hostile": all(hostile), "NUL": all("a\x00b"), "long": all(strings.Repeat("9", 3000)), "no UTF-8": "note=%ff&at=%ff&version=%ff&days=%ff",
		"bad escapes": "note=%zz", "another kind": `{"note":"x"}`, "huge": "version=99999999999999999999&note=x&days=99999999999999999999", "a megabyte": "note=" + strings.Repeat("x", 1<<20),
	} {
		for _, path := range []string{"/publish", "/approve", "/take-back", "/update", "/replay"} {
			p := d.send(t, http.MethodPost, web.DraftURL(card.ID)+path, strings.NewReader(body), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			if !slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.status) {
				t.Errorf("%s: %s: %d %.200s", name, path, p.status, p.text())
			}
			if strings.Contains(p.body, "<script>alert") {
				t.Errorf("%s: %s repeats markup as it came", name, path)
			}
			if rows() != before {
				t.Fatalf("%s: %s changed something", name, path)
			}
		}
	}
	if p := d.post(t, web.DraftURL(uuid.New())+"/publish", url.Values{"note": {"x"}}); p.status != http.StatusNotFound {
		t.Errorf("a draft that is none: %d", p.status)
	}
	d.intact(t)
}
