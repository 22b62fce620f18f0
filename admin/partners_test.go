package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

var (
	shownSecret = regexp.MustCompile(`pp_[0-9A-Za-z]{43}`)
	shownLink   = regexp.MustCompile(`http://api\.example/partner/[A-Za-z0-9_-]{40,}`)
	shownLabel  = regexp.MustCompile(`sk_[0-9A-Z]{26}`)
	shownNumber = regexp.MustCompile(`name="version" value="(\d+)"`)
)

// office is a house whose account manager looks after a partner.
type office struct {
	*house
	*visitor
	url  string // the partner's page
	id   uuid.UUID
	slug string
}

func newOffice(t *testing.T) office {
	t.Helper()
	h := newHouse(t, kind{})
	o := office{house: h, slug: "harbour-leads"}
	o.id = h.partner(t, o.slug)
	o.url = web.PartnerURL(o.id)
	o.visitor = h.as(t, models.AccountManager)
	return o
}

// versionAt is the version that the form on a page carries.
func versionAt(t testing.TB, p page) string {
	t.Helper()
	m := shownNumber.FindStringSubmatch(p.body)
	if m == nil {
		t.Fatalf("no version on the page: %d %s", p.status, p.text())
	}
	return m[1]
}

// A partner is brought on by forms alone, each step leading to the next.
func TestOnboarding(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.AccountManager)
	if p := b.get(t, "/partners"); p.status != http.StatusOK || !strings.Contains(p.body, `href="/partners/new"`) {
		t.Fatalf("%d %s", p.status, p.text())
	}
	made := b.post(t, "/partners/new", url.Values{"name": {"North Road Ltd"}, "slug": {"north-road"}, "signing": {"default"}, "manager": {"Ben Okafor"}})
	if made.status != http.StatusSeeOther || !strings.HasSuffix(made.location(), "/onboarding") {
		t.Fatalf("%d %s", made.status, made.text())
	}
	path := made.location()
	partner := strings.TrimSuffix(path, "/onboarding")
	step := func(want string) page {
		t.Helper()
		p := b.get(t, path)
		_, rest, _ := strings.Cut(p.body, `aria-current="step"`)
		now, _, _ := strings.Cut(rest, "</h2>")
		if !strings.Contains(now, want) {
			t.Fatalf("the step is %.200q, want %s", now, want)
		}
		return p
	}
	step("Give it an account")
	if p := b.get(t, partner+"/accounts/new"); !strings.Contains(p.body, `value="north-road-sandbox"`) {
		t.Errorf("no sandbox account is offered: %s", p.text())
	}
	if p := b.post(t, partner+"/accounts/new", url.Values{"identifier": {"north-road-sandbox"}, "name": {"Sandbox"}, "sandbox": {"yes"}, "signing": {"inherit"}}); p.location() != path {
		t.Fatalf("%d %s", p.status, p.text())
	}
	p := step("Approve it")
	if p := b.post(t, partner+"/approve", url.Values{"version": {versionAt(t, p)}, "return": {path}}); p.location() != path {
		t.Fatalf("%d to %q", p.status, p.location())
	}
	step("Make its first secret")
	shown := b.post(t, partner+"/secrets/new", url.Values{"label": {"first"}})
	secret := shownSecret.FindString(shown.body)
	if shown.status != http.StatusOK || secret == "" || shown.header.Get("Cache-Control") != "no-store" || !strings.Contains(shown.body, "http://api.example/p/north-road") || !strings.Contains(shown.body, `href="`+path+`"`) {
		t.Fatalf("%d %s", shown.status, shown.text())
	}
	p = step("Hand over")
	made = b.post(t, partner+"/link", url.Values{"version": {versionAt(t, p)}, "return": {path}})
	link := shownLink.FindString(made.body)
	if made.status != http.StatusOK || link == "" || made.header.Get("Cache-Control") != "no-store" || !strings.Contains(made.body, `href="`+path+`"`) {
		t.Fatalf("%d %s", made.status, made.text())
	}
	if p := step("Watch the first post arrive"); !strings.Contains(p.body, "Waiting for the first post") {
		t.Errorf("%s", p.text())
	}
	for _, tab := range []string{"", "?tab=details", "?tab=signing", "?tab=secrets", "?tab=traffic", "?tab=refusals", "?tab=documentation", "?tab=audit", "?tab=nothing", "/onboarding", "/onboarding/live", "/check"} {
		if p := b.get(t, partner+tab); p.status != http.StatusOK || strings.Contains(p.body, secret) || strings.Contains(p.body, link) {
			t.Errorf("%s: %d, and the secret or the link is shown again: %t", tab, p.status, strings.Contains(p.body, secret))
		}
	}
	if n := h.count(t, "audit_events", `after::text LIKE '%' || $1 || '%' OR before::text LIKE '%' || $1 || '%'`, secret[len(secret)-10:]); n != 0 {
		t.Error("the secret is in the audit trail")
	}
	h.intact(t)
}

// A second one who changes what was changed meanwhile sees the other's change, and
// nothing is overwritten.
func TestTwoChangeOnePartner(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	account, err := o.options.Partners.CreateAccount(t.Context(), models.Partner{ID: o.id}, partners.NewAccount{Identifier: "harbour-1"})
	if err != nil {
		t.Fatal(err)
	}
	at := o.url + "/accounts/" + id.Format(id.Account, account.ID)
	details := url.Values{"name": {"Harbour"}, "legal_name": {"Harbour Leads GmbH"}, "notes": {"one\r\ntwo"}, "contact-0-name": {"Mo"}, "contact-0-email": {"mo@example.com"}}
	for name, c := range map[string]struct {
		page, form string
		first      url.Values
		second     url.Values
		kept       string // of what the second typed
		where      string // reads what the first one stored
	}{
		"details": {o.url + "?tab=details", o.url + "/details", details, url.Values{"name": {"Hafen"}}, `value="Hafen"`, `SELECT name = 'Harbour' FROM partners WHERE slug = 'harbour-leads'`},
		"signing": {o.url + "?tab=signing", o.url + "/signing", url.Values{"signing": {"report_only"}}, url.Values{"signing": {"off"}}, `value="off" checked`, `SELECT signing_mode = 'report_only' FROM partners WHERE slug = 'harbour-leads'`},
		"account": {at, at, url.Values{"name": {"Main"}, "signing": {"inherit"}, "status": {"active"}}, url.Values{"name": {"Primary"}, "signing": {"off"}, "status": {"active"}}, `value="Primary"`, `SELECT name = 'Main' FROM accounts WHERE identifier = 'harbour-1'`},
		"status":  {o.url + "?tab=details", o.url + "/approve", url.Values{}, url.Values{}, "changed", `SELECT status = 'approved' FROM partners WHERE slug = 'harbour-leads'`},
	} {
		version := versionAt(t, o.get(t, c.page))
		c.first.Set("version", version)
		c.second.Set("version", version)
		if p := o.post(t, c.form, c.first); p.status != http.StatusSeeOther {
			t.Fatalf("%s: the first: %d %s", name, p.status, p.text())
		}
		p := o.post(t, c.form, c.second)
		if p.status != http.StatusConflict || !strings.Contains(p.body, c.kept) || name != "status" && !strings.Contains(p.body, "account_manager@example.com") {
			t.Errorf("%s: the second: %d %s", name, p.status, p.text())
		}
		if !testkit.Value[bool](t, o.Database, c.where) {
			t.Errorf("%s: the first one's change is gone", name)
		}
		if name == "status" {
			continue
		}
		// Knowing of the other's change, it may be put in its place.
		c.second.Set("version", versionAt(t, p))
		if p := o.post(t, c.form, c.second); p.status != http.StatusSeeOther {
			t.Errorf("%s: again: %d %s", name, p.status, p.text())
		}
	}
	o.intact(t)
}

// What cannot be is refused next to its field, with what was typed still there.
func TestPartnerMistakes(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	other, err := o.options.Partners.Create(t.Context(), partners.NewPartner{Slug: "meadow", Name: "Meadow", Signing: models.SigningOff})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.options.Partners.CreateAccount(t.Context(), other, partners.NewAccount{Identifier: "MEADOW-101"}); err != nil {
		t.Fatal(err)
	}
	version := versionAt(t, o.get(t, o.url+"?tab=details"))
	for name, c := range map[string]struct {
		form   string
		values url.Values
		field  string
	}{
		"a slug in use":         {"/partners/new", url.Values{"name": {"X"}, "slug": {"harbour-leads"}}, "slug"},
		"a slug alike":          {"/partners/new", url.Values{"name": {"X"}, "slug": {"harb0ur-leads"}}, "slug"},
		"a slug in capitals":    {"/partners/new", url.Values{"name": {"X"}, "slug": {"Harbour"}}, "slug"},
		"a slug in Cyrillic":    {"/partners/new", url.Values{"name": {"X"}, "slug": {"hаrbour"}}, "slug"},
		"a partnerId in use":    {o.url + "/accounts/new", url.Values{"identifier": {"MEADOW-101"}}, "identifier"},
		"a partnerId in case":   {o.url + "/accounts/new", url.Values{"identifier": {" meadow-101 "}}, "identifier"},
		"a partnerId alike":     {o.url + "/accounts/new", url.Values{"identifier": {"MEAD0W-IOl"}}, "identifier"},
		"a partnerId in blanks": {o.url + "/accounts/new", url.Values{"identifier": {"mea dow"}}, "identifier"},
		"no name":               {o.url + "/details", url.Values{"version": {version}}, "name"},
		"an address":            {o.url + "/details", url.Values{"version": {version}, "name": {"X"}, "contact-1-name": {"Mo"}, "contact-1-email": {"mo at example"}}, "contact-1-email"},
		"a mode":                {o.url + "/signing", url.Values{"version": {version}, "signing": {"sometimes"}}, "signing"},
		"a short secret":        {o.url + "/secrets/new", url.Values{"import": {"short"}}, "import"},
		"a plain secret":        {o.url + "/secrets/new", url.Values{"import": {strings.Repeat("ab", 20)}}, "import"},
		"an overlap":            {o.url + "/secrets/rotate", url.Values{"overlap": {"a year"}}, "overlap"},
		"nothing to check":      {o.url + "/check", url.Values{"timestamp": {"1"}, "signature": {"x"}}, "body"},
	} {
		p := o.post(t, c.form, c.values)
		if p.status != http.StatusUnprocessableEntity && p.status != http.StatusConflict {
			t.Errorf("%s: %d %s", name, p.status, p.text())
			continue
		}
		if !strings.Contains(p.body, `href="#f-`+c.field+`"`) && !strings.Contains(p.body, `href="#f-`) {
			t.Errorf("%s: no field is named: %s", name, p.text())
		}
		if !strings.Contains(p.body, `id="f-`+c.field+`-error"`) {
			t.Errorf("%s: nothing beside the field %s: %s", name, c.field, p.text())
		}
		for _, typed := range []string{"import"} {
			if secret := c.values.Get(typed); secret != "" && strings.Contains(p.body, secret) {
				t.Errorf("%s: a secret that was typed is shown again", name)
			}
		}
		if strings.Contains(p.body, "MEADOW-101") && c.values.Get("identifier") != "MEADOW-101" {
			t.Errorf("%s: tells another partner's identifier", name)
		}
	}
	if n := o.count(t, "partners", "true") + o.count(t, "accounts", "true") + o.count(t, "signing_secrets", "true"); n != 3+2 {
		t.Errorf("%d rows", n)
	}
}

// Secrets are rotated, given another end, and revoked; the last one with a warning.
func TestSecrets(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := shownSecret.FindString(o.post(t, o.url+"/secrets/new", url.Values{"label": {"first"}}).body)
	rotated := o.post(t, o.url+"/secrets/rotate", url.Values{"label": {"second"}, "overlap": {"24h"}})
	second := shownSecret.FindString(rotated.body)
	if first == "" || second == "" || first == second || !strings.Contains(rotated.body, o.time.Now().Add(24*time.Hour).UTC().Format("2006-01-02 15:04:05 UTC")) {
		t.Fatalf("%s", rotated.text())
	}
	if p := o.post(t, o.url+"/secrets/rotate", url.Values{"overlap": {"24h"}}); p.status != http.StatusConflict || !strings.Contains(p.body, "under way") || !strings.Contains(p.body, `name="force"`) {
		t.Errorf("a second rotation: %d %s", p.status, p.text())
	}
	list := o.get(t, o.url+"?tab=secrets")
	ids := shownLabel.FindAllString(list.body, -1)
	if !strings.Contains(list.body, "retiring in 1 d") || len(ids) == 0 {
		t.Fatalf("%s", list.text())
	}
	older := o.secretNamed(t, "first")
	end := func(when string) page { return o.post(t, older+"/retire", url.Values{"when": {when}}) }
	if p := end("7d"); p.status != http.StatusSeeOther || !strings.Contains(o.get(t, o.url+"?tab=secrets").body, "retiring in 7 d") {
		t.Errorf("extended: %d %s", p.status, p.text())
	}
	if p := end("now"); p.status != http.StatusSeeOther || !strings.Contains(o.get(t, o.url+"?tab=secrets").body, "retired") {
		t.Errorf("ended early: %d %s", p.status, p.text())
	}
	if p := end("7d"); p.status != http.StatusConflict {
		t.Errorf("what has ended: %d %s", p.status, p.text())
	}
	newer := o.secretNamed(t, "second")
	if p := o.get(t, newer+"/revoke"); !strings.Contains(p.body, "last valid secret") {
		t.Errorf("revoking the last one does not warn: %s", p.text())
	}
	if p := o.post(t, newer+"/revoke", url.Values{"name": {"harbour"}}); p.status != http.StatusUnprocessableEntity {
		t.Errorf("revoked without its name: %d", p.status)
	}
	if p := o.post(t, newer+"/revoke", url.Values{"name": {o.slug}}); p.status != http.StatusSeeOther || o.count(t, "signing_secrets", "state = 'revoked'") != 1 {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := o.post(t, newer+"/revoke", url.Values{"name": {o.slug}}); p.status != http.StatusConflict {
		t.Errorf("revoked twice: %d %s", p.status, p.text())
	}
	o.time.Advance(11 * time.Minute)
	if p := o.post(t, o.url+"/secrets/new", url.Values{"label": {"third"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `name="proof"`) || shownSecret.MatchString(p.body) {
		t.Errorf("after a while without proof: %d %s", p.status, p.text())
	}
	if p := o.post(t, o.url+"/secrets/new", url.Values{"label": {"third"}, "proof": {password}}); !shownSecret.MatchString(p.body) {
		t.Errorf("with proof: %d %s", p.status, p.text())
	}
	o.intact(t)
}

// secretNamed is the address of a secret's forms.
func (o office) secretNamed(t testing.TB, label string) string {
	t.Helper()
	row := testkit.Value[string](t, o.Database, `SELECT id::text FROM signing_secrets WHERE label = $1`, label)
	return o.url + "/secrets/" + id.Format(id.Secret, uuid.MustParse(row))
}

// Whoever looks after some partners sees these, and takes on none.
func TestPartnersInScope(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	theirs := o.partner(t, "meadow")
	mine := o.id
	p := o.person(t, "ben-of-harbour@example.com", models.StaffRole{Role: models.AccountManager, PartnerID: &mine})
	o.reload(t)
	b := o.house.visitor(t)
	b.signIn(t, p.Email)
	list := b.get(t, "/partners")
	if !strings.Contains(list.body, o.url) || strings.Contains(list.body, web.PartnerURL(theirs)) || strings.Contains(list.body, "/partners/new") || strings.Contains(list.body, "meadow") {
		t.Errorf("%s", list.text())
	}
	missing := b.get(t, "/partners/"+id.Format(id.Partner, uuid.New()))
	for _, tab := range []string{"", "?tab=secrets", "/onboarding", "/secrets/new", "/check", "/suspend"} {
		if p := b.get(t, web.PartnerURL(theirs)+tab); p.status != http.StatusNotFound || p.body != missing.body {
			t.Errorf("another partner's %s: %d", tab, p.status)
		}
		if p := b.get(t, o.url+tab); p.status != http.StatusOK {
			t.Errorf("their own %s: %d", tab, p.status)
		}
	}
	// Another partner's account and secret are nothing of this one's.
	account, err := o.options.Partners.CreateAccount(t.Context(), models.Partner{ID: theirs}, partners.NewAccount{Identifier: "meadow-1"})
	if err != nil {
		t.Fatal(err)
	}
	if p := o.get(t, o.url+"/accounts/"+id.Format(id.Account, account.ID)); p.status != http.StatusNotFound {
		t.Errorf("another partner's account: %d", p.status)
	}
	if p := b.get(t, "/jump?q="+id.Format(id.Partner, theirs)); p.location() == web.PartnerURL(theirs) {
		t.Error("a jump leads to another's partner")
	}
	if p := b.get(t, "/jump?q="+strings.ToLower(id.Format(id.Partner, mine))); p.location() != o.url {
		t.Errorf("a jump leads to %q", p.location())
	}
}

// The list is narrowed, sorted and paged by its address.
func TestPartnersList(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for i := range 120 {
		o.partner(t, "affiliate-"+strconv.Itoa(i+100))
	}
	seen := map[string]bool{}
	next := "/partners?sort=name"
	pages := 0
	for ; next != "" && pages < 5; pages++ {
		p := o.get(t, next)
		for _, m := range regexp.MustCompile(`href="(/partners/pt_[0-9A-Z]{26})"`).FindAllStringSubmatch(p.body, -1) {
			seen[m[1]] = true
		}
		next = ""
		if m := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(p.body); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != 121 || pages != 3 {
		t.Errorf("%d partners on %d pages", len(seen), pages)
	}
	for query, want := range map[string]string{"q=harbour": "1 partner", "q=HARBOUR-L": "1 partner", "q=%25": "Nothing matches", "status=approved": "Nothing matches", "status=pending": "121 partners", "signing=off": "Nothing matches", "q=%00": "Nothing matches", "sort=nonsense&before=x&after=y": "121 partners"} {
		if p := o.get(t, "/partners?"+query); p.status != http.StatusOK || !strings.Contains(p.body, want) {
			t.Errorf("%s: %d %s", query, p.status, p.text())
		}
	}
}

// Why a request was refused is found by its id, and says what to mend.
func TestRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	requests := make([]uuid.UUID, 120)
	for i := range requests {
		requests[i] = id.New(o.time.Now())
		outcome, fields := "signature", "{}"
		if i%2 == 1 {
			outcome, fields = "payload", "{contact.email,consent.acknowledged}"
		}
		o.Exec(t, `INSERT INTO refusals (partner_id, at, request_id, endpoint, outcome, fields) VALUES ($1, $2, $3, 'post', $4, $5::text[])`, o.id, o.time.Now(), requests[i], outcome, fields)
	}
	one := id.Format(id.Request, requests[1])
	if p := o.get(t, "/jump?q="+one); p.location() != o.url+"?tab=refusals&request="+one {
		t.Errorf("the jump leads to %q", p.location())
	}
	p := o.get(t, o.url+"?tab=refusals&request="+strings.ToLower(one))
	if !strings.Contains(p.body, one) || !strings.Contains(p.body, "contact.email") || strings.Contains(p.body, id.Format(id.Request, requests[0])) {
		t.Errorf("%s", p.text())
	}
	if p := o.get(t, o.url+"?tab=refusals&outcome=signature"); !strings.Contains(p.body, "Wrong signature") || strings.Contains(p.body, "contact.email") || !strings.Contains(p.body, `rel="next"`) {
		t.Errorf("%s", p.text())
	}
	if p := o.get(t, o.url+"?tab=refusals&request=rq_nonsense"); !strings.Contains(p.body, "Nothing matches") {
		t.Errorf("%s", p.text())
	}
	other := o.partner(t, "meadow")
	if p := o.get(t, web.PartnerURL(other)+"?tab=refusals&request="+one); !strings.Contains(p.body, "Nothing matches") {
		t.Errorf("another partner's page shows it: %s", p.text())
	}
}

// A signature is checked as it was sent, although a browser sends line ends its own way.
func TestCheckingASignature(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	secret := shownSecret.FindString(o.post(t, o.url+"/secrets/new", url.Values{"label": {"live"}}).body)
	stamp := strconv.FormatInt(o.time.Now().Unix(), 10)
	check := func(body, signature string) page {
		return o.post(t, o.url+"/check", url.Values{"timestamp": {stamp}, "body": {body}, "signature": {signature}})
	}
	lines := "{\n  \"a\": 1\n}"
	asSent := strings.ReplaceAll(lines, "\n", "\r\n")
	for name, c := range map[string]struct{ pasted, signed, want string }{
		"right":           {`{"a":1}`, `{"a":1}`, "live"},
		"lines":           {asSent, lines, "live"},
		"lines of CR LF":  {asSent, asSent, "CR LF"},
		"re-serialised":   {`{"a":1}`, `{"a": 1}`, "written twice"},
		"another content": {`{"a":1}`, `{"b":2}`, "No secret"},
	} {
		headers := testkit.SignWith(secret, o.time.Now(), []byte(c.signed))
		p := check(c.pasted, headers.Signature[0])
		if p.status != http.StatusOK || !strings.Contains(p.body, c.want) || strings.Contains(p.body, secret) {
			_, result, _ := strings.Cut(p.body, "<h1>")
			t.Errorf("%s: %d %s", name, p.status, strings.Join(strings.Fields(result), " "))
		}
	}
	if n := o.count(t, "audit_events", `action = 'signature.check' AND coalesce(after::text, '') LIKE '%a%1%'`); n != 0 {
		t.Error("what was pasted is in the audit trail")
	}
}

// What happens to an account's unsigned posts is changed knowing what that would have
// refused, and by somebody who has proved to be there.
func TestAnAccountsSigning(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	account, err := o.options.Partners.CreateAccount(t.Context(), models.Partner{ID: o.id}, partners.NewAccount{Identifier: "harbour-1", Signing: models.SigningOff})
	if err != nil {
		t.Fatal(err)
	}
	at := o.url + "/accounts/" + id.Format(id.Account, account.ID)
	if p := o.get(t, at); !strings.Contains(p.body, "No post of it was accepted in the last 24 hours.") {
		t.Errorf("%s", p.text())
	}
	for outcome, n := range map[string]int{"delivered_unsigned": 3, "delivered": 4, "signature": 50} {
		o.Exec(t, `INSERT INTO traffic_minutes VALUES (date_trunc('minute', $1::timestamptz), $2, $3, $4, 'post', $5, $6, '{}')`, o.time.Now().Add(-time.Hour), o.id, account.ID, uuid.Nil, outcome, n)
	}
	p := o.get(t, at)
	if !strings.Contains(p.body, "Of 7 posts in the last 24 hours 3 came without a signature.") {
		t.Errorf("%s", p.text())
	}
	form := url.Values{"version": {versionAt(t, p)}, "name": {"Main"}, "status": {"active"}, "signing": {"required"}}
	o.time.Advance(11 * time.Minute)
	mode := func() string {
		return testkit.Value[string](t, o.Database, `SELECT signing_mode FROM accounts WHERE id = $1`, account.ID)
	}
	if p := o.post(t, at, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, `name="proof"`) || !strings.Contains(p.body, `value="required" checked`) || mode() != "off" {
		t.Errorf("without proof: %d, %s: %s", p.status, mode(), p.text())
	}
	form.Set("proof", password)
	if p := o.post(t, at, form); p.status != http.StatusSeeOther || mode() != "required" {
		t.Errorf("with proof: %d, %s: %s", p.status, mode(), p.text())
	}
}
