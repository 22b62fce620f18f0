package admin

import (
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// cookie is the session's, as the browser was told it.
func (p page) cookie(t testing.TB, name string) *http.Cookie {
	t.Helper()
	for _, c := range (&http.Response{Header: p.header}).Cookies() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no cookie %s in %v", name, p.header["Set-Cookie"])
	return nil
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.visitor(t)
	if p := b.get(t, "/audit?outcome=refused"); p.location() != "/login?next=%2Faudit%3Foutcome%3Drefused" {
		t.Errorf("asked to sign in at %q", p.location())
	}
	wrong := b.post(t, "/login", url.Values{"email": {"Auditor@example.com"}, "password": {"<wrong>"}, "next": {"/audit"}})
	if wrong.status != http.StatusUnauthorized || !strings.Contains(wrong.body, `value="Auditor@example.com"`) || strings.Contains(wrong.body, "wrong&gt;") || !strings.Contains(wrong.body, "is not right") {
		t.Errorf("%d %s", wrong.status, wrong.text())
	}
	unknown := b.post(t, "/login", url.Values{"email": {"nobody@example.com"}, "password": {"<wrong>"}, "next": {"/audit"}})
	if unknown.status != wrong.status || strings.ReplaceAll(unknown.body, "nobody@", "Auditor@") != wrong.body {
		t.Error("somebody unknown is answered otherwise than somebody known")
	}
	for next, want := range map[string]string{"/audit?x=1": "/audit?x=1", "": "/", "//evil.example.com": "/", "https://evil.example.com": "/", "/\\evil.example.com": "/", "javascript:alert(1)": "/", "/\tevil": "/"} {
		b := h.visitor(t)
		if p := b.post(t, "/login", url.Values{"email": {"auditor@example.com"}, "password": {password}, "next": {next}}); p.location() != want {
			t.Errorf("next %q leads to %q", next, p.location())
		}
	}
	in := b.signIn(t, "auditor@example.com")
	c := in.cookie(t, "pingpost_session")
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure {
		t.Errorf("%+v", c)
	}
	if p := b.get(t, "/"); p.status != http.StatusOK || !strings.Contains(p.body, "Eve Tanaka") || strings.Contains(p.body, `href="/staff/invite"`) {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := b.post(t, "/logout", nil); p.location() != "/login" {
		t.Errorf("%d", p.status)
	}
	old := h.visitor(t)
	if p := old.send(t, http.MethodGet, "/", nil, http.Header{"Cookie": {c.Name + "=" + c.Value}}); p.location() != "/login" {
		t.Errorf("the cookie of a session that was left: %d", p.status)
	}
	if n := h.count(t, "audit_events", "action = 'logout'"); n != 1 {
		t.Errorf("%d times left", n)
	}
}

func TestProductionCookies(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{environment: "production"})
	in := h.visitor(t).signIn(t, "auditor@example.com")
	if c := in.cookie(t, "__Host-pingpost"); !c.HttpOnly || !c.Secure || c.Path != "/" || c.Domain != "" {
		t.Errorf("%+v", c)
	}
}

var secretText = regexp.MustCompile(`<code>([A-Z2-7 ]{32,})</code>`)

func (h *house) code(t *testing.T, secret string) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, h.time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// Where a role needs a second factor, nothing else is open until it is there; then
// each login needs a code.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{secondFactor: []models.Role{models.Finance}})
	b := h.visitor(t)
	first := b.signIn(t, "finance@example.com")
	if first.location() != "/login/second-factor?next=%2F" {
		t.Fatalf("led to %q", first.location())
	}
	for _, path := range []string{"/", "/account", "/account/second-factor"} {
		if p := b.get(t, path); p.status != http.StatusSeeOther || !strings.HasPrefix(p.location(), "/login/second-factor") {
			t.Errorf("%s is open before the second factor: %d", path, p.status)
		}
	}
	enrol := b.get(t, "/login/second-factor")
	shown := secretText.FindStringSubmatch(enrol.body)
	if shown == nil || !strings.Contains(enrol.body, `src="data:image/png;base64,`) {
		t.Fatal(enrol.text())
	}
	secret := strings.ReplaceAll(shown[1], " ", "")
	if p := b.post(t, "/login/second-factor", url.Values{"code": {"000000"}}); p.status != http.StatusUnauthorized || !strings.Contains(p.body, shown[1]) {
		t.Errorf("a wrong first code: %d %s", p.status, p.text())
	}
	done := b.post(t, "/login/second-factor", url.Values{"code": {h.code(t, secret)}})
	codes := regexp.MustCompile(`<li><code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code>`).FindAllStringSubmatch(done.body, -1)
	if done.status != http.StatusOK || len(codes) != 10 {
		t.Fatalf("%d %s", done.status, done.text())
	}
	if p := b.get(t, "/"); p.status != http.StatusOK {
		t.Errorf("after the second factor: %d %q", p.status, p.location())
	}

	h.time.Advance(time.Minute)
	again := h.visitor(t)
	if p := again.signIn(t, "finance@example.com"); p.location() != "/login/code?next=%2F" {
		t.Fatalf("led to %q", p.location())
	}
	if p := again.get(t, "/account"); !strings.HasPrefix(p.location(), "/login/code") {
		t.Errorf("open before the code: %d", p.status)
	}
	if p := again.post(t, "/login/code", url.Values{"code": {"123"}}); p.status != http.StatusUnauthorized || !strings.Contains(p.body, "is not right") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := again.post(t, "/login/code", url.Values{"code": {h.code(t, secret)}, "next": {"/account"}}); p.location() != "/account" {
		t.Errorf("%d %s", p.status, p.text())
	}
	third := h.visitor(t)
	third.signIn(t, "finance@example.com")
	if p := third.post(t, "/login/code", url.Values{"code": {codes[0][1]}}); p.location() != "/" {
		t.Errorf("a recovery code: %d %s", p.status, p.text())
	}
	if p := third.get(t, "/account"); !strings.Contains(p.body, "9 codes") {
		t.Errorf("the codes that are left: %s", p.text())
	}
	fourth := h.visitor(t)
	fourth.signIn(t, "finance@example.com")
	for range 5 {
		fourth.post(t, "/login/code", url.Values{"code": {"000000"}})
	}
	if p := fourth.post(t, "/login/code", url.Values{"code": {"000000"}}); p.status != http.StatusUnauthorized && p.status != http.StatusSeeOther {
		t.Errorf("the sixth code: %d", p.status)
	}
	if p := fourth.get(t, "/login/code"); p.location() != "/login?next=%2Flogin%2Fcode" {
		t.Errorf("after five wrong codes: %d %q", p.status, p.location())
	}
}

func TestThrottledLogin(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	b := h.visitor(t)
	from := func(address string) page {
		return b.send(t, http.MethodPost, "/login", strings.NewReader(url.Values{"email": {"auditor@example.com"}, "password": {"wrong"}}.Encode()),
			http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Forwarded-For": {"203.0.113.66, " + address}})
	}
	for range 6 {
		if p := from("198.51.100.1"); p.status != http.StatusUnauthorized {
			t.Fatalf("%d", p.status)
		}
	}
	p := from("198.51.100.1")
	if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") != "30" || !strings.Contains(p.body, "30 seconds") || !strings.Contains(p.body, `value="auditor@example.com"`) {
		t.Errorf("%d, Retry-After %q: %s", p.status, p.header.Get("Retry-After"), p.text())
	}
	if p := from("198.51.100.2"); p.status != http.StatusUnauthorized {
		t.Errorf("from another address: %d", p.status)
	}
	if n := h.count(t, "audit_events", "address = '198.51.100.1'"); n != 6 {
		t.Errorf("%d refusals of the address are in the audit trail", n)
	}
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	partner := h.partner(t, "harbour-leads")
	b := h.as(t, models.Administrator)
	form := url.Values{"email": {"new@example.com"}, "name": {"New <b>Person</b>"}, "role": {"account_manager", "auditor"}, "scope-account_manager": {"some"}, "partners-account_manager": {"harbour-leads"}}
	made := b.post(t, "/staff/invite", form)
	link := regexp.MustCompile(`/invite/([A-Za-z0-9_-]{43})`).FindString(made.body)
	if made.status != http.StatusOK || link == "" || strings.Contains(made.body, "<b>Person") {
		t.Fatalf("%d %s", made.status, made.text())
	}
	guest := h.visitor(t)
	if p := guest.get(t, link); p.status != http.StatusOK || !strings.Contains(p.body, "new@example.com") {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if p := guest.post(t, link, url.Values{"password": {password}, "again": {"another"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "not the same") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := guest.post(t, link, url.Values{"password": {"short"}, "again": {"short"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "12 to 256") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := guest.post(t, link, url.Values{"password": {password}, "again": {password}}); p.status != http.StatusOK {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := guest.get(t, link); p.status != http.StatusNotFound {
		t.Errorf("the link again: %d", p.status)
	}
	h.reload(t)
	guest.signIn(t, "new@example.com")
	found, err := h.staff.Find(t.Context(), "new@example.com")
	if err != nil || len(found.Roles) != 2 || *found.Roles[0].PartnerID != partner {
		t.Errorf("%+v, %v", found.Roles, err)
	}
	if p := guest.get(t, "/account"); !strings.Contains(p.body, "account manager for harbour-leads") {
		t.Errorf("%s", p.text())
	}
	if p := b.get(t, web.StaffURL(found.ID)+"/access"); !strings.Contains(p.body, "harbour-leads") || !strings.Contains(p.body, "p, auditor, audit, verify") || !strings.Contains(p.body, "publish prices") {
		t.Errorf("%s", p.text())
	}
}

// stepUp: what changes who can do what asks again after ten minutes.
func TestStaffChangesAskAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Administrator)
	path := "/staff/" + h.staffID(models.Auditor)
	roles := func(with string) url.Values {
		return url.Values{"version": {strconv.Itoa(h.version(t, models.Auditor))}, "role": {"auditor", "finance"}, "proof": {with}}
	}
	h.time.Advance(11 * time.Minute)
	if p := b.get(t, path); !strings.Contains(p.body, `name="proof"`) {
		t.Error("the form does not ask")
	}
	for _, wrong := range []string{"", "wrong"} {
		if p := b.post(t, path+"/roles", roles(wrong)); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "neither your password nor a code") || !strings.Contains(p.body, `value="finance" checked`) {
			t.Errorf("%q: %d %s", wrong, p.status, p.text())
		}
	}
	if h.count(t, "staff_roles", "role = 'finance' AND staff_id = $1", h.people[models.Auditor].ID) != 0 {
		t.Fatal("changed without a proof")
	}
	if p := b.post(t, path+"/roles", roles(password)); p.status != http.StatusSeeOther {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := b.get(t, path); strings.Contains(p.body, `name="proof"`) {
		t.Error("the form asks again at once")
	}
	h.time.Advance(11 * time.Minute)
	if p := b.get(t, "/account/second-factor"); p.location() != "/account/confirm?next=%2Faccount%2Fsecond-factor" {
		t.Errorf("%d %q", p.status, p.location())
	}
	if p := b.post(t, "/account/confirm", url.Values{"proof": {password}, "next": {"/account/second-factor"}}); p.location() != "/account/second-factor" {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := b.get(t, "/account/second-factor"); p.status != http.StatusOK {
		t.Errorf("%d", p.status)
	}
	h.intact(t)
}

func (h *house) version(t *testing.T, role models.Role) int {
	t.Helper()
	p, err := h.staff.Find(t.Context(), h.staffID(role))
	if err != nil {
		t.Fatal(err)
	}
	return p.RowVersion
}

// Two administrators change one person: the second is shown the other's change, and
// nothing is overwritten unless they send it again.
func TestTwoChangeOnePerson(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	h.person(t, "second@example.com", models.StaffRole{Role: models.Administrator})
	h.reload(t)
	first, second := h.as(t, models.Administrator), h.visitor(t)
	second.signIn(t, "second@example.com")
	path := "/staff/" + h.staffID(models.Auditor)
	stale := strconv.Itoa(h.version(t, models.Auditor))
	if p := first.post(t, path+"/roles", url.Values{"version": {stale}, "role": {"finance"}}); p.status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.status, p.text())
	}
	p := second.post(t, path+"/roles", url.Values{"version": {stale}, "role": {"pricing_manager"}})
	if p.status != http.StatusConflict || !strings.Contains(p.body, "administrator@example.com") || !strings.Contains(p.body, "finance at *") || !strings.Contains(p.body, `value="pricing_manager" checked`) {
		t.Fatalf("%d %s", p.status, p.text())
	}
	if h.count(t, "staff_roles", "staff_id = $1 AND role = 'finance'", h.people[models.Auditor].ID) != 1 {
		t.Error("the other's change was overwritten")
	}
	fresh := regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(p.body)
	if fresh == nil || fresh[1] == stale {
		t.Fatalf("the form's version is %v", fresh)
	}
	if p := second.post(t, path+"/roles", url.Values{"version": {fresh[1]}, "role": {"pricing_manager"}}); p.status != http.StatusSeeOther {
		t.Errorf("sent again: %d %s", p.status, p.text())
	}
	h.intact(t)
}

// What the rules refuse is said on the person's page, and is in the audit trail.
func TestRulesOfStaff(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Administrator)
	self, other := "/staff/"+h.staffID(models.Administrator), "/staff/"+h.staffID(models.Auditor)
	if p := b.get(t, self); !strings.Contains(p.body, "Nobody changes their own roles") {
		t.Error(p.text())
	}
	for path, c := range map[string]struct {
		form url.Values
		want string
	}{
		self + "/roles":      {url.Values{"version": {"1"}, "role": {"administrator", "finance"}}, "Nobody gives a role to themselves"},
		self + "/deactivate": {url.Values{"version": {"1"}, "name": {"administrator@example.com"}}, "Nobody deactivates themselves"},
		other + "/invite":    {nil, "accepted already"},
	} {
		if p := b.post(t, path, c.form); p.status != http.StatusForbidden && p.status != http.StatusConflict || !strings.Contains(p.body, c.want) {
			t.Errorf("%s: %d %s", path, p.status, p.text())
		}
	}
	if n := h.count(t, "audit_events", "outcome = 'refused' AND object_kind = 'route'"); n != 3 {
		t.Errorf("%d refusals are in the audit trail", n)
	}
	auditor := h.as(t, models.Auditor)
	if p := b.post(t, other+"/deactivate", url.Values{"version": {"1"}, "name": {"somebody"}}); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "Type auditor@example.com") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := b.post(t, other+"/deactivate", url.Values{"version": {"1"}, "name": {"auditor@example.com"}}); p.status != http.StatusSeeOther {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := auditor.get(t, "/"); !strings.HasPrefix(p.location(), "/login") {
		t.Errorf("somebody who was deactivated still sees %d", p.status)
	}
	if p := b.post(t, other+"/reactivate", url.Values{"version": {"2"}}); p.status != http.StatusSeeOther {
		t.Errorf("%d %s", p.status, p.text())
	}
	h.reload(t)
	auditor.signIn(t, "auditor@example.com")
	page := b.get(t, other+"?tab=sessions")
	end := regexp.MustCompile(`action="(/staff/[^"]+/sessions/se_[^"]+/end)"`).FindStringSubmatch(page.body)
	if end == nil {
		t.Fatal(page.text())
	}
	if p := b.post(t, end[1], nil); p.status != http.StatusSeeOther {
		t.Errorf("%d %s", p.status, p.text())
	}
	if p := auditor.get(t, "/"); !strings.HasPrefix(p.location(), "/login") {
		t.Errorf("a session that was ended still sees %d", p.status)
	}
	h.intact(t)
}

// A role that is taken away holds no longer, once the node has heard of it.
func TestRolesAreInForce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Auditor)
	if p := b.get(t, "/staff"); p.status != http.StatusOK {
		t.Fatalf("%d", p.status)
	}
	if err := h.staff.SetRoles(t.Context(), audit.Operator, h.people[models.Auditor].ID, 1, []models.StaffRole{{Role: models.Finance}}); err != nil {
		t.Fatal(err)
	}
	h.reload(t)
	if p := b.get(t, "/staff"); p.status != http.StatusForbidden || !strings.Contains(p.body, "administrator or auditor") {
		t.Errorf("%d %s", p.status, p.text())
	}
	if _, err := h.staff.Invite(t.Context(), audit.Operator, staff.NewPerson{Email: "x@example.com", Name: "X", Roles: []models.StaffRole{{Role: models.Auditor}}}); err != nil {
		t.Fatal(err)
	}
}

// A role at one partner shows that partner's part, and of the whole platform nothing.
func TestARoleAtOnePartner(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	mine, theirs := h.partner(t, "mine"), h.partner(t, "theirs")
	h.person(t, "narrow@example.com", models.StaffRole{Role: models.Auditor, PartnerID: &mine})
	h.reload(t)
	b := h.visitor(t)
	b.signIn(t, "narrow@example.com")
	for path, want := range map[string]int{"/": http.StatusOK, "/audit": http.StatusOK, "/staff": http.StatusForbidden, "/staff/" + h.staffID(models.Auditor): http.StatusForbidden, "/account": http.StatusOK} {
		if p := b.get(t, path); p.status != want || strings.Contains(p.body, `href="/staff"`) {
			t.Errorf("%s: %d", path, p.status)
		}
	}
	if p := b.post(t, "/audit/verify", nil); p.status != http.StatusForbidden {
		t.Errorf("verifying everybody's trail: %d", p.status)
	}
	p := b.get(t, "/audit")
	if mine, theirs := id.Format(id.Partner, mine), id.Format(id.Partner, theirs); !strings.Contains(p.body, mine) || strings.Contains(p.body, theirs) || strings.Contains(p.body, "administrator@example.com") {
		t.Errorf("sees %s", p.text())
	}
	if p := b.get(t, "/audit?object="+id.Format(id.Partner, theirs)); strings.Count(p.body, `class="more"`) != 0 {
		t.Errorf("finds another partner's events: %s", p.text())
	}
}

func TestAuditPages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Auditor)
	for range 120 {
		if err := h.options.Audit.Done(t.Context(), audit.Operator, audit.Event{Action: "partner.status", Kind: "partner", Object: "pt_1", After: map[string]any{"note": "<script>alert(1)</script>"}}); err != nil {
			t.Fatal(err)
		}
	}
	p := b.get(t, "/audit?action=partner.")
	if p.status != http.StatusOK || strings.Contains(p.body, "<script>alert") || !strings.Contains(p.body, "120 events") {
		t.Fatalf("%d %s", p.status, p.text())
	}
	older := regexp.MustCompile(`href="(/audit\?action=partner\.&amp;older=\d+)"`)
	seen := strings.Count(p.body, "partner: status")
	for range 2 {
		next := older.FindStringSubmatch(p.body)
		if next == nil {
			t.Fatal("there is no older page")
		}
		p = b.get(t, strings.ReplaceAll(next[1], "&amp;", "&"))
		seen += strings.Count(p.body, "partner: status")
	}
	if seen != 120 || older.MatchString(p.body) {
		t.Errorf("%d events on three pages", seen)
	}
	for query, want := range map[string]int{
		"outcome=refused": 0, "object=pt_1&kind=partner": 50, "person=the+command+line": 50, "person=COMMAND": 50, "person=%25": 0, "person=eve+tan": 1, "person=auditor%40": 1, "person=%00": 0, "from=2026-01-02&to=2026-01-02": 50, "to=2026-01-01": 0, "from=tomorrow": 0, "older=x": 50, "older=-5": 50,
		"action=" + strings.Repeat("x", 4000): 0,
	} {
		p := b.get(t, "/audit?"+query)
		if got := strings.Count(p.body, `class="more"`); p.status != http.StatusOK || got != want {
			t.Errorf("%.60s: %d, %d events, want %d", query, p.status, got, want)
		}
	}
	if p := b.post(t, "/audit/verify", nil); p.status != http.StatusOK || !strings.Contains(p.body, "chain is intact") {
		t.Errorf("%d %s", p.status, p.text())
	}
	h.Exec(t, `ALTER TABLE audit_events DISABLE TRIGGER USER`)
	h.Exec(t, `UPDATE audit_events SET actor = 'eve' WHERE id = 7`)
	if p := b.post(t, "/audit/verify", nil); p.status != http.StatusOK || !strings.Contains(p.body, "broken at event 7") {
		t.Errorf("%d %s", p.status, p.text())
	}
}

func TestJump(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Administrator)
	person, mine := h.staffID(models.Auditor), h.partner(t, "mine")
	for q, want := range map[string]string{person: "/staff/" + person, " " + strings.ToLower(person) + " ": "/staff/" + person, "ld_00000000000000000000000001": "/audit?object=ld_00000000000000000000000001", id.Format(id.Partner, mine): web.PartnerURL(mine)} {
		if p := b.get(t, "/jump?q="+url.QueryEscape(q)); p.location() != want {
			t.Errorf("%q leads to %d %q", q, p.status, p.location())
		}
	}
	for _, q := range []string{"", "x", "st_", "pt_00000000000000000000000001", "rq_00000000000000000000000001", "//evil", "<script>alert(1)</script>", strings.Repeat("y", 9000)} {
		if p := b.get(t, "/jump?q="+url.QueryEscape(q)); p.status != http.StatusNotFound || strings.Contains(p.body, "<script>alert") {
			t.Errorf("%.30q: %d", q, p.status)
		}
	}
	// A rate card's id leads to the draft, or to the version that it became.
	draft, err := h.options.Prices.Begin(t.Context(), "Spring", 0)
	if err != nil {
		t.Fatal(err)
	}
	published, err := h.options.Prices.InForce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pricing, manager := h.as(t, models.PricingManager), h.as(t, models.AccountManager)
	for card, want := range map[string]string{ratecard.ID(draft.ID): web.DraftURL(draft.ID), strings.ToLower(ratecard.ID(published.ID)): "/pricing/versions/1", "rc_00000000000000000000000001": "/audit?object=rc_00000000000000000000000001"} {
		for _, b := range []*visitor{pricing, manager} {
			if p := b.get(t, "/jump?q="+card); p.location() != want {
				t.Errorf("%s leads to %d %q, want %s", card, p.status, p.location(), want)
			}
		}
		if p := b.get(t, "/jump?q="+card); !strings.HasPrefix(p.location(), "/audit?object=rc_") {
			t.Errorf("whoever sees no prices is led to %q", p.location())
		}
	}
	if p := h.as(t, models.Finance).get(t, "/jump?q="+person); p.status == http.StatusSeeOther && strings.HasPrefix(p.location(), "/staff") {
		t.Error("finance is led to a page that it may not see")
	}
}

// A page that is left open requests its live part every two seconds. That does not
// keep the session alive, and a page that a person opens does.
func TestLivePartsDoNotKeepASessionAlive(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	partner := web.PartnerURL(h.partner(t, "north-road"))
	for path, want := range map[string]int{partner + "/onboarding": http.StatusOK, partner + "/onboarding/live": http.StatusSeeOther} {
		b, last := h.as(t, models.AccountManager), page{}
		for range 4 { // the session may be idle for half an hour
			last = b.get(t, path)
			h.time.Advance(10 * time.Minute)
		}
		if last = b.get(t, path); last.status != want {
			t.Errorf("%s answers %d after 40 minutes of requests, want %d", path, last.status, want)
		}
	}
}
