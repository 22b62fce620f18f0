package pricing_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
)

func expectState(t testing.TB, d admintest.ConsoleWithPrices, card models.RateCard, want string) {
	t.Helper()
	if got := d.State(t, card); got != want {
		t.Fatalf("got draft state %q, want %q", got, want)
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	card := d.AddDraft(t, "Plumbers", admintest.PlumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	form := d.Get(t, at+"?tab=publish")
	form.Expect(t, "the form", http.StatusOK, `id="what"`, `name="note"`, `type="datetime-local"`, `action="`+at+`/publish"`)
	version := admintest.VersionAt(t, form)
	for name, c := range map[string]struct {
		values url.Values
		field  string
	}{
		"no note":                      {url.Values{}, "note"},
		"long note":                    {url.Values{"note": {strings.Repeat("x", 201)}}, "note"},
		"note with two lines":          {url.Values{"note": {"a\r\nb"}}, "note"},
		"note with invalid characters": {url.Values{"note": {"a\x00\xff"}}, "note"},
		"not a time":                   {url.Values{"note": {"x"}, "at": {"tomorrow"}}, "at"},
		"time in the past":             {url.Values{"note": {"x"}, "at": {"2020-01-01T09:00"}}, "at"},
		"time years ahead":             {url.Values{"note": {"x"}, "at": {"9999-01-01T09:00"}}, "at"},
		"time with markup":             {url.Values{"note": {"x"}, "at": {admintest.HostileText}}, "at"},
	} {
		c.values.Set("version", version)
		p := d.Post(t, at+"/publish", c.values)
		p.Expect(t, name, http.StatusUnprocessableEntity, `id="f-`+c.field+`-error"`, `href="#f-`+c.field+`"`)
		if strings.Contains(p.Body, "<script>alert") {
			t.Errorf("%s: got unescaped markup", name)
		}
	}
	good := url.Values{"version": {version}, "note": {"Plumbers in Britain are short"}}
	d.Time.Advance(11 * time.Minute)
	d.Post(t, at+"/publish", good).Expect(t, "without proof", http.StatusUnprocessableEntity, `name="proof"`,
		"Plumbers in Britain are short")
	good.Set("proof", "wrong")
	d.Post(t, at+"/publish", good).Expect(t, "with a wrong proof", http.StatusUnprocessableEntity, `id="f-proof-error"`)
	expectState(t, d, card, "draft 0")
	good.Set("proof", admintest.Password)
	d.Post(t, at+"/publish", good).ExpectRedirect(t, "/pricing/versions/2")
	expectState(t, d, card, "published 2")
	d.Get(t, "/pricing/versions/2").Expect(t, "the version", http.StatusOK, `data-state="published"`,
		"Plumbers in Britain are short", "plumber", `data-action="pricing.publish"`, "/pricing/drafts/new?from=2",
		"/pricing/versions/2/export?format=yaml")
	expectPublished(t, d.Get(t, at+"?tab=publish"), at)
	if p := d.Post(t, at+"/publish", good); p.Status != http.StatusConflict || d.Count(t, "rate_cards", "version > 2") != 0 {
		t.Errorf("publishing again: got status %d: %s", p.Status, p.Text())
	}
	d.CheckAuditLog(t)
}

// expectPublished checks the Publish tab of a draft that was published as version 2.
func expectPublished(t testing.TB, p admintest.Response, draft string) {
	t.Helper()
	p.Expect(t, "a published draft", http.StatusOK, `data-state="published"`, `data-notice="info"`, `href="/pricing/versions/2"`)
	for _, form := range []string{"/publish", "/approve", "/take-back", "/update"} {
		if strings.Contains(p.Body, `action="`+draft+form+`"`) {
			t.Errorf("got the form %s for a published draft", form)
		}
	}
}

// If another draft is published first, the page shows its changes. Updating the draft loses no edits.
func TestPublishAfterNewerVersion(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	d.AddColleague(t)
	mine := d.AddDraft(t, "Mine", admintest.PlumbersIn("GB", money.GBP, 5000), admintest.PlumbersIn("IE", money.EUR, 6000))
	theirs := d.AddDraft(t, "Theirs", admintest.PlumbersIn("GB", money.GBP, 7000))
	form := url.Values{
		"version": {admintest.VersionAt(t, d.Get(t, web.DraftURL(mine.ID)+"?tab=publish"))},
		"note":    {"My note"},
	}
	b := d.SignInAnotherUser(t)
	first := url.Values{
		"version": {admintest.VersionAt(t, b.Get(t, web.DraftURL(theirs.ID)+"?tab=publish"))},
		"note":    {"Their note"},
	}
	b.Post(t, web.DraftURL(theirs.ID)+"/publish", first).ExpectRedirect(t, "/pricing/versions/2")
	p := d.Post(t, web.DraftURL(mine.ID)+"/publish", form)
	p.Expect(t, "the second draft", http.StatusConflict, `data-code="superseded"`, `id="race"`, `href="/pricing/versions/2"`,
		"Their note", "pricing_manager@example.com", "/pricing/compare?a=1&amp;b=2", "70.00")
	expectState(t, d, mine, "draft 0")
	if n := strings.Count(p.Body, `action="`+web.DraftURL(mine.ID)+`/update"`); n != 1 {
		t.Errorf("got %d forms that update the draft, want 1", n)
	}
	updated := d.Post(t, web.DraftURL(mine.ID)+"/update", url.Values{"version": {admintest.VersionAt(t, p)}})
	updated.Expect(t, "up to date", http.StatusOK, `data-notice="warn"`, `href="/pricing/versions/2"`,
		"industry: plumber, country: GB", "50.00 GBP")
	if strings.Contains(updated.Body, "country IE") {
		t.Error("got a conflict for a change on only one side")
	}
	seen := d.Get(t, web.DraftURL(mine.ID)+"?tab=preview")
	if seen.Expect(t, "the preview", http.StatusOK, "Ireland"); len(seen.Values("data-change")) != 5 {
		t.Errorf("got %d changed prices, want 5", len(seen.Values("data-change")))
	}
	form.Set("version", admintest.VersionAt(t, d.Get(t, web.DraftURL(mine.ID)+"?tab=publish")))
	d.Post(t, web.DraftURL(mine.ID)+"/publish", form).ExpectRedirect(t, "/pricing/versions/3")
	for name, c := range map[string]struct{ country, want string }{
		"theirs": {"GB", "70.00"},
		"mine":   {"IE", "industry: plumber, country: IE"},
	} {
		d.Get(t, "/pricing/explain?industry=plumber&country="+c.country).Expect(t, name, http.StatusOK, c.want)
	}
	// Updating a draft that is up to date changes nothing.
	next := d.AddDraft(t, "Next", admintest.PlumbersIn("FR", money.EUR, 6000))
	if p := d.Post(t, web.DraftURL(next.ID)+"/update", url.Values{"version": {"2"}}); p.Location() != web.DraftURL(next.ID)+"?tab=preview" {
		t.Errorf("second update: got status %d: %s", p.Status, p.Text())
	}
	d.CheckAuditLog(t)
}

// If a draft was edited after the page was opened, it is not published, and the page shows the edit.
func TestPublishEditedDraft(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	card := d.AddDraft(t, "", admintest.PlumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	version := admintest.VersionAt(t, d.Get(t, at+"?tab=publish"))
	d.AddRule(t, card, admintest.PlumbersIn("IE", money.EUR, 6000))
	for _, path := range []string{"/publish", "/update"} {
		p := d.Post(t, at+path, url.Values{"version": {version}, "note": {"My note"}})
		p.Expect(t, path, http.StatusConflict, `data-conflict="changed"`, "pricing_manager@example.com", lastEdit(t, d.Database))
		if now := admintest.VersionAt(t, p); path == "/publish" && now == version {
			t.Errorf("%s: got a form with the old version %s", path, now)
		}
	}
	expectState(t, d, card, "draft 0")
}

// If approval is required, users cannot publish alone.
func TestPublishRequiresTwoUsers(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{Policy: ratecard.Policy{RequireApproval: true}})
	d.AddColleague(t)
	card := d.AddDraft(t, "Plumbers", admintest.PlumbersIn("GB", money.GBP, 5000))
	at := web.DraftURL(card.ID)
	tab := func(b *admintest.Client) admintest.Response { return b.Get(t, at+"?tab=publish") }
	tab(d.Client).Expect(t, "the form", http.StatusOK, `action="`+at+`/publish" method="post" data-approval`)
	submit := func() {
		t.Helper()
		d.Post(t, at+"/publish", url.Values{
			"version": {admintest.VersionAt(t, tab(d.Client))},
			"note":    {"Short of plumbers"},
		}).ExpectRedirect(t, at+"?tab=publish")
		expectState(t, d, card, "submitted 0")
	}
	submit()
	own := tab(d.Client)
	own.Expect(t, "as the submitter", http.StatusOK, `data-state="submitted"`, `data-notice="info"`, `action="`+at+`/take-back"`)
	if strings.Contains(own.Body, at+"/approve") {
		t.Error("as the submitter: got the form that approves the draft")
	}
	d.Post(t, at+"/approve", url.Values{"version": {admintest.VersionAt(t, own)}}).Expect(t, "the submitter approves",
		http.StatusForbidden, `data-code="same_person"`)
	if p := d.Post(t, at+"/take-back", url.Values{"version": {"1"}}); p.Status != http.StatusConflict ||
		d.State(t, card) != "submitted 0" {
		t.Errorf("withdrawing with a stale form: got status %d", p.Status)
	}
	d.Post(t, at+"/take-back", url.Values{"version": {admintest.VersionAt(t, own)}}).ExpectRedirect(t, at+"?tab=publish")
	expectState(t, d, card, "draft 0")
	submit()
	b := d.SignInAnotherUser(t)
	form := url.Values{"version": {admintest.VersionAt(t, tab(b))}}
	d.Time.Advance(11 * time.Minute)
	b.Post(t, at+"/approve", form).Expect(t, "without proof", http.StatusUnprocessableEntity, `name="proof"`)
	form.Set("proof", admintest.Password)
	b.Post(t, at+"/approve", form).ExpectRedirect(t, "/pricing/versions/2")
	b.Get(t, "/pricing/versions/2").Expect(t, "the version", http.StatusOK, "pricing_manager@example.com",
		"data-approver>colleague@example.com<")
	reader := d.SignedInAs(t, models.Auditor)
	if p := reader.Post(t, at+"/take-back", form); p.Status != http.StatusForbidden {
		t.Errorf("withdrawing as an auditor: got status %d", p.Status)
	}
	expectPublished(t, tab(reader), at)

	form = url.Values{"version": {"2"}, "note": {"Back"}, "proof": {admintest.Password}}
	if p := reader.Post(t, "/pricing/versions/1/rollback", form); p.Status != http.StatusForbidden {
		t.Errorf("rolling back as an auditor: got status %d", p.Status)
	}
	rollback := d.Post(t, "/pricing/versions/1/rollback", form).Location()
	d.Get(t, rollback).Expect(t, "a rollback", http.StatusOK, `data-state="submitted"`, `href="/pricing/versions/2"`,
		`data-copied-from href="/pricing/versions/1"`)
	d.CheckAuditLog(t)
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	card, other := d.AddDraft(t, "Monday", admintest.PlumbersIn("GB", money.GBP, 5000)), d.AddDraft(t, "Today", admintest.PlumbersIn("IE", money.EUR, 6000))
	at, then := web.DraftURL(card.ID), d.Time.Now().UTC().Add(26*time.Hour).Truncate(time.Minute)
	schedule := func() {
		t.Helper()
		form := url.Values{
			"version": {admintest.VersionAt(t, d.Get(t, at+"?tab=publish"))},
			"note":    {"From Monday"},
			"at":      {then.Format("2006-01-02T15:04")},
		}
		d.Post(t, at+"/publish", form).ExpectRedirect(t, at+"?tab=publish")
		expectState(t, d, card, "scheduled 0")
	}
	schedule()
	waiting := d.Get(t, at+"?tab=publish")
	waiting.Expect(t, "waiting", http.StatusOK, `data-state="scheduled"`, `datetime="`+then.Format(time.RFC3339),
		then.Format("2006-01-02 15:04:05 UTC"), `action="`+at+`/take-back"`)
	d.Post(t, web.DraftURL(other.ID)+"/publish", url.Values{
		"version": {admintest.VersionAt(t, d.Get(t, web.DraftURL(other.ID)+"?tab=publish"))},
		"note":    {"Now"},
	}).
		Expect(t, "another draft while one is scheduled", http.StatusConflict, `data-code="scheduled"`, "Monday")
	d.Post(t, at+"/take-back", url.Values{"version": {admintest.VersionAt(t, waiting)}}).ExpectRedirect(t, at+"?tab=publish")
	expectState(t, d, card, "draft 0")
	schedule()
	d.Time.Advance(26*time.Hour + time.Second)
	if did, err := d.Options.Prices.ReleaseDue(t.Context()); err != nil || !did || d.State(t, card) != "published 2" {
		t.Fatalf("got ReleaseDue = %t (%v), state %s", did, err, d.State(t, card))
	}
	b := d.SignedInAs(t, models.PricingManager)
	b.Get(t, at+"?tab=publish").Expect(t, "afterwards", http.StatusOK, `href="/pricing/versions/2"`)
}

// Publishing forms reject requests that the console never sends.
func TestPublishingFormsRejectBadRequests(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	card := d.AddDraft(t, "Plumbers", admintest.PlumbersIn("GB", money.GBP, 5000))
	rows := func() string {
		return testkit.Value[string](t, d.Database,
			`SELECT md5(string_agg(x, '' ORDER BY x)) FROM (SELECT c::text FROM rate_cards c UNION ALL SELECT r::text FROM pricing_rules r UNION ALL SELECT p::text FROM rate_card_replays p) AS all_of_it(x)`)
	}
	all := func(value string) string {
		return url.Values{
			"version": {value},
			"note":    {value},
			"at":      {value},
			"days":    {value},
			"proof":   {value},
		}.Encode()
	}
	before := rows()
	for name, body := range map[string]string{
		"no body":      "",
		"empty fields": all(""),
		"hostile":      all(admintest.HostileText),
		"NUL":          all("a\x00b"),
		"long":         all(strings.Repeat("9", 3000)),
		"not UTF-8":    "note=%ff&at=%ff&version=%ff&days=%ff",
		"bad escapes":  "note=%zz",
		"JSON":         `{"note":"x"}`,
		"huge":         "version=99999999999999999999&note=x&days=99999999999999999999",
		"a megabyte":   "note=" + strings.Repeat("x", 1<<20),
	} {
		for _, path := range []string{"/publish", "/approve", "/take-back", "/update", "/replay"} {
			p := d.Send(t, http.MethodPost, web.DraftURL(card.ID)+path, strings.NewReader(body),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			if !slices.Contains([]int{http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Status) {
				t.Errorf("%s: %s: got status %d: %.200s", name, path, p.Status, p.Text())
			}
			if strings.Contains(p.Body, "<script>alert") {
				t.Errorf("%s: %s: got unescaped markup", name, path)
			}
			if rows() != before {
				t.Fatalf("%s: %s changed the database", name, path)
			}
		}
	}
	if p := d.Post(t, web.DraftURL(uuid.New())+"/publish", url.Values{"note": {"x"}}); p.Status != http.StatusNotFound {
		t.Errorf("unknown draft: got status %d", p.Status)
	}
	d.CheckAuditLog(t)
}

// The page of a version links to a form that shows the changes of a rollback and carries it out.
func TestRollBack(t *testing.T) {
	t.Parallel()
	d := admintest.NewConsoleWithPrices(t, admintest.Setup{})
	d.Publish(t, "Dearer", admintest.PlumbersIn("GB", money.GBP, 5000))
	const page = "/pricing/versions/1/rollback"
	form := d.Get(t, page)
	form.Expect(t, "the form", http.StatusOK, `value="Roll back to version 1"`, "50.00")
	expectChanges(t, form, 5)
	seen := url.Values{"version": {admintest.VersionAt(t, form)}, "note": {"Roll back to version 1"}}

	d.Publish(t, "Dearer in Ireland", admintest.PlumbersIn("IE", money.EUR, 6000))
	again := d.Post(t, page, seen)
	again.Expect(t, "after another version", http.StatusConflict, `data-code="superseded"`, "60.00")
	if n := d.Count(t, "rate_cards", "state NOT IN ('published', 'superseded')"); n != 0 {
		t.Errorf("a rejected rollback left %d drafts", n)
	}
	monday := d.AddDraft(t, "Monday", admintest.PlumbersIn("FR", money.EUR, 6000))
	at := web.DraftURL(monday.ID)
	d.Post(t, at+"/publish", url.Values{
		"version": {admintest.VersionAt(t, d.Get(t, at+"?tab=publish"))},
		"note":    {"From Monday"},
		"at":      {d.Time.Now().UTC().Add(26 * time.Hour).Format("2006-01-02T15:04")},
	}).ExpectRedirect(t, at+"?tab=publish")
	d.Get(t, page).Expect(t, "with a scheduled draft", http.StatusOK, `data-withdraws="`+at+`"`)
	seen.Set("version", admintest.VersionAt(t, again))
	d.Post(t, page, seen).Expect(t, "scheduled since the page was opened", http.StatusConflict, `data-code="scheduled"`)
	expectState(t, d, monday, "scheduled 0")
	seen.Set("withdraws", id.Format(id.RateCard, monday.ID))
	d.Post(t, page, seen).ExpectRedirect(t, "/pricing/versions/4")
	expectState(t, d, monday, "draft 0")
	d.Get(t, "/pricing/versions/4").Expect(t, "the new version", http.StatusOK, `data-state="published"`,
		`data-copied-from href="/pricing/versions/1"`, `href="/pricing/versions/3/rollback"`)
	if n := testkit.Value[int](t, d.Database, `SELECT count(*) FROM rate_cards
		WHERE version = 4 AND based_on = 3 AND copied_from = 1 AND note = 'Roll back to version 1'`); n != 1 {
		t.Error("version 4 is not based on version 3 with the rules of version 1")
	}
	if n := d.Count(t, "audit_events", `action = 'pricing.publish' AND before->>'version' = '3'
		AND after->>'version' = '4' AND after->>'copied_from' = '1'`); n != 1 {
		t.Errorf("got %d events for version 4, want 1", n)
	}
	if p := d.Get(t, "/pricing/versions/4/rollback"); p.Location() != "/pricing/versions/4" {
		t.Errorf("the current version: got status %d", p.Status)
	}
	if p := d.Get(t, page); p.Status != http.StatusOK || strings.Contains(p.Body, `name="note"`) {
		t.Errorf("the same rules: got status %d and a form: %s", p.Status, p.Text())
	}
	d.Post(t, page, url.Values{"version": {"4"}, "note": {"x"}}).Expect(t, "the same rules", http.StatusUnprocessableEntity)
	d.CheckAuditLog(t)
}
