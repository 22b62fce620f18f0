package partners_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/admin/web/outcomes"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// The onboarding page guides the user through every step from a new partner to its first post.
func TestOnboarding(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.AccountManager)
	if p := b.Get(t, "/partners"); p.Status != http.StatusOK || !strings.Contains(p.Body, `href="/partners/new"`) {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	form := url.Values{"name": {" North  Road! "}, "signing": {"report_only"}, "manager": {"Ben Okafor"}}
	p := b.Post(t, "/partners/new", form)
	p.Expect(t, "without a slug", http.StatusUnprocessableEntity, `data-error="slug"`, `value="north-road"`)
	form.Set("slug", "north-road")
	created := b.Post(t, "/partners/new", form)
	if created.Status != http.StatusSeeOther || !strings.HasSuffix(created.Location(), "/onboarding") {
		t.Fatalf("%d %s", created.Status, created.Text())
	}
	path := created.Location()
	partner := strings.TrimSuffix(path, "/onboarding")
	step := func(want string) admintest.Response { // exactly one step is current, and it contains the wanted text
		t.Helper()
		p := b.Get(t, path)
		_, rest, _ := strings.Cut(p.Body, `aria-current="step"`)
		current, rest, _ := strings.Cut(rest, "</details>")
		if !strings.Contains(current, want) || strings.Contains(rest, `aria-current="step"`) {
			t.Fatalf("current step is %.1000q, want %s", current, want)
		}
		return p
	}
	back := "?return=" + url.QueryEscape(path)
	step(`href="` + partner + `/accounts/new` + back + `"`)
	if p := b.Get(t, partner+"/accounts/new"); !strings.Contains(p.Body, `value="north-road-sandbox"`) {
		t.Errorf("the form does not suggest a sandbox account: %s", p.Text())
	}
	if p := b.Post(t, partner+"/accounts/new", url.Values{"identifier": {"north-road-sandbox"}, "name": {"Sandbox"}, "sandbox": {"yes"}, "signing": {"inherit"}}); p.Location() != path {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	p = step(`action="` + partner + `/approve"`)
	if p := b.Post(t, partner+"/approve", url.Values{"version": {admintest.VersionAt(t, p)}, "return": {path}}); p.Location() != path {
		t.Fatalf("got %d to %q, want a redirect to %s", p.Status, p.Location(), path)
	}
	step(`href="` + partner + `/secrets/new` + back + `"`)
	if p := b.Get(t, partner+"/secrets/new"+back); !strings.Contains(p.Body, `href="`+path+`">Cancel`) ||
		!strings.Contains(p.Body, `name="return" value="`+path+`"`) {
		t.Errorf("cancelling does not return to the onboarding page: %s", p.Text())
	}
	if p := b.Get(t, partner+"/secrets/new?return=//evil.example"); !strings.Contains(p.Body, `href="`+partner+`?tab=secrets">Cancel`) ||
		strings.Contains(p.Body, `value="//evil`) {
		t.Error("the form returns to another site")
	}
	shown := b.Post(t, partner+"/secrets/new", url.Values{"label": {"first"}})
	secret := admintest.ShownSecret.FindString(shown.Body)
	if shown.Status != http.StatusOK || secret == "" || shown.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(shown.Body, "http://api.example/p/north-road") || !strings.Contains(shown.Body, `href="`+path+`"`) {
		t.Fatalf("%d %s", shown.Status, shown.Text())
	}
	p = step(`action="` + partner + `/link"`)
	created = b.Post(t, partner+"/link", url.Values{"version": {admintest.VersionAt(t, p)}, "return": {path}})
	link := admintest.ShownLink.FindString(created.Body)
	if created.Status != http.StatusOK || link == "" || created.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(created.Body, `href="`+path+`"`) {
		t.Fatalf("%d %s", created.Status, created.Text())
	}
	states := func(want ...string) {
		t.Helper()
		if p := b.Get(t, path); !slices.Equal(p.Values("data-state"), want) {
			t.Errorf("states are %q, want %q: %s", p.Values("data-state"), want, p.Text())
		}
	}
	post := func(account, outcome string) { // adds an accepted post, signed unless the outcome contains "unsigned"
		t.Helper()
		h.Exec(t, `INSERT INTO traffic_minutes SELECT date_trunc('minute', $1::timestamptz), a.partner_id, a.id,
				CASE WHEN $3 LIKE '%unsigned' THEN '00000000-0000-0000-0000-000000000000' ELSE s.id END, 'post', $3, 1, '{}'
			FROM accounts a JOIN signing_secrets s USING (partner_id) WHERE a.identifier = $2`, h.Time.Now(), account, outcome)
	}
	step(`id="first-post"`)
	post("north-road-sandbox", "delivered_unsigned")
	post("north-road-sandbox", "signature")
	states("done", "done", "done", "done", "current", "pending", "waiting")
	post("north-road-sandbox", "delivered")
	states("done", "done", "done", "done", "done", "current")
	step(`href="` + partner + `/accounts/new` + back + `"`)
	if p := b.Get(t, partner+"/accounts/new"); !strings.Contains(p.Body, `value="north-road"`) {
		t.Errorf("the form does not propose a partnerId: %s", p.Text())
	}
	if p := b.Post(t, partner+"/accounts/new", url.Values{"identifier": {"north-road"}, "signing": {"inherit"}, "return": {path}}); p.Location() != path ||
		h.Count(t, "accounts", "identifier = 'north-road' AND is_default") != 1 {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	states("done", "done", "done", "done", "done", "current")
	post("north-road", "delivered")
	step(`href="` + partner + `?tab=signing"`)
	if p := b.Get(t, path+"/live"); !strings.Contains(p.Body, `id="require-signing-buttons" hx-swap-oob="true"`) {
		t.Errorf("live updates do not add the button: %s", p.Body)
	}
	p = b.Get(t, partner+"?tab=signing")
	if !strings.Contains(p.Body, `href="`+path+`"`) {
		t.Error("the onboarding page cannot be reached before signing is required")
	}
	b.Post(t, partner+"/signing",
		url.Values{"version": {admintest.VersionAt(t, p)}, "signing": {"required"}, "confirmed": {"required"}})
	states("done", "done", "done", "done", "done", "done")
	if p := b.Get(t, partner); strings.Contains(p.Body, `href="`+path+`"`) {
		t.Error("the onboarding page is offered after its last step")
	}
	for _, tab := range []string{"", "?tab=details", "?tab=signing", "?tab=secrets", "?tab=traffic", "?tab=requests",
		"?tab=documentation", "?tab=audit", "?tab=nothing", "/onboarding", "/onboarding/live", "/check"} {
		if p := b.Get(t, partner+tab); p.Status != http.StatusOK || strings.Contains(p.Body, secret) ||
			strings.Contains(p.Body, link) {
			t.Errorf("%s: %d, shows the secret: %t, shows the link: %t", tab, p.Status,
				strings.Contains(p.Body, secret), strings.Contains(p.Body, link))
		}
	}
	if n := h.Count(t, "audit_events", `after::text LIKE '%' || $1 || '%' OR before::text LIKE '%' || $1 || '%'`,
		secret[len(secret)-10:]); n != 0 {
		t.Error("the audit log contains the secret")
	}
	h.CheckAuditLog(t)
}

// A change that is based on an old version is rejected. The page shows the conflicting change.
func TestConflictingPartnerChanges(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	account, err := o.Options.Partners.CreateAccount(t.Context(), scope.System, models.Partner{ID: o.PartnerID},
		partners.NewAccount{Identifier: "harbour-1"})
	if err != nil {
		t.Fatal(err)
	}
	at := o.PartnerURL + "/accounts/" + id.Format(id.Account, account.ID)
	details := url.Values{
		"name":            {"Harbour"},
		"legal_name":      {"Harbour Leads GmbH"},
		"notes":           {"one\r\ntwo"},
		"contact-0-name":  {"Mo"},
		"contact-0-email": {"mo@example.com"},
	}
	for name, c := range map[string]struct {
		page, form string
		first      url.Values
		second     url.Values
		shown      string // input of the second change, which the page must show again
		where      string // query that reports whether the first change is still in place
	}{
		"details": {o.PartnerURL + "?tab=details", o.PartnerURL + "/details", details, url.Values{"name": {"Hafen"}},
			`value="Hafen"`, `SELECT name = 'Harbour' FROM partners WHERE slug = 'harbour-leads'`},
		"signing": {o.PartnerURL + "?tab=signing", o.PartnerURL + "/signing",
			url.Values{"signing": {"report_only"}, "confirmed": {"report_only"}},
			url.Values{"signing": {"off"}, "confirmed": {"off"}}, `value="off" checked`,
			`SELECT signing_mode = 'report_only' FROM partners WHERE slug = 'harbour-leads'`},
		"account": {at, at, url.Values{
			"name":    {"Main"},
			"signing": {"inherit"},
			"status":  {"active"},
		}, url.Values{
			"name":      {"Primary"},
			"signing":   {"off"},
			"confirmed": {"off"},
			"status":    {"active"},
		}, `value="Primary"`, `SELECT name = 'Main' FROM accounts WHERE identifier = 'harbour-1'`},
		"status": {o.PartnerURL + "?tab=details", o.PartnerURL + "/approve", url.Values{}, url.Values{},
			`data-notice="bad"`, `SELECT status = 'approved' FROM partners WHERE slug = 'harbour-leads'`},
	} {
		version := admintest.VersionAt(t, o.Get(t, c.page))
		c.first.Set("version", version)
		c.second.Set("version", version)
		if p := o.Post(t, c.form, c.first); p.Status != http.StatusSeeOther {
			t.Fatalf("%s: first change: %d %s", name, p.Status, p.Text())
		}
		p := o.Post(t, c.form, c.second)
		if p.Status != http.StatusConflict || !strings.Contains(p.Body, c.shown) ||
			name != "status" && (!slices.Equal(p.Values("data-conflict"), []string{"changed"}) ||
				!strings.Contains(p.Body, "account_manager@example.com")) {
			t.Errorf("%s: second change: %d %s", name, p.Status, p.Text())
		}
		if !testkit.Value[bool](t, o.Database, c.where) {
			t.Errorf("%s: the first change was overwritten", name)
		}
		if name == "status" {
			continue
		}
		// With the new version, the second change succeeds.
		c.second.Set("version", admintest.VersionAt(t, p))
		if p := o.Post(t, c.form, c.second); p.Status != http.StatusSeeOther {
			t.Errorf("%s: second change with the new version: %d %s", name, p.Status, p.Text())
		}
	}
	o.CheckAuditLog(t)
}

// For invalid input, the page shows an error at the field.
func TestPartnerFormErrors(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	other, err := o.Options.Partners.Create(t.Context(), partners.NewPartner{
		Slug:    "meadow",
		Name:    "Meadow",
		Signing: models.SigningOff,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Options.Partners.CreateAccount(t.Context(), scope.System, other,
		partners.NewAccount{Identifier: "MEADOW-101"}); err != nil {
		t.Fatal(err)
	}
	version := admintest.VersionAt(t, o.Get(t, o.PartnerURL+"?tab=details"))
	for name, c := range map[string]struct {
		form   string
		values url.Values
		field  string
	}{
		"a slug in use": {
			"/partners/new", url.Values{"name": {"X"}, "slug": {"harbour-leads"}}, "slug",
		},
		"a look-alike slug": {
			"/partners/new", url.Values{"name": {"X"}, "slug": {"harb0ur-leads"}}, "slug",
		},
		"a slug in capitals": {"/partners/new", url.Values{"name": {"X"}, "slug": {"Harbour"}}, "slug"},
		"a slug in Cyrillic": {"/partners/new", url.Values{"name": {"X"}, "slug": {"hаrbour"}}, "slug"},
		"a partnerId in use": {
			o.PartnerURL + "/accounts/new", url.Values{"identifier": {"MEADOW-101"}}, "identifier",
		},
		"a partnerId in use, in another case": {
			o.PartnerURL + "/accounts/new", url.Values{"identifier": {" meadow-101 "}}, "identifier",
		},
		"a look-alike partnerId": {
			o.PartnerURL + "/accounts/new", url.Values{"identifier": {"MEAD0W-IOl"}}, "identifier",
		},
		"a partnerId with a space": {
			o.PartnerURL + "/accounts/new", url.Values{"identifier": {"mea dow"}}, "identifier",
		},
		"no name": {o.PartnerURL + "/details", url.Values{"version": {version}}, "name"},
		"an invalid email": {o.PartnerURL + "/details", url.Values{
			"version":         {version},
			"name":            {"X"},
			"contact-1-name":  {"Mo"},
			"contact-1-email": {"mo at example"},
		}, "contact-1-email"},
		"an unknown mode": {o.PartnerURL + "/signing", url.Values{
			"version": {version},
			"signing": {"sometimes"},
		}, "signing"},
		"a short secret":     {o.PartnerURL + "/secrets/new", url.Values{"import": {"tooshort"}}, "import"},
		"a weak secret":      {o.PartnerURL + "/secrets/new", url.Values{"import": {strings.Repeat("ab", 20)}}, "import"},
		"an unknown overlap": {o.PartnerURL + "/secrets/rotate", url.Values{"overlap": {"a year"}}, "overlap"},
		"no body to check":   {o.PartnerURL + "/check", url.Values{"request": {"X-Timestamp: 1"}}, "request"},
	} {
		p := o.Post(t, c.form, c.values)
		if p.Status != http.StatusUnprocessableEntity && p.Status != http.StatusConflict {
			t.Errorf("%s: %d %s", name, p.Status, p.Text())
			continue
		}
		if !strings.Contains(p.Body, `href="#f-`+c.field+`"`) || !slices.Contains(p.Errors(), c.field) {
			t.Errorf("%s: errors at %q, want %s: %s", name, p.Errors(), c.field, p.Text())
		}
		for _, typed := range []string{"import"} {
			if secret := c.values.Get(typed); secret != "" && strings.Contains(p.Body, secret) {
				t.Errorf("%s: the page shows the entered secret", name)
			}
		}
		if strings.Contains(p.Body, "MEADOW-101") && c.values.Get("identifier") != "MEADOW-101" {
			t.Errorf("%s: the page shows another partner's identifier", name)
		}
	}
	if n := o.Count(t, "partners", "true") + o.Count(t, "accounts", "true") + o.Count(t, "signing_secrets",
		"true"); n != 3+2 {
		t.Errorf("got %d partners, accounts and secrets, want 5", n)
	}
}

// Secrets can be rotated and revoked, and their expiry can be changed. A warning is shown before the
// last secret is revoked.
func TestSecrets(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	first := admintest.ShownSecret.FindString(o.Post(t, o.PartnerURL+"/secrets/new", url.Values{"label": {"first"}}).Body)
	o.Time.Advance(time.Minute) // so that the newer secret is first in the list
	rotated := o.Post(t, o.PartnerURL+"/secrets/rotate", url.Values{
		"label": {"second"}, "overlap": {"24h"}, "import": {"only the form for new secrets has this field"},
	})
	second := admintest.ShownSecret.FindString(rotated.Body)
	if first == "" || second == "" || first == second ||
		!strings.Contains(rotated.Body, o.Time.Now().Add(24*time.Hour).UTC().Format("2006-01-02 15:04:05 UTC")) {
		t.Fatalf("%s", rotated.Text())
	}
	if p := o.Post(t, o.PartnerURL+"/secrets/rotate", url.Values{"overlap": {"24h"}}); p.Status != http.StatusConflict ||
		len(p.Values("data-errors")) != 1 || !slices.Contains(p.Values("data-notice"), "warn") ||
		!strings.Contains(p.Body, `name="force"`) {
		t.Errorf("second rotation: %d %s", p.Status, p.Text())
	}
	list := func(age time.Duration, state string) { // checks that the newer secret is active, and the state and expiry of the older one
		t.Helper()
		p := o.Get(t, o.PartnerURL+"?tab=secrets")
		want := []string{"pending", "active", state} // the partner, the newer and the older secret
		if ends := `datetime="` + ui.RFC3339(o.Time.Now().Add(age)) + `"`; !slices.Equal(p.Values("data-state"), want) ||
			!strings.Contains(p.Body, ends) || !admintest.ShownLabel.MatchString(p.Body) {
			t.Errorf("states are %q, want %q and %s: %s", p.Values("data-state"), want, ends, p.Text())
		}
	}
	list(24*time.Hour, "expiring")
	older := o.SecretNamed(t, "first")
	end := func(when string) admintest.Response { return o.Post(t, older+"/expire", url.Values{"when": {when}}) }
	if p := end("7d"); p.Status != http.StatusSeeOther {
		t.Errorf("extending: %d %s", p.Status, p.Text())
	}
	list(7*24*time.Hour, "expiring")
	if p := end("now"); p.Status != http.StatusSeeOther {
		t.Errorf("expiring now: %d %s", p.Status, p.Text())
	}
	list(0, "expired")
	if p := end("7d"); p.Status != http.StatusConflict {
		t.Errorf("expired secret: %d %s", p.Status, p.Text())
	}
	newer := o.SecretNamed(t, "second")
	o.Exec(t, `INSERT INTO traffic_minutes (minute, partner_id, account_id, secret_id, endpoint, outcome, count, latency)
		SELECT date_trunc('minute', $1::timestamptz), partner_id, partner_id, id, 'post', 'delivered', 7, '{}' FROM signing_secrets WHERE label = 'second'`, o.Time.Now())
	if p := o.Get(t, newer+"/revoke"); !slices.Equal(p.Values("data-notice"), []string{"warn"}) ||
		!strings.Contains(p.Body, "…"+second[len(second)-4:]) || !strings.Contains(p.Body, ">7<") {
		t.Errorf("before the last secret is revoked: %s", p.Text())
	}
	if p := o.Post(t, newer+"/revoke", url.Values{"name": {"harbour"}}); p.Status != http.StatusUnprocessableEntity ||
		!slices.Equal(p.Errors(), []string{"name"}) {
		t.Errorf("revoked with a wrong name: %d", p.Status)
	}
	if p := o.Post(t, newer+"/revoke", url.Values{"name": {o.Slug}}); p.Status != http.StatusSeeOther ||
		o.Count(t, "signing_secrets", "state = 'revoked'") != 1 {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	revoked := o.Time.Now()
	o.Time.Advance(time.Minute)
	p := o.Get(t, o.PartnerURL+"?tab=secrets")
	p.Expect(t, "no valid secret is left", http.StatusOK, `data-notice="warn"`,
		"revoked: “second” (…"+second[len(second)-4:]+")")
	if !strings.Contains(p.Body, `datetime="`+ui.RFC3339(revoked)+`"`) ||
		strings.Count(p.Body, "by account_manager@example.com") != 3 { // who created two secrets and revoked one
		t.Errorf("the list does not show when and by whom the secret was revoked: %s", p.Text())
	}
	if p := o.Post(t, newer+"/revoke", url.Values{"name": {o.Slug}}); p.Status != http.StatusConflict {
		t.Errorf("revoked twice: %d %s", p.Status, p.Text())
	}
	o.Time.Advance(11 * time.Minute)
	if p := o.Post(t, o.PartnerURL+"/secrets/new", url.Values{"label": {"third"}}); p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Body, `name="proof"`) || admintest.ShownSecret.MatchString(p.Body) {
		t.Errorf("without proof after 11 minutes: %d %s", p.Status, p.Text())
	}
	if p := o.Post(t, o.PartnerURL+"/secrets/new", url.Values{"label": {"third"}, "proof": {admintest.Password}}); !admintest.ShownSecret.MatchString(p.Body) {
		t.Errorf("with proof: %d %s", p.Status, p.Text())
	}
	o.CheckAuditLog(t)
}

// A user with a role for one partner sees only that partner and cannot create partners.
func TestPartnersInScope(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	theirs := o.AddPartner(t, "meadow")
	mine := o.PartnerID
	p := o.AddStaff(t, "ben-of-harbour@example.com", models.StaffRole{Role: models.AccountManager, PartnerID: &mine})
	o.Reload(t)
	b := o.Console.NewClient(t)
	b.SignIn(t, p.Email)
	list := b.Get(t, "/partners")
	if !strings.Contains(list.Body, o.PartnerURL) || strings.Contains(list.Body, web.PartnerURL(theirs)) ||
		strings.Contains(list.Body, "/partners/new") || strings.Contains(list.Body, "meadow") {
		t.Errorf("%s", list.Text())
	}
	missing := b.Get(t, "/partners/"+id.Format(id.Partner, uuid.New()))
	for _, tab := range []string{"", "?tab=secrets", "/onboarding", "/secrets/new", "/check", "/suspend"} {
		if p := b.Get(t, web.PartnerURL(theirs)+tab); p.Status != http.StatusNotFound || p.Body != missing.Body {
			t.Errorf("other partner%s: %d", tab, p.Status)
		}
		if p := b.Get(t, o.PartnerURL+tab); p.Status != http.StatusOK {
			t.Errorf("own partner%s: %d", tab, p.Status)
		}
	}
	// Another partner's account is not found under this partner.
	account, err := o.Options.Partners.CreateAccount(t.Context(), scope.System, models.Partner{ID: theirs},
		partners.NewAccount{Identifier: "meadow-1"})
	if err != nil {
		t.Fatal(err)
	}
	if p := o.Get(t, o.PartnerURL+"/accounts/"+id.Format(id.Account, account.ID)); p.Status != http.StatusNotFound {
		t.Errorf("other partner's account: %d", p.Status)
	}
	if p := b.Get(t, "/jump?q="+id.Format(id.Partner, theirs)); p.Location() == web.PartnerURL(theirs) {
		t.Error("the jump leads to a partner out of scope")
	}
	if p := b.Get(t, "/jump?q="+strings.ToLower(id.Format(id.Partner, mine))); p.Location() != o.PartnerURL {
		t.Errorf("the jump leads to %q, want %q", p.Location(), o.PartnerURL)
	}
}

var partnerLink = regexp.MustCompile(`href="(/partners/pt_[0-9A-Z]{26})"`)

// The list is filtered, sorted and paged by its query parameters.
func TestPartnersList(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	for i := range 120 {
		o.AddPartner(t, "affiliate-"+strconv.Itoa(i+100))
	}
	seen := map[string]bool{}
	next := "/partners?sort=name"
	pages := 0
	for ; next != "" && pages < 5; pages++ {
		p := o.Get(t, next)
		for _, m := range partnerLink.FindAllStringSubmatch(p.Body, -1) {
			seen[m[1]] = true
		}
		next = ""
		if m := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(p.Body); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != 121 || pages != 3 {
		t.Errorf("got %d partners on %d pages, want 121 on 3", len(seen), pages)
	}
	for query, want := range map[string]int{
		"q=harbour":                      1,
		"q=HARBOUR-L":                    1,
		"q=%25":                          0,
		"status=approved":                0,
		"status=pending":                 121,
		"signing=off":                    0,
		"q=%00":                          0,
		"sort=nonsense&before=x&after=y": 121,
	} {
		p := o.Get(t, "/partners?"+query)
		if p.Status != http.StatusOK || p.Total(t) != want ||
			len(partnerLink.FindAllString(p.Body, -1)) != min(want, 50) ||
			slices.Contains(p.Values("data-empty"), "filtered") != (want == 0) {
			t.Errorf("%s: status %d with %d partners, want %d: %s", query, p.Status, p.Total(t), want, p.Text())
		}
	}
}

// The page lists requests with their fields. They can be found by request ID and outcome.
func TestRequests(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	requests := make([]uuid.UUID, 120)
	for i := range requests {
		requests[i] = id.New(o.Time.Now())
		outcome, fields := "signature", "{}"
		if i%2 == 1 {
			outcome, fields = "payload", "{contact.email,consent.acknowledged}"
		}
		o.Exec(t,
			`INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, outcome, fields, status, code, message, detail, duration_us) VALUES ($1, $2, $3, 'other_post', 'post', $4, $5::text[], 400, 'payload_invalid', 'Invalid lead post payload', '', 310)`,
			o.PartnerID, o.Time.Now(), requests[i], outcome, fields)
	}
	requestID := id.Format(id.Request, requests[1])
	for _, url := range []string{
		"/jump?q=" + requestID,
		o.PartnerURL + "?tab=requests&request=" + strings.ToLower(requestID),
	} {
		for range 2 { // the tab's search redirects to the jump
			if p := o.Get(t, url); p.Status == http.StatusSeeOther {
				url = p.Location()
			}
		}
		if url != o.PartnerURL+"/requests/"+requestID {
			t.Errorf("the search leads to %q", url)
		}
	}
	p := o.Get(t, o.PartnerURL+"/requests/"+requestID)
	for _, text := range []string{
		requestID, "Missing or invalid field", "contact.email", "400 Bad Request", "Invalid lead post payload", "310 µs",
	} {
		if !strings.Contains(p.Body, text) {
			t.Errorf("the page of the request lacks %q: %s", text, p.Text())
		}
	}
	// Equal requests are grouped. Each group has its count.
	p = o.Get(t, o.PartnerURL+"?tab=requests")
	if n := strings.Count(p.Body, ">60<"); p.Status != http.StatusOK || strings.Count(p.Body, "/requests/rq_") != 2 ||
		n != 0 && n != 2 {
		t.Errorf("%s", p.Text())
	}
	p = o.Get(t, o.PartnerURL+"?tab=requests&view=each&outcome=signature")
	if !strings.Contains(p.Body, "Post: "+outcomes.ReasonLabel("signature")) || strings.Contains(p.Body, "contact.email") ||
		!strings.Contains(p.Body, `rel="next"`) {
		t.Errorf("%s", p.Text())
	}
	if p := o.Get(t, o.PartnerURL+"?tab=requests&outcome=nonsense"); !slices.Equal(p.Values("data-empty"), []string{"filtered"}) {
		t.Errorf("%s", p.Text())
	}
	// The requests of all partners can be filtered in the same way.
	all := o.Get(t, "/partners/requests?view=each&endpoint=post&outcome=signature&range=1h")
	if n := strings.Count(all.Body, o.PartnerURL+"/requests/rq_"); all.Status != http.StatusOK || n != web.PageSize ||
		!strings.Contains(all.Body, "Harbour") && !strings.Contains(all.Body, o.Slug) {
		t.Errorf("all partners: status %d, %d requests: %s", all.Status, n, all.Text())
	}
	for _, filter := range []string{"endpoint=ping", "outcome=expired"} {
		if p := o.Get(t, "/partners/requests?"+filter); !slices.Equal(p.Values("data-empty"), []string{"filtered"}) {
			t.Errorf("%s: %s", filter, p.Text())
		}
	}
	o.Exec(t, `UPDATE api_requests SET at = at - interval '2 hours'`)
	if p := o.Get(t, o.PartnerURL+"?tab=requests&range=1h"); !slices.Equal(p.Values("data-empty"), []string{"filtered"}) {
		t.Errorf("last hour: %s", p.Text())
	}
	if p := o.Get(t, o.PartnerURL+"?tab=requests&range=24h"); strings.Count(p.Body, "/requests/rq_") != 2 {
		t.Errorf("last 24 hours: %s", p.Text())
	}
	other := o.AddPartner(t, "meadow")
	for _, path := range []string{"/requests/" + requestID, "/requests/" + id.Format(id.Request, id.New(o.Time.Now()))} {
		if p := o.Get(t, web.PartnerURL(other)+path); p.Status != http.StatusNotFound {
			t.Errorf("another partner's page shows the request: %s", p.Text())
		}
	}
}

// A user with a role for all partners finds requests that belong to no partner. Others do not.
func TestRequestsWithoutPartner(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	mine := o.PartnerID
	limited := o.AddStaff(t, "ben-of-harbour@example.com", models.StaffRole{Role: models.AccountManager, PartnerID: &mine})
	o.Reload(t)
	request := id.New(o.Time.Now())
	o.Exec(t, `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, outcome, fields, status, code, message, detail, duration_us)
		VALUES ($1, $2, $3, 'other_post', 'post', 'signature', '{}', 401, 'signature_invalid', 'Invalid HMAC SHA-256 signature', '', 310)`,
		uuid.Nil, o.Time.Now(), request)
	name := id.Format(id.Request, request)
	page := "/partners/requests/" + name
	o.Get(t, "/jump?q="+name).ExpectRedirect(t, page)
	o.Get(t, page).ExpectTexts(t, http.StatusOK, name, "Invalid HMAC SHA-256 signature")
	o.Get(t, "/partners/requests").ExpectTexts(t, http.StatusOK, page)
	b := o.Console.NewClient(t)
	b.SignIn(t, limited.Email)
	for path, want := range map[string]int{"/jump?q=" + name: http.StatusNotFound, page: http.StatusNotFound, "/partners/requests": http.StatusOK} {
		if p := b.Get(t, path); p.Status != want || strings.Contains(p.Body, `href="`+page) {
			t.Errorf("%s in the scope of one partner: status %d, want %d", path, p.Status, want)
		}
	}
}

// Staff see which ended secret signed a post, when it ended and who revoked it.
func TestRequestsWithEndedSecrets(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	shown := admintest.ShownSecret.FindString(o.Post(t, o.PartnerURL+"/secrets/new", url.Values{"label": {"live"}}).Body)
	secret := testkit.Value[uuid.UUID](t, o.Database, `SELECT id FROM signing_secrets WHERE partner_id = $1`, o.PartnerID)
	revoker := o.Options.Partners.By(audit.Actor{Name: "ada@example.com", Role: "administrator"})
	if err := revoker.RevokeSecret(t.Context(), scope.System, models.Partner{ID: o.PartnerID}, secret); err != nil {
		t.Fatal(err)
	}
	revoked := o.Time.Now()
	o.Time.Advance(3 * time.Minute)
	request := id.New(o.Time.Now())
	for _, requestID := range []uuid.UUID{request, id.New(o.Time.Now())} {
		o.Exec(t, `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, secret_id, outcome, fields, status, code,
				message, detail, duration_us)
			VALUES ($1, $2, $3, 'other_post', 'post', $4, 'signature', '{}', 401, 'signature_invalid', 'Invalid HMAC SHA-256 signature', '', 310)`,
			o.PartnerID, o.Time.Now(), requestID, secret)
	}
	lastFour := shown[len(shown)-4:]
	name := "“live” (…" + lastFour + ")"
	o.Get(t, o.PartnerURL+"?tab=requests").ExpectTexts(t, http.StatusOK, name, "401 Invalid HMAC SHA-256 signature",
		"since <time", o.Time.Now().UTC().Format(">15:04<"), "the first 3 min after it was revoked by ada@example.com")
	o.Get(t, o.PartnerURL+"?tab=requests&view=each").ExpectTexts(t, http.StatusOK, name)
	page := o.PartnerURL + "/requests/"
	live := o.Get(t, o.PartnerURL+"/onboarding/live")
	live.ExpectTexts(t, http.StatusOK, "Sign with a valid secret.", `href="`+page)
	if got := live.Values("data-requests"); !slices.Equal(got, []string{"2"}) || strings.Contains(live.Body, "/check") {
		t.Errorf("live activity: groups of %q: %s", got, live.Text())
	}
	p := o.Get(t, page+id.Format(id.Request, request))
	p.ExpectTexts(t, http.StatusOK, name, "revoked by ada@example.com on "+ui.UTC(revoked))
	checks := regexp.MustCompile(`data-check="(\w+)" data-state="(\w+)"`).FindAllStringSubmatch(p.Body, -1)
	if got := slices.IndexFunc(checks, func(m []string) bool { return m[2] == "bad" }); len(checks) != 14 || got < 0 ||
		checks[got][1] != "signature" || checks[got-1][2] != "good" || checks[got+1][2] != "idle" {
		t.Errorf("the checks are %v", checks)
	}
	// The reply does not name any user.
	reply := strings.Join(p.Values("data-copy"), "\n")
	if !strings.Contains(reply, "secret that ends in "+lastFour+", which was revoked on "+ui.UTC(revoked)) ||
		strings.Contains(reply, "ada@") {
		t.Errorf("the reply is %q", reply)
	}
}

// Requests that anyone can send do not hide leads and signed posts from the live activity.
func TestLiveActivityIsLimited(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	s.AddLead(t, s.Harbour, admintest.JoContact, nil)
	reject := func(kind, endpoint, outcome string, n int) {
		t.Helper()
		s.Exec(t, `INSERT INTO api_requests (partner_id, at, request_id, kind, endpoint, outcome, fields, status, code,
				message, detail, duration_us)
			SELECT $1, $2, gen_random_uuid(), $3, $4, $5, ARRAY['field' || n], 400, 'payload_invalid', 'Invalid', '', 310
			FROM generate_series(1, $6::int) AS n`, s.Harbour.ID, s.Time.Now(), kind, endpoint, outcome, n)
	}
	reject("signed_post", "post", "expired", 1)
	reject("ping", "ping", "payload", 30)
	reject("other_post", "unknown", "not_found", 30)
	live := s.SignedInAs(t, models.AccountManager).Get(t, web.PartnerURL(s.Harbour.ID)+"/onboarding/live")
	states := map[string]int{}
	for _, kind := range live.Values("data-state") {
		states[kind]++
	}
	if states["good"] != 1 || states["bad"] != 1+10+10 || !strings.Contains(live.Body, "Post: quote expired") {
		t.Errorf("got events %v, want one lead, the signed post, and 10 groups of each other kind: %s", states, live.Text())
	}
}

// The check finds the cause even though browsers change line breaks in the pasted post.
func TestCheckPost(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	secret := admintest.ShownSecret.FindString(o.Post(t, o.PartnerURL+"/secrets/new", url.Values{"label": {"live"}}).Body)
	by := o.Options.Partners
	own := models.Partner{ID: o.PartnerID}
	if _, err := by.CreateAccount(t.Context(), scope.System, own,
		partners.NewAccount{Identifier: "harbour-main"}); err != nil {
		t.Fatal(err)
	}
	other := o.AddPartner(t, "meadow")
	if _, err := by.CreateAccount(t.Context(), scope.System, models.Partner{ID: other},
		partners.NewAccount{Identifier: "meadow-main"}); err != nil {
		t.Fatal(err)
	}
	o.Exec(t, `UPDATE partners SET status = 'approved'`)
	quoteFor := func(partner uuid.UUID, at time.Time) string {
		t.Helper()
		sealer, err := quote.NewSealer(testkit.PlatformKeys(t, 1).QuoteKeys())
		if err != nil {
			t.Fatal(err)
		}
		token, _, err := sealer.Seal(nil, quote.Quote{
			Price: money.Amount{Minor: 4560, Currency: money.GBP}, Country: [2]byte{'G', 'B'}, TermID: 1, CardVersion: 1, Partner: partner,
		}, at, [quote.RandomSize]byte{})
		if err != nil {
			t.Fatal(err)
		}
		return string(token)
	}
	valid := quoteFor(o.PartnerID, o.Time.Now())
	post := func(members string) string {
		return "{\n  " + members + "\"email\": \"jo@example.org\",\n  \"consent\": {\"acknowledged\": true}\n}"
	}
	withQuote := func(token string) string { return post(`"transactionId": "` + token + `", `) }
	limited := o.AddStaff(t, "ben-of-harbour@example.com",
		models.StaffRole{Role: models.AccountManager, PartnerID: &o.PartnerID})
	o.Reload(t)
	ben := o.Console.NewClient(t)
	ben.SignIn(t, limited.Email)
	body := withQuote(valid)
	for name, c := range map[string]struct {
		line, signed, sent string // the request line, and the bodies
		at                 time.Duration
		stop, causes       string
		failed             string // all checks that fail
	}{
		"correct":             {"", body, body, 0, "", "", ""},
		"Windows line breaks": {"", strings.ReplaceAll(body, "\n", "\r\n"), body, 0, "", "", ""},
		"shared base URL":     {"POST /api/lead/post HTTP/1.1", body, body, 0, "", "", ""},
		"re-encoded": {
			"", strings.Join(strings.Fields(body), ""), body, 0, "signature", "json_rewritten", "signature",
		},
		"other content": {"", "{}", body, 0, "signature", "unexplained", "signature"},
		"unknown partnerId": {
			"", post(`"partnerId": "nobody", "transactionId": "` + valid + `", `), "", 0, "fields", "", "fields",
		},
		"another partner's partnerId": {
			"", post(`"partnerId": "meadow-main", "transactionId": "` + valid + `", `), "", 0, "fields", "", "fields",
		},
		"invalid JSON":            {"", body + "}", "", 0, "json", "", "json"},
		"missing field":           {"", post(""), "", 0, "fields", "", "fields"},
		"another partner's quote": {"", withQuote(quoteFor(other, o.Time.Now())), "", 0, "transaction", "", "transaction"},
		"old post with an expired quote": {
			"", withQuote(quoteFor(o.PartnerID, o.Time.Now().Add(-time.Hour))), "", -50 * time.Minute, "timestamp",
			"timestamp_late", "timestamp expiry",
		},
		"wrong path":   {"POST /p/harbour-leads/api/lead/Post HTTP/1.1", body, "", 0, "url", "", "url"},
		"wrong method": {"PUT /p/harbour-leads/api/lead/post HTTP/1.1", body, "", 0, "url", "", "url"},
		"unknown slug": {"POST /p/harbor-leads/api/lead/post HTTP/1.1", body, "", 0, "url", "", "url"},
	} {
		if c.sent == "" {
			c.sent = c.signed
		}
		headers := testkit.SignWith(secret, o.Time.Now().Add(c.at), []byte(c.signed))
		pasted := c.line + "\nX-Timestamp: " + headers.Timestamp[0] + "\nX-Signature-SHA256: " + headers.Signature[0] +
			"\n\n" + c.sent + "\n"
		form := url.Values{"request": {strings.ReplaceAll(pasted, "\n", "\r\n")}}
		p := o.Post(t, o.PartnerURL+"/check", form)
		var failed []string
		for _, m := range regexp.MustCompile(`data-check="(\w+)" data-state="bad"`).FindAllStringSubmatch(p.Body, -1) {
			failed = append(failed, m[1])
		}
		if p.Status != http.StatusOK || !slices.Equal(p.Values("data-stop"), []string{c.stop}) ||
			!slices.Equal(p.Values("data-causes"), []string{c.causes}) || strings.Join(failed, " ") != c.failed || strings.Contains(p.Body, secret) {
			t.Errorf("%s: status %d, stops at %q, failed %q, causes %q: %s", name, p.Status, p.Values("data-stop"), failed,
				p.Values("data-causes"), p.Text())
		}
		// A user who may not see the other partner does not learn to whom an ID belongs.
		if p := ben.Post(t, o.PartnerURL+"/check", form); !slices.Equal(p.Values("data-stop"), []string{c.stop}) ||
			strings.Contains(p.Text(), "the partner meadow") {
			t.Errorf("%s, in the scope of one partner: stops at %q: %s", name, p.Values("data-stop"), p.Text())
		}
	}
	if n := o.Count(t, "audit_events", `action = 'signature.check' AND coalesce(after::text, '') LIKE '%example%'`); n != 0 {
		t.Error("the audit log contains the pasted values")
	}
}

// The forms of accounts and partners show how many accepted posts were unsigned. Changing the signing mode requires a
// confirmation and a recent step-up.
func TestAccountSigningMode(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	account, err := o.Options.Partners.CreateAccount(t.Context(), scope.System, models.Partner{ID: o.PartnerID}, partners.NewAccount{
		Identifier: "harbour-1",
		Signing:    models.SigningOff,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Exec(t, `UPDATE partners SET status = 'approved' WHERE id = $1`, o.PartnerID)
	at := o.PartnerURL + "/accounts/" + id.Format(id.Account, account.ID)
	forecast := func(posts, unsigned string) admintest.Response {
		t.Helper()
		p := o.Get(t, at)
		if !slices.Equal(p.Values("data-posts"), []string{posts}) ||
			!slices.Equal(p.Values("data-unsigned"), []string{unsigned}) {
			t.Errorf("got %q posts, %q unsigned, want %s and %s: %s", p.Values("data-posts"), p.Values("data-unsigned"),
				posts, unsigned, p.Text())
		}
		return p
	}
	forecast("0", "0")
	for outcome, n := range map[string]int{"delivered_unsigned": 3, "delivered": 4, "signature": 50} {
		o.Exec(t,
			`INSERT INTO traffic_minutes VALUES (date_trunc('minute', $1::timestamptz), $2, $3, $4, 'post', $5, $6, '{}')`,
			o.Time.Now().Add(-time.Hour), o.PartnerID, account.ID, uuid.Nil, outcome, n)
	}
	p := forecast("7", "3")
	admintest.AddTraffic(o.Console, t, o.PartnerID, account.ID, "ping", "priced", 9)
	admintest.AddTraffic(o.Console, t, o.PartnerID, account.ID, "ping", "excluded", 2)
	o.Get(t, o.PartnerURL+"/suspend").Expect(t, "suspension", http.StatusOK, "9 in 24 hours, 9 in 7 days",
		"7 in 24 hours, 7 in 7 days")
	o.Exec(t, `ALTER TABLE traffic_minutes RENAME TO hidden`)
	o.Get(t, o.PartnerURL+"/suspend").Expect(t, "suspension without figures", http.StatusOK, `name="name"`)
	o.Exec(t, `ALTER TABLE hidden RENAME TO traffic_minutes`)
	form := url.Values{
		"version": {admintest.VersionAt(t, p)},
		"name":    {"Main"},
		"status":  {"active"},
		"signing": {"required"},
	}
	o.Time.Advance(11 * time.Minute)
	mode := func() string {
		return testkit.Value[string](t, o.Database, `SELECT signing_mode FROM accounts WHERE id = $1`, account.ID)
	}
	if p := o.Post(t, at, form); p.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(p.Body, `name="proof"`) || !strings.Contains(p.Body, `value="required" checked`) || mode() != "off" {
		t.Errorf("without proof: status %d, mode %s: %s", p.Status, mode(), p.Text())
	}
	form.Set("proof", admintest.Password)
	// Errors are shown before the confirmation.
	form.Set("name", "")
	if p := o.Post(t, at, form); !slices.Equal(p.Errors(), []string{"name"}) ||
		strings.Contains(p.Body, `name="confirmed"`) {
		t.Errorf("without a name: got errors %q: %s", p.Errors(), p.Text())
	}
	// The confirmation is not an error, and contains the submitted values and all changes.
	form.Set("name", "First")
	o.Post(t, at, form).Expect(t, "confirmation", http.StatusOK, "7 (4 signed, 3 unsigned)", "3 of 7",
		"harbour-1 → First", `name="confirmed" value="required"`, `name="name" value="First"`, `<p tabindex="-1" autofocus>`)
	if mode() != "off" {
		t.Errorf("without confirmation: the mode is %s", mode())
	}
	form.Set("confirmed", "required")
	// A change by someone else is shown after the confirmation.
	o.Exec(t, `UPDATE accounts SET row_version = row_version + 1 WHERE id = $1`, account.ID)
	p = o.Post(t, at, form)
	if p.Status != http.StatusConflict || mode() != "off" {
		t.Errorf("with an old row version: status %d, mode %s: %s", p.Status, mode(), p.Text())
	}
	form.Set("version", admintest.VersionAt(t, p))
	if p := o.Post(t, at, form); p.Status != http.StatusSeeOther || mode() != "required" {
		t.Errorf("with proof: status %d, mode %s: %s", p.Status, mode(), p.Text())
	}
}

// The confirmation of a partner's signing mode counts the accepted posts of the accounts that inherit it. Each change
// that makes posts less safe, or causes more of them to be rejected, must be confirmed.
func TestPartnerSigningMode(t *testing.T) {
	t.Parallel()
	o := admintest.NewConsoleWithPartner(t)
	for identifier, own := range map[string]models.SigningMode{
		"harbour-1": models.SigningInherit, "harbour-2": models.SigningReportOnly,
	} {
		account, err := o.Options.Partners.CreateAccount(t.Context(), scope.System, models.Partner{ID: o.PartnerID},
			partners.NewAccount{Identifier: identifier, Signing: own})
		if err != nil {
			t.Fatal(err)
		}
		admintest.AddTraffic(o.Console, t, o.PartnerID, account.ID, "post", "delivered", 4)
		admintest.AddTraffic(o.Console, t, o.PartnerID, account.ID, "post", "delivered_unsigned", 3)
	}
	tab, path := o.PartnerURL+"?tab=signing", o.PartnerURL+"/signing"
	o.Get(t, tab).Expect(t, "Signing tab", http.StatusOK, "6 of 14 accepted posts", "Accepted posts (24 h)")
	// set saves a mode and reports whether the console asked for confirmation. The platform requires signatures.
	set := func(mode string) (asked bool) {
		t.Helper()
		form := url.Values{
			"version": {admintest.VersionAt(t, o.Get(t, tab))}, "signing": {mode}, "proof": {admintest.Password},
		}
		p := o.Post(t, path, form)
		if asked = p.Status == http.StatusOK; asked {
			p.Expect(t, "change to "+mode, http.StatusOK, "7 (4 signed, 3 unsigned)", "harbour-2 (report only)",
				`name="confirmed" value="`+mode+`"`)
			if len(p.Errors()) != 0 {
				t.Errorf("change to %s: got errors %q", mode, p.Errors())
			}
			form.Set("confirmed", mode)
			p = o.Post(t, path, form)
		}
		p.ExpectRedirect(t, tab)
		if n := o.Count(t, "partners", "signing_mode = '"+mode+"'"); n != 1 {
			t.Errorf("change to %s: got %d partners with this mode, want 1", mode, n)
		}
		return asked
	}
	for _, step := range []struct {
		mode  string
		asked bool
	}{
		{"required", false}, {"report_only", true}, {"off", true}, {"report_only", false}, {"required", true}, {"off", true},
		{"required", true},
	} {
		if asked := set(step.mode); asked != step.asked {
			t.Errorf("change to %s: asked: %t, want %t", step.mode, asked, step.asked)
		}
	}

	// The step-up can expire on the page with the confirmation.
	form := url.Values{"version": {admintest.VersionAt(t, o.Get(t, tab))}, "signing": {"off"}}
	p := o.Post(t, path, form)
	p.Expect(t, "turning signing off", http.StatusOK, `name="confirmed" value="off"`)
	form.Set("confirmed", "off")
	o.Time.Advance(11 * time.Minute)
	p = o.Post(t, path, form)
	p.Expect(t, "without proof", http.StatusUnprocessableEntity, `name="confirmed" value="off"`)
	if !slices.Equal(p.Errors(), []string{"proof"}) {
		t.Errorf("without proof: got errors %q", p.Errors())
	}
	form.Set("proof", admintest.Password)
	o.Post(t, path, form).ExpectRedirect(t, tab)
	form.Set("version", admintest.VersionAt(t, o.Get(t, tab)))
	form.Del("confirmed")
	same := o.Post(t, path, form).Location()
	if codes := o.Get(t, same).Codes(); !slices.Equal(codes, []string{"unchanged"}) {
		t.Errorf("without a change: got codes %q", codes)
	}
}

// The Traffic tab shows leads by subId to users who may see leads and payouts.
func TestTrafficBySubID(t *testing.T) {
	t.Parallel()
	s := admintest.NewConsoleWithLeads(t)
	s.AddLead(t, s.Harbour, admintest.JoContact, func(l *models.Lead) { l.SubID = "mail & more" })
	s.AddLead(t, s.Harbour, admintest.SamContact, nil)
	s.AddLead(t, s.Other, admintest.SamContact, func(l *models.Lead) { l.SubID = "banner" })
	at := web.PartnerURL(s.Harbour.ID) + "?tab=traffic"
	p := s.SignedInAs(t, models.Finance).Get(t, at)
	if p.Status != http.StatusOK || !strings.Contains(p.Body, `href="/leads?partner=harbour-leads&amp;sub_id=mail+%26+more"`) ||
		!strings.Contains(p.Body, "45.60") || strings.Contains(p.Body, "banner") {
		t.Errorf("got %d: %s", p.Status, p.Text())
	}
	if p := s.SignedInAs(t, models.PricingManager).Get(t, at); strings.Contains(p.Body, "mail &amp; more") {
		t.Errorf("a user without access to payouts: got %d: %s", p.Status, p.Text())
	}
	// A range of dates includes its last day, and shows the outcomes of each day.
	admintest.AddTraffic(s.Console, t, s.Harbour.ID, s.Harbour.Trial.ID, "post", "delivered", 3)
	s.Time.Advance(24 * time.Hour)
	admintest.AddTraffic(s.Console, t, s.Harbour.ID, s.Harbour.Trial.ID, "post", "signature", 1234)
	b := s.SignedInAs(t, models.Finance)
	for query, want := range map[string]struct{ days, codes string }{
		"from=2026-01-01&to=2026-01-09": {"2026-01-03 2026-01-02", ""},
		"from=2026-01-03":               {"", ""}, // a single day has no table of days
		"to=2026-01-01":                 {"", ""},
		"":                              {"", ""}, // the last 24 hours
		"from=2026-01-03&to=2026-01-02": {"", "date"},
		"from=2020-01-03":               {"", "date"},
		"to=yesterday":                  {"", "date"},
	} {
		p := b.Get(t, at+"&"+query)
		if days := strings.Join(p.Values("data-day"), " "); p.Status != http.StatusOK || days != want.days ||
			strings.Join(p.Codes(), "") != want.codes {
			t.Errorf("%q: got status %d, days %q and codes %q", query, p.Status, days, p.Codes())
		}
		if rejected := strings.Contains(p.Body, "1,234"); rejected == (query == "to=2026-01-01") {
			t.Errorf("%q: the page contains the rejected posts: %v", query, rejected)
		}
	}
	b.Get(t, at+"&from=2026-01-01&to=2026-01-09").Expect(t, "links of a day", http.StatusOK,
		`href="`+web.PartnerURL(s.Harbour.ID)+`?tab=traffic&amp;from=2026-01-02&amp;to=2026-01-02"`,
		`href="/leads?partner=`+s.Harbour.Slug+`&amp;from=2026-01-02&amp;to=2026-01-02"`)
}
