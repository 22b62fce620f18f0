package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
)

// fill gives a route's address the id of a person, or of whatever it is about, and
// ids of a session, an account and a secret that are none, and the number 1.
func fill(path string, one string) string {
	return strings.NewReplacer(
		"{$}", "", "{id}", one, "{session}", id.Format(id.Session, uuid.New()), "{token}", "no-such-token",
		"{account}", id.Format(id.Account, uuid.New()), "{secret}", id.Format(id.Secret, uuid.New()),
		"{n}", "0", "{position}", "0", "{line}", "1", "{partner}", id.Format(id.Partner, uuid.New()),
	).Replace(path)
}

// of chooses whom a route is tried on.
func (h *house) of(r web.Route) string {
	if strings.HasPrefix(r.Path, "/partners") {
		return id.Format(id.Partner, h.tried)
	}
	if strings.HasPrefix(r.Path, "/pricing") {
		return id.Format(id.RateCard, uuid.New())
	}
	if strings.HasPrefix(r.Path, "/reconciliation") {
		return reconcile.ID(uuid.New())
	}
	return h.staffID(models.Auditor)
}

// A route that says nothing of who may use it, or asks for what no role has, is a
// mistake of ours.
func TestEveryRouteHasItsPermission(t *testing.T) {
	policy, err := authz.Policy()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes(Options{Environment: "development"}) {
		kinds := 0
		for _, is := range []bool{r.Open, r.Own, r.Login != "", r.Needs != authz.Permission{}} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s %s: %d answers to who may use it", r.Method, r.Path, kinds)
		}
		if r.Needs == (authz.Permission{}) {
			continue
		}
		if !slices.ContainsFunc(policy, func(l authz.Line) bool { return l.Permission == r.Needs }) {
			t.Errorf("%s %s needs %q, which the policy gives to nobody", r.Method, r.Path, r.Needs)
		}
		if r.Method == http.MethodPost && r.Needs.Action == "read" {
			t.Errorf("%s %s changes something, and asks for %q", r.Method, r.Path, r.Needs)
		}
	}
	for _, line := range policy {
		if web.PermissionWords(line.Permission) == "" {
			t.Errorf("there are no words for %q", line.Permission)
		}
	}
	for _, r := range routes(Options{Environment: "production"}) {
		if r.Path == "/design" {
			t.Error("the gallery is there in production")
		}
	}
}

// Every route as every role, everywhere and at one partner only, and as nobody: what
// the policy does not give is refused, says what is missing, and is in the audit trail.
func TestEveryRouteAsEveryRole(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	mine := h.partner(t, "mine")
	h.tried = mine
	people := map[string]models.Staff{}
	for _, role := range models.Roles {
		people[string(role)] = h.people[role]
		if role != models.Administrator { // who is one everywhere
			people[string(role)+", at one partner"] = h.person(t, string(role)+"-of-mine@example.com", models.StaffRole{Role: role, PartnerID: &mine})
		}
	}
	h.reload(t)
	for name, p := range people {
		b := h.visitor(t)
		b.signIn(t, p.Email)
		for _, r := range routes(h.options) {
			if r.Path != "/logout" && r.Path != "/login" {
				h.tryRoute(t, b, p, name, r)
			}
		}
	}
	b := h.visitor(t)
	for _, r := range routes(h.options) {
		p := b.send(t, r.Method, fill(r.Path, h.of(r)), strings.NewReader(withKey(nil).Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		signIn := p.status == http.StatusSeeOther && strings.HasPrefix(p.location(), "/login")
		if !r.Open && !signIn {
			t.Errorf("nobody: %s %s: %d %s", r.Method, r.Path, p.status, p.text())
		}
	}
	h.intact(t)
}

// tryRoute asks for one route as one person.
func (h *house) tryRoute(t *testing.T, b *visitor, who models.Staff, name string, r web.Route) {
	t.Helper()
	sc, may := h.options.Access.Get().Scope(who.ID, r.Needs)
	may = may && (sc.All() || !web.ConcernsPlatform(r.Needs)) || r.Open || r.Own
	refused := `outcome = 'refused' AND object_kind = 'route'`
	before := h.count(t, "audit_events", refused)
	p := b.send(t, r.Method, fill(r.Path, h.of(r)), strings.NewReader(withKey(nil).Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	name += ": " + r.Method + " " + r.Path
	switch {
	case r.Login != "":
		if p.status != http.StatusSeeOther || p.location() != "/" {
			t.Errorf("%s: %d to %q, and is past this step", name, p.status, p.location())
		}
		return
	case p.status >= http.StatusInternalServerError, p.status == http.StatusMethodNotAllowed:
		t.Errorf("%s: %d %s", name, p.status, p.text())
	case may == (p.status == http.StatusForbidden):
		t.Errorf("%s: %d, and may is %t: %s", name, p.status, may, p.text())
	case !may && !strings.Contains(p.body, web.PermissionWords(r.Needs)):
		t.Errorf("%s: does not say what is missing: %s", name, p.text())
	}
	if now := h.count(t, "audit_events", refused); !may && now != before+1 {
		t.Errorf("%s: %d refusals more are in the audit trail", name, now-before)
	}
}

// Whatever does not exist, or is no id of this kind, is the same page to the byte.
func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.everywhere(t)
	want := b.get(t, "/no-such-page")
	if want.status != http.StatusNotFound {
		t.Fatalf("%d", want.status)
	}
	ids := []string{
		id.Format(id.Staff, uuid.New()), id.Format(id.Partner, h.people[models.Auditor].ID), h.people[models.Auditor].ID.String(), "auditor@example.com",
		"0", "-1", "st_", strings.Repeat("A", 5000), "%00", "%ff", "..%2f..%2fetc", "'%20OR%20'1'='1", "%3Cscript%3E",
	}
	for _, r := range routes(h.options) {
		if !strings.Contains(r.Path, "{id}") {
			continue
		}
		for _, one := range ids {
			p := b.send(t, r.Method, fill(r.Path, one), strings.NewReader(withKey(nil).Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			if p.status != http.StatusNotFound || r.Method == http.MethodGet && p.body != want.body {
				t.Errorf("%s %s of %.40q: %d %.80s", r.Method, r.Path, one, p.status, p.text())
			}
		}
	}
	for _, path := range []string{"/staff/" + h.staffID(models.Auditor) + "/sessions/" + id.Format(id.Session, uuid.New()) + "/end", "/account/sessions/x/end"} {
		if p := b.post(t, path, nil); p.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.status)
		}
	}
}

// everywhere is a visitor who may open every page.
func (h *house) everywhere(t *testing.T) *visitor {
	t.Helper()
	h.person(t, "everywhere@example.com", models.StaffRole{Role: models.Administrator}, models.StaffRole{Role: models.AccountManager}, models.StaffRole{Role: models.PricingManager}, models.StaffRole{Role: models.Finance})
	h.reload(t)
	b := h.visitor(t)
	b.signIn(t, "everywhere@example.com")
	return b
}

func TestOtherSites(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	b := h.as(t, models.Administrator)
	before := h.count(t, "staff", "true")
	for name, header := range map[string]http.Header{
		"fetch metadata": {"Sec-Fetch-Site": {"cross-site"}}, "same site": {"Sec-Fetch-Site": {"same-site"}}, "another origin": {"Origin": {"https://evil.example.com"}}, "no origin": {"Origin": {"null"}},
	} {
		for _, r := range routes(h.options) {
			if r.Method != http.MethodPost {
				continue
			}
			header.Set("Content-Type", "application/x-www-form-urlencoded")
			form := url.Values{"email": {"eve@example.com"}, "name": {"Eve"}, "role": {"administrator"}}.Encode()
			if p := b.send(t, r.Method, fill(r.Path, h.of(r)), strings.NewReader(form), header); p.status != http.StatusForbidden || p.header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %s: %d", name, r.Path, p.status)
			}
		}
	}
	if h.count(t, "staff", "true") != before || b.get(t, "/").status != http.StatusOK {
		t.Error("another site did something")
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	h := newHouse(t, kind{})
	h.tried = h.partner(t, "mine")
	b := h.everywhere(t)
	for path, allow := range map[string]string{"/staff": "GET", "/login": "GET, POST", "/logout": "POST", "/audit/verify": "POST", "/": "GET"} {
		for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
			if p := b.send(t, method, path, nil, nil); p.status != http.StatusMethodNotAllowed || p.header.Get("Allow") != allow {
				t.Errorf("%s %s: %d, allow %q", method, path, p.status, p.header.Get("Allow"))
			}
		}
	}
	if p := b.send(t, http.MethodHead, "/staff", nil, nil); p.status != http.StatusOK || p.body != "" {
		t.Errorf("HEAD: %d", p.status)
	}
	// No GET changes anything, but that it is written down what was exported.
	rows := func() int {
		return h.count(t, "staff", "true") + h.count(t, "staff_roles", "true") + h.count(t, "audit_events", "true")
	}
	before := rows()
	for _, r := range routes(h.options) {
		if r.Method == http.MethodGet && r.Path != "/account/second-factor" && r.Path != "/payouts/ledger.csv" {
			b.get(t, fill(r.Path, h.of(r)))
		}
	}
	if rows() != before {
		t.Error("looking at pages changed something")
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for environment, strict := range map[string]string{"development": "", "production": "max-age=31536000"} {
		h := newHouse(t, kind{environment: environment})
		b := h.visitor(t)
		for _, path := range []string{"/login", "/", "/nope", "/assets/nope", "/invite/x"} {
			p := b.get(t, path)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Strict-Transport-Security": strict,
			} {
				if got := p.header.Get(name); got != want {
					t.Errorf("%s: %s: %s is %q, want %q", environment, path, name, got, want)
				}
			}
			csp := p.header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
				t.Errorf("%s: %s", path, csp)
			}
		}
		if p := b.get(t, h.assetPath(t)); p.status != http.StatusOK || !strings.Contains(p.header.Get("Cache-Control"), "immutable") {
			t.Errorf("the style sheet: %d, %s", p.status, p.header.Get("Cache-Control"))
		}
	}
}

func (h *house) assetPath(t *testing.T) string {
	t.Helper()
	body := h.visitor(t).get(t, "/login").body
	_, rest, ok := strings.Cut(body, `rel="stylesheet" href="`)
	path, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal("the page has no style sheet")
	}
	return path
}
