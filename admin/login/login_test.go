package login_test

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

func TestSigningIn(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.NewClient(t)
	if p := b.Get(t, "/audit?outcome=rejected"); p.Location() != "/login?next=%2Faudit%3Foutcome%3Drejected" {
		t.Errorf("redirected to %q", p.Location())
	}
	wrong := b.Post(t, "/login", url.Values{
		"email":    {"Auditor@example.com"},
		"password": {"<wrong>"},
		"next":     {"/audit"},
	})
	if wrong.Status != http.StatusUnauthorized || !strings.Contains(wrong.Body, `value="Auditor@example.com"`) ||
		strings.Contains(wrong.Body, "wrong&gt;") || len(wrong.Values("data-errors")) != 1 {
		t.Errorf("%d %s", wrong.Status, wrong.Text())
	}
	unknown := b.Post(t, "/login", url.Values{
		"email":    {"nobody@example.com"},
		"password": {"<wrong>"},
		"next":     {"/audit"},
	})
	if unknown.Status != wrong.Status || strings.ReplaceAll(unknown.Body, "nobody@", "Auditor@") != wrong.Body {
		t.Error("the responses for an unknown and a known email address differ")
	}
	for next, want := range map[string]string{
		"/audit?x=1":               "/audit?x=1",
		"":                         "/",
		"//evil.example.com":       "/",
		"https://evil.example.com": "/",
		"/\\evil.example.com":      "/",
		"javascript:alert(1)":      "/",
		"/\tevil":                  "/",
	} {
		b := h.NewClient(t)
		if p := b.Post(t, "/login", url.Values{"email": {"auditor@example.com"}, "password": {admintest.Password}, "next": {next}}); p.Location() != want {
			t.Errorf("next=%q redirects to %q", next, p.Location())
		}
	}
	in := b.SignIn(t, "auditor@example.com")
	c := in.Cookie(t, "pingpost_session")
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure {
		t.Errorf("%+v", c)
	}
	if p := b.Get(t, "/"); p.Status != http.StatusOK || !strings.Contains(p.Body, "Eve Tanaka") ||
		strings.Contains(p.Body, `href="/staff/invite"`) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := b.Post(t, "/logout", nil); p.Location() != "/login" {
		t.Errorf("%d", p.Status)
	}
	old := h.NewClient(t)
	if p := old.Send(t, http.MethodGet, "/", nil, http.Header{"Cookie": {c.Name + "=" + c.Value}}); p.Location() != "/login" {
		t.Errorf("signed-out session: got %d", p.Status)
	}
	if n := h.Count(t, "audit_events", "action = 'logout'"); n != 1 {
		t.Errorf("got %d sign-outs in the audit log, want 1", n)
	}
}

func TestProductionCookies(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{Environment: "production"})
	in := h.NewClient(t).SignIn(t, "auditor@example.com")
	if c := in.Cookie(t, "__Host-pingpost"); !c.HttpOnly || !c.Secure || c.Path != "/" || c.Domain != "" {
		t.Errorf("%+v", c)
	}
}

// If a user's role requires a second factor, the user can open no other page until it is set up.
// After that, each sign-in requires a code.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{SecondFactor: []models.Role{models.Finance}})
	b := h.NewClient(t)
	first := b.SignIn(t, "finance@example.com")
	if first.Location() != "/login/second-factor?next=%2F" {
		t.Fatalf("redirected to %q", first.Location())
	}
	for _, path := range []string{"/", "/account", "/account/second-factor"} {
		if p := b.Get(t, path); p.Status != http.StatusSeeOther || !strings.HasPrefix(p.Location(), "/login/second-factor") {
			t.Errorf("%s before setting up the second factor: got %d", path, p.Status)
		}
	}
	enrol := b.Get(t, "/login/second-factor")
	shown := admintest.SecretText.FindStringSubmatch(enrol.Body)
	if shown == nil || !strings.Contains(enrol.Body, `src="data:image/png;base64,`) {
		t.Fatal(enrol.Text())
	}
	secret := strings.ReplaceAll(shown[1], " ", "")
	if p := b.Post(t, "/login/second-factor", url.Values{"code": {h.WrongCodeOf(t, secret)}}); p.Status != http.StatusUnauthorized || !strings.Contains(p.Body, shown[1]) || !slices.Equal(p.Errors(), []string{"code"}) {
		t.Errorf("setting up with a wrong code: got %d %s", p.Status, p.Text())
	}
	done := b.Post(t, "/login/second-factor", url.Values{"code": {h.CodeOf(t, secret)}})
	codes := regexp.MustCompile(`<li><code>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code>`).FindAllStringSubmatch(done.Body, -1)
	if done.Status != http.StatusOK || len(codes) != 10 {
		t.Fatalf("%d %s", done.Status, done.Text())
	}
	if p := b.Get(t, "/"); p.Status != http.StatusOK {
		t.Errorf("page after setting up the second factor: got %d %q", p.Status, p.Location())
	}

	h.Time.Advance(time.Minute)
	again := h.NewClient(t)
	if p := again.SignIn(t, "finance@example.com"); p.Location() != "/login/code?next=%2F" {
		t.Fatalf("redirected to %q", p.Location())
	}
	if p := again.Get(t, "/account"); !strings.HasPrefix(p.Location(), "/login/code") {
		t.Errorf("page before entering the code: got %d", p.Status)
	}
	if p := again.Post(t, "/login/code", url.Values{"code": {"123"}}); p.Status != http.StatusUnauthorized ||
		len(p.Values("data-errors")) != 1 || !strings.Contains(p.Body, `action="/login/code"`) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := again.Post(t, "/login/code", url.Values{"code": {h.CodeOf(t, secret)}, "next": {"/account"}}); p.Location() != "/account" {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	third := h.NewClient(t)
	third.SignIn(t, "finance@example.com")
	if p := third.Post(t, "/login/code", url.Values{"code": {codes[0][1]}}); p.Location() != "/" {
		t.Errorf("recovery code: got %d %s", p.Status, p.Text())
	}
	if p := third.Get(t, "/account"); !slices.Equal(p.Values("data-recovery-left"), []string{"9"}) {
		t.Errorf("remaining recovery codes: %s", p.Text())
	}
	fourth := h.NewClient(t)
	fourth.SignIn(t, "finance@example.com")
	for range 5 {
		fourth.Post(t, "/login/code", url.Values{"code": {h.WrongCodeOf(t, secret)}})
	}
	if p := fourth.Post(t, "/login/code", url.Values{"code": {h.WrongCodeOf(t, secret)}}); p.Status != http.StatusUnauthorized &&
		p.Status != http.StatusSeeOther {
		t.Errorf("sixth code: got %d", p.Status)
	}
	if p := fourth.Get(t, "/login/code"); p.Location() != "/login?next=%2Flogin%2Fcode" {
		t.Errorf("code page after five wrong codes: got %d %q", p.Status, p.Location())
	}
}

func TestThrottledLogin(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	b := h.NewClient(t)
	from := func(address string) admintest.Response {
		return b.Send(t, http.MethodPost, "/login", strings.NewReader(url.Values{
			"email":    {"auditor@example.com"},
			"password": {"wrong"},
		}.Encode()),
			http.Header{
				"Content-Type":    {"application/x-www-form-urlencoded"},
				"X-Forwarded-For": {"203.0.113.66, " + address},
			})
	}
	for range 6 {
		if p := from("198.51.100.1"); p.Status != http.StatusUnauthorized {
			t.Fatalf("%d", p.Status)
		}
	}
	p := from("198.51.100.1")
	if p.Status != http.StatusTooManyRequests || p.Header.Get("Retry-After") != "30" ||
		!strings.Contains(p.Body, ui.RetryDelayText(30)) || len(p.Values("data-errors")) != 1 ||
		!strings.Contains(p.Body, `value="auditor@example.com"`) {
		t.Errorf("%d, Retry-After %q: %s", p.Status, p.Header.Get("Retry-After"), p.Text())
	}
	if p := from("198.51.100.2"); p.Status != http.StatusUnauthorized {
		t.Errorf("from another address: got %d", p.Status)
	}
	if n := h.Count(t, "audit_events", "address = '198.51.100.1'"); n != 6 {
		t.Errorf("got %d rejections for the address in the audit log, want 6", n)
	}
}

// TestInvitationLinkIgnoresHost checks that a request with another Host header cannot change the address in an
// invitation link, because a proxy may forward any Host header.
func TestInvitationLinkIgnoresHost(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	const host = "console.attacker.example"
	form := admintest.WithFormKey(url.Values{"email": {"new@example.com"}, "name": {"New"}, "role": {"auditor"}})
	for _, path := range []func() string{
		func() string { return "/staff/invite" },
		func() string { return web.StaffURL(memberOf(t, h, "new@example.com").ID) + "/invite" },
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path(), strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		for _, cookie := range b.Jar.Cookies(req.URL) {
			req.AddCookie(cookie) // the client would look for cookies of the other host
		}
		req.Host = host
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+host)
		resp, err := b.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || strings.Contains(string(body), host) ||
			!strings.Contains(string(body), h.Options.AdminURL+"/invite/") {
			t.Errorf("%s: got status %d and a link without %s", req.URL.Path, resp.StatusCode, h.Options.AdminURL)
		}
		form = admintest.WithFormKey(nil)
	}
}

func memberOf(t *testing.T, h *admintest.Console, email string) staff.Member {
	t.Helper()
	m, err := h.StaffService.Find(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	partner := h.AddPartner(t, "harbour-leads")
	b := h.SignedInAs(t, models.Administrator)
	form := url.Values{
		"email":                    {"new@example.com"},
		"name":                     {"New <b>Person</b>"},
		"role":                     {"account_manager", "auditor"},
		"scope-account_manager":    {"some"},
		"partners-account_manager": {"harbour-leads"},
	}
	made := b.Post(t, "/staff/invite", form)
	link := regexp.MustCompile(`/invite/([A-Za-z0-9_-]{43})`).FindString(made.Body)
	if made.Status != http.StatusOK || link == "" || strings.Contains(made.Body, "<b>Person") {
		t.Fatalf("%d %s", made.Status, made.Text())
	}
	guest := h.NewClient(t)
	if p := guest.Get(t, link); p.Status != http.StatusOK || !strings.Contains(p.Body, "new@example.com") {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	if p := guest.Post(t, link, url.Values{"password": {admintest.Password}, "again": {"another"}}); p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Errors(), []string{"again"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := guest.Post(t, link, url.Values{"password": {"short"}, "again": {"short"}}); p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Errors(), []string{"password"}) {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := guest.Post(t, link, url.Values{"password": {admintest.Password}, "again": {admintest.Password}}); p.Status != http.StatusOK {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := guest.Get(t, link); p.Status != http.StatusNotFound {
		t.Errorf("using the link again: got %d", p.Status)
	}
	h.Reload(t)
	guest.SignIn(t, "new@example.com")
	found, err := h.StaffService.Find(t.Context(), "new@example.com")
	if err != nil || len(found.Roles) != 2 || *found.Roles[0].PartnerID != partner {
		t.Errorf("%+v, %v", found.Roles, err)
	}
	account := guest.Get(t, "/account")
	for _, role := range web.ScopeLabels(found.Roles, web.PartnerNames{partner: "harbour-leads"}) {
		if !strings.Contains(account.Body, "<li>"+role+"</li>") {
			t.Errorf("role %q is missing: %s", role, account.Text())
		}
	}
	if p := b.Get(t, web.StaffURL(found.ID)+"/access"); !strings.Contains(p.Body, "harbour-leads") ||
		!strings.Contains(p.Body, "p, auditor, audit, verify") ||
		!strings.Contains(p.Body, ui.Sentence(web.PermissionLabel(web.PublishPricing))) {
		t.Errorf("%s", p.Text())
	}
}
