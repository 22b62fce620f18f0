package admin_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin"
	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

// objectID returns the ID of an object for testing a route.
func objectID(h *admintest.Console, r web.Route) string {
	if strings.HasPrefix(r.Path, "/partners") {
		return id.Format(id.Partner, h.SamplePartner)
	}
	if strings.HasPrefix(r.Path, "/pricing") {
		return id.Format(id.RateCard, uuid.New())
	}
	if strings.HasPrefix(r.Path, "/privacy/disclosures") {
		return consents.DisclosureID(uuid.New())
	}
	if strings.HasPrefix(r.Path, "/privacy") {
		return requests.ID(uuid.New())
	}
	if strings.HasPrefix(r.Path, "/reconciliation") {
		return reconcile.ID(uuid.New())
	}
	return h.StaffID(models.Auditor)
}

// TestEveryRouteHasPermission checks that each route declares who may use it, and that at least one
// role has each required permission.
func TestEveryRouteHasPermission(t *testing.T) {
	policy, err := authz.Policy()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range admin.Routes(admin.Options{Environment: "development"}) {
		kinds := 0
		for _, is := range []bool{r.Open, r.Own, r.Login != "", r.Needs != authz.Permission{}} {
			if is {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s %s: got %d kinds of access, want 1", r.Method, r.Path, kinds)
		}
		if r.Needs == (authz.Permission{}) {
			continue
		}
		if !slices.ContainsFunc(policy, func(l authz.PolicyRule) bool { return l.Permission == r.Needs }) {
			t.Errorf("%s %s requires %q, but no role has it", r.Method, r.Path, r.Needs)
		}
		searches := []string{"/audit/find", "/audit.csv"} // their forms keep the text out of URLs
		if r.Method == http.MethodPost && r.Needs.Action == "read" && !slices.Contains(searches, r.Path) {
			t.Errorf("%s %s makes a change, but requires only %q", r.Method, r.Path, r.Needs)
		}
	}
	for _, line := range policy {
		if web.PermissionLabel(line.Permission) == "" {
			t.Errorf("permission %q has no label", line.Permission)
		}
	}
	for _, r := range admin.Routes(admin.Options{Environment: "production"}) {
		if r.Path == "/design" {
			t.Error("the component gallery is served in production")
		}
	}
}

// TestEveryRouteAsEveryRole requests all routes with each role, for all partners and for one, and without
// signing in. Requests that the policy does not allow must show the missing permission and be recorded in the
// audit log.
func TestEveryRouteAsEveryRole(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	mine := h.AddPartner(t, "mine")
	h.SamplePartner = mine
	people := map[string]models.Staff{}
	for _, role := range models.Roles {
		people[string(role)] = h.People[role]
		if role != models.Administrator { // cannot be limited to some partners
			people[string(role)+", at one partner"] = h.AddStaff(t, string(role)+"-of-mine@example.com",
				models.StaffRole{Role: role, PartnerID: &mine})
		}
	}
	h.Reload(t)
	for name, p := range people {
		b := h.NewClient(t)
		b.SignIn(t, p.Email)
		for _, r := range admin.Routes(h.Options) {
			if r.Path != "/logout" && r.Path != "/login" {
				tryRoute(h, t, b, p, name, r)
			}
		}
	}
	b := h.NewClient(t)
	for _, r := range admin.Routes(h.Options) {
		p := b.Send(t, r.Method, admintest.FillIn(r.Path, objectID(h, r)),
			strings.NewReader(admintest.WithFormKey(nil).Encode()),
			http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		signIn := p.Status == http.StatusSeeOther && strings.HasPrefix(p.Location(), "/login")
		if !r.Open && !signIn {
			t.Errorf("not signed in: %s %s: got %d %s", r.Method, r.Path, p.Status, p.Text())
		}
	}
	h.CheckAuditLog(t)
}

// tryRoute requests a route as one user.
func tryRoute(h *admintest.Console, t *testing.T, b *admintest.Client, user models.Staff, name string, r web.Route) {
	t.Helper()
	sc, may := h.Options.Access.Get().Scope(user.ID, r.Needs)
	may = may && (sc.All() || !web.ConcernsPlatform(r.Needs)) || r.Open || r.Own
	if !may {
		h.Time.Advance(time.Minute) // only the first rejections in a minute have events of their own
	}
	rejected := `outcome = 'rejected' AND object_kind = 'route'`
	before := h.Count(t, "audit_events", rejected)
	p := b.Send(t, r.Method, admintest.FillIn(r.Path, objectID(h, r)),
		strings.NewReader(admintest.WithFormKey(nil).Encode()),
		http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	name += ": " + r.Method + " " + r.Path
	switch {
	case r.Login != "":
		if p.Status != http.StatusSeeOther || p.Location() != "/" {
			t.Errorf("%s: got %d to %q, want a redirect to / because the user is signed in", name, p.Status, p.Location())
		}
		return
	case p.Status >= http.StatusInternalServerError, p.Status == http.StatusMethodNotAllowed:
		t.Errorf("%s: %d %s", name, p.Status, p.Text())
	case may == (p.Status == http.StatusForbidden):
		t.Errorf("%s: got %d, but the policy allows it: %t: %s", name, p.Status, may, p.Text())
	case !may && !strings.Contains(p.Body, web.PermissionLabel(r.Needs)):
		t.Errorf("%s: the page does not show the missing permission: %s", name, p.Text())
	}
	if now := h.Count(t, "audit_events", rejected); !may && now != before+1 {
		t.Errorf("%s: got %d new rejections in the audit log, want 1", name, now-before)
	}
}

// TestUnknownObjectIsNotFound checks that the pages for an unknown object and for an invalid ID are
// identical.
func TestUnknownObjectIsNotFound(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInEverywhere(t)
	want := b.Get(t, "/no-such-page")
	if want.Status != http.StatusNotFound {
		t.Fatalf("%d", want.Status)
	}
	ids := []string{
		id.Format(id.Staff, uuid.New()), id.Format(id.Partner, h.People[models.Auditor].ID),
		h.People[models.Auditor].ID.String(), "auditor@example.com",
		"0", "-1", "st_", strings.Repeat("A", 5000), "%00", "%ff", "..%2f..%2fetc", "'%20OR%20'1'='1", "%3Cscript%3E",
	}
	for _, r := range admin.Routes(h.Options) {
		if !strings.Contains(r.Path, "{id}") {
			continue
		}
		for _, object := range ids {
			p := b.Send(t, r.Method, admintest.FillIn(r.Path, object),
				strings.NewReader(admintest.WithFormKey(nil).Encode()),
				http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
			if p.Status != http.StatusNotFound || r.Method == http.MethodGet && p.Body != want.Body {
				t.Errorf("%s %s with %.40q: got %d %.80s", r.Method, r.Path, object, p.Status, p.Text())
			}
		}
	}
	for _, path := range []string{"/staff/" + h.StaffID(models.Auditor) + "/sessions/" +
		id.Format(id.Session, uuid.New()) + "/end", "/account/sessions/x/end"} {
		if p := b.Post(t, path, nil); p.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, p.Status)
		}
	}
}

func TestRequestsFromOtherSitesAreForbidden(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	before := h.Count(t, "staff", "true")
	for name, header := range map[string]http.Header{
		"fetch metadata": {"Sec-Fetch-Site": {"cross-site"}},
		"same site":      {"Sec-Fetch-Site": {"same-site"}},
		"another origin": {"Origin": {"https://evil.example.com"}},
		"no origin":      {"Origin": {"null"}},
	} {
		for _, r := range admin.Routes(h.Options) {
			if r.Method != http.MethodPost {
				continue
			}
			header.Set("Content-Type", "application/x-www-form-urlencoded")
			form := url.Values{"email": {"eve@example.com"}, "name": {"Eve"}, "role": {"administrator"}}.Encode()
			if p := b.Send(t, r.Method, admintest.FillIn(r.Path, objectID(h, r)), strings.NewReader(form),
				header); p.Status != http.StatusForbidden || p.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %s: %d", name, r.Path, p.Status)
			}
		}
	}
	if h.Count(t, "staff", "true") != before || b.Get(t, "/").Status != http.StatusOK {
		t.Error("a request from another site made a change")
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.SamplePartner = h.AddPartner(t, "mine")
	b := h.SignedInEverywhere(t)
	for path, allow := range map[string]string{
		"/staff":        "GET",
		"/login":        "GET, POST",
		"/logout":       "POST",
		"/audit/verify": "POST",
		"/":             "GET",
	} {
		for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
			if p := b.Send(t, method, path, nil, nil); p.Status != http.StatusMethodNotAllowed ||
				p.Header.Get("Allow") != allow {
				t.Errorf("%s %s: got %d, Allow %q; want 405, %q", method, path, p.Status, p.Header.Get("Allow"), allow)
			}
		}
	}
	if p := b.Send(t, http.MethodHead, "/staff", nil, nil); p.Status != http.StatusOK || p.Body != "" {
		t.Errorf("HEAD: got %d with %d bytes, want 200 without a body", p.Status, len(p.Body))
	}
	// GET requests make no changes, but exports are recorded in the audit log.
	exports := []string{"/payouts/ledger.csv", "/payouts/balances.csv", "/audit.csv", "/leads.csv"}
	rows := func() int {
		return h.Count(t, "staff", "true") + h.Count(t, "staff_roles", "true") + h.Count(t, "audit_events", "true")
	}
	before := rows()
	for _, r := range admin.Routes(h.Options) {
		if r.Method == http.MethodGet && r.Path != "/account/second-factor" && !slices.Contains(exports, r.Path) {
			b.Get(t, admintest.FillIn(r.Path, objectID(h, r)))
		}
	}
	if rows() != before {
		t.Error("GET requests made a change")
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	for environment, strict := range map[string]string{"development": "", "production": "max-age=31536000"} {
		h := admintest.NewConsole(t, admintest.Setup{Environment: environment})
		b := h.NewClient(t)
		for _, path := range []string{"/login", "/", "/nope", "/assets/nope", "/invite/x"} {
			p := b.Get(t, path)
			for name, want := range map[string]string{
				"Cache-Control":             "no-store",
				"X-Content-Type-Options":    "nosniff",
				"Referrer-Policy":           "same-origin",
				"Strict-Transport-Security": strict,
			} {
				if got := p.Header.Get(name); got != want {
					t.Errorf("%s: %s: %s is %q, want %q", environment, path, name, got, want)
				}
			}
			csp := p.Header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") ||
				strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
				t.Errorf("%s: %s", path, csp)
			}
		}
		if p := b.Get(t, assetPath(h, t)); p.Status != http.StatusOK ||
			!strings.Contains(p.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("style sheet: got %d, Cache-Control %q", p.Status, p.Header.Get("Cache-Control"))
		}
	}
}

func assetPath(h *admintest.Console, t *testing.T) string {
	t.Helper()
	body := h.NewClient(t).Get(t, "/login").Body
	_, rest, ok := strings.Cut(body, `rel="stylesheet" href="`)
	path, _, _ := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal("the page does not contain a style sheet")
	}
	return path
}

// TestRepeatedRejectionsDoNotFillAuditLog repeatedly requests a page that the user may not open.
func TestRepeatedRejectionsDoNotFillAuditLog(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Privacy)
	const requests = 40
	for range requests {
		if p := b.Get(t, "/payouts"); p.Status != http.StatusForbidden {
			t.Fatalf("got %d, want 403", p.Status)
		}
	}
	rejected := `outcome = 'rejected' AND staff_id = $1`
	user := h.People[models.Privacy].ID
	if n := h.Count(t, "audit_events", rejected, user); n != audit.RejectionsPerMinute {
		t.Errorf("got %d events, want %d", n, audit.RejectionsPerMinute)
	}
	h.Time.Advance(time.Minute)
	if _, err := h.Options.Audit.LogRejectionCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.Count(t, "audit_events", rejected+` AND (after->>'payouts.read')::int = $2`, user,
		requests-audit.RejectionsPerMinute); n != 1 {
		t.Errorf("got %d events with the number of further rejections, want 1", n)
	}
	h.CheckAuditLog(t)
}
