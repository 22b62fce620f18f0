package staff_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Changes to users require a step-up ten minutes after signing in.
func TestStaffChangesRequireStepUp(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	path := "/staff/" + h.StaffID(models.Auditor)
	roles := func(with string) url.Values {
		return url.Values{
			"version": {strconv.Itoa(versionOf(h, t, models.Auditor))},
			"role":    {"auditor", "finance"},
			"proof":   {with},
		}
	}
	h.Time.Advance(11 * time.Minute)
	if p := b.Get(t, path); !strings.Contains(p.Body, `name="proof"`) {
		t.Error("the form has no step-up field")
	}
	for _, wrong := range []string{"", "wrong"} {
		if p := b.Post(t, path+"/roles", roles(wrong)); p.Status != http.StatusUnprocessableEntity ||
			!slices.Equal(p.Errors(), []string{"proof"}) || !strings.Contains(p.Body, `value="finance" checked`) {
			t.Errorf("proof %q: got %d %s", wrong, p.Status, p.Text())
		}
	}
	if h.Count(t, "staff_roles", "role = 'finance' AND staff_id = $1", h.People[models.Auditor].ID) != 0 {
		t.Fatal("the change was made without a step-up")
	}
	if p := b.Post(t, path+"/roles", roles(admintest.Password)); p.Status != http.StatusSeeOther {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := b.Get(t, path); strings.Contains(p.Body, `name="proof"`) {
		t.Error("the form has a step-up field right after a step-up")
	}
	h.Time.Advance(11 * time.Minute)
	if p := b.Get(t, "/account/second-factor"); p.Location() != "/account/confirm?next=%2Faccount%2Fsecond-factor" {
		t.Errorf("%d %q", p.Status, p.Location())
	}
	if p := b.Post(t, "/account/confirm", url.Values{"proof": {admintest.Password}, "next": {"/account/second-factor"}}); p.Location() != "/account/second-factor" {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	p := b.Get(t, "/account/second-factor")
	if p.Status != http.StatusOK || !strings.Contains(p.Body, `href="/account">Cancel`) {
		t.Errorf("%d", p.Status)
	}
	h.CheckAuditLog(t)
}

func versionOf(h *admintest.Console, t *testing.T, role models.Role) int {
	t.Helper()
	p, err := h.StaffService.Find(t.Context(), h.StaffID(role))
	if err != nil {
		t.Fatal(err)
	}
	return p.RowVersion
}

// If two administrators change a user at the same time, the second one sees the first change, and
// can overwrite it by submitting the form again.
func TestConcurrentRoleChangesConflict(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.AddStaff(t, "second@example.com", models.StaffRole{Role: models.Administrator})
	h.Reload(t)
	first, second := h.SignedInAs(t, models.Administrator), h.NewClient(t)
	second.SignIn(t, "second@example.com")
	path := "/staff/" + h.StaffID(models.Auditor)
	stale := strconv.Itoa(versionOf(h, t, models.Auditor))
	if p := first.Post(t, path+"/roles", url.Values{"version": {stale}, "role": {"finance"}}); p.Status != http.StatusSeeOther {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	p := second.Post(t, path+"/roles", url.Values{"version": {stale}, "role": {"pricing_manager"}})
	if p.Status != http.StatusConflict || !slices.Equal(p.Values("data-conflict"), []string{"changed"}) ||
		!strings.Contains(p.Body, "administrator@example.com") || !strings.Contains(p.Body, "finance at *") ||
		!strings.Contains(p.Body, `value="pricing_manager" checked`) {
		t.Fatalf("%d %s", p.Status, p.Text())
	}
	if h.Count(t, "staff_roles", "staff_id = $1 AND role = 'finance'", h.People[models.Auditor].ID) != 1 {
		t.Error("the first change was overwritten")
	}
	fresh := regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(p.Body)
	if fresh == nil || fresh[1] == stale {
		t.Fatalf("the form's version is %v", fresh)
	}
	if p := second.Post(t, path+"/roles", url.Values{"version": {fresh[1]}, "role": {"pricing_manager"}}); p.Status != http.StatusSeeOther {
		t.Errorf("submitted again: got %d %s", p.Status, p.Text())
	}
	h.CheckAuditLog(t)
}

// Administrators cannot change their own roles or deactivate themselves. Rejected changes are shown
// on the user's page and recorded in the audit log.
func TestRejectedStaffChanges(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Administrator)
	self, other := "/staff/"+h.StaffID(models.Administrator), "/staff/"+h.StaffID(models.Auditor)
	const roleBox = `type="checkbox"`
	if p := b.Get(t, self); !slices.Equal(p.Values("data-notice"), []string{"info"}) || strings.Contains(p.Body, roleBox) {
		t.Errorf("the user's own roles are not locked: %s", p.Text())
	}
	if p := b.Get(t, other); len(p.Values("data-notice")) != 0 || !strings.Contains(p.Body, roleBox) {
		t.Errorf("another user's roles are locked: %s", p.Text())
	}
	for path, c := range map[string]struct {
		form   url.Values
		status int
		reason string
	}{
		self + "/roles": {url.Values{
			"version": {"1"},
			"role":    {"administrator", "finance"},
		}, http.StatusForbidden, "own_role"},
		self + "/deactivate": {url.Values{
			"version": {"1"},
			"name":    {"administrator@example.com"},
		}, http.StatusForbidden, "self"},
		other + "/invite": {nil, http.StatusConflict, "accepted"},
	} {
		if p := b.Post(t, path, c.form); p.Status != c.status || !slices.Contains(p.Values("data-notice"), "bad") {
			t.Errorf("%s: got %d %s", path, p.Status, p.Text())
		}
		if n := h.Count(t, "audit_events", "outcome = 'rejected' AND object_kind = 'route' AND reason LIKE $1 || ':%'",
			c.reason); n != 1 {
			t.Errorf("%s: got %d rejections with reason %q in the audit log, want 1", path, n, c.reason)
		}
	}
	if n := h.Count(t, "audit_events", "outcome = 'rejected' AND object_kind = 'route'"); n != 3 {
		t.Errorf("got %d rejections in the audit log, want 3", n)
	}
	auditor := h.SignedInAs(t, models.Auditor)
	if p := b.Post(t, other+"/deactivate", url.Values{"version": {"1"}, "name": {"another name"}}); p.Status != http.StatusUnprocessableEntity || !slices.Equal(p.Errors(), []string{"name"}) || !strings.Contains(p.Body, "auditor@example.com") {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := b.Post(t, other+"/deactivate", url.Values{"version": {"1"}, "name": {"auditor@example.com"}}); p.Status != http.StatusSeeOther {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := auditor.Get(t, "/"); !strings.HasPrefix(p.Location(), "/login") {
		t.Errorf("deactivated user got %d", p.Status)
	}
	if p := b.Post(t, other+"/reactivate", url.Values{"version": {"2"}}); p.Status != http.StatusSeeOther {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	h.Reload(t)
	auditor.SignIn(t, "auditor@example.com")
	page := b.Get(t, other+"?tab=sessions")
	end := regexp.MustCompile(`action="(/staff/[^"]+/sessions/se_[^"]+/end)"`).FindStringSubmatch(page.Body)
	if end == nil {
		t.Fatal(page.Text())
	}
	if p := b.Post(t, end[1], nil); p.Status != http.StatusSeeOther {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if p := auditor.Get(t, "/"); !strings.HasPrefix(p.Location(), "/login") {
		t.Errorf("revoked session got %d", p.Status)
	}
	h.CheckAuditLog(t)
}

// TestStaffSearch checks that the list finds users by name and email address, ignoring case and accents.
func TestStaffSearch(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	h.AddStaff(t, "zoe@example.com", models.StaffRole{Role: models.Auditor})
	h.Exec(t, `UPDATE staff SET name = 'Zoë Özil' WHERE email = 'zoe@example.com'`)
	b := h.SignedInAs(t, models.Administrator)
	for text, found := range map[string]bool{"ZOE OZ": true, "özil": true, "ZOE@": true, "zoe x": false} {
		p := b.Get(t, "/staff?q="+url.QueryEscape(text))
		if p.Status != http.StatusOK || strings.Contains(p.Body, "Zoë Özil") != found {
			t.Errorf("%q: got status %d, want found = %t: %s", text, p.Status, found, p.Text())
		}
	}
}

// TestRevokeSessionsAsksFirst checks that several sessions are revoked only after confirmation on a page that states
// their number.
func TestRevokeSessionsAsksFirst(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	admin := h.SignedInAs(t, models.Administrator)
	first, second, third := h.SignedInAs(t, models.Auditor), h.NewClient(t), h.NewClient(t)
	for _, b := range []*admintest.Client{second, third} {
		b.SignIn(t, "auditor@example.com")
	}
	at := "/staff/" + h.StaffID(models.Auditor) + "/sessions/end"
	admin.Get(t, at).Expect(t, "all sessions", http.StatusOK, "3 sessions", `action="`+at+`"`)
	const others = "/account/sessions/end-others"
	first.Get(t, "/account").Expect(t, "the account", http.StatusOK, `href="`+others+`"`)
	first.Get(t, others).Expect(t, "the other sessions", http.StatusOK, "2 other sessions", `action="`+others+`"`)
	if n := h.Count(t, "staff_sessions", "staff_id = $1", h.People[models.Auditor].ID); n != 3 {
		t.Errorf("got %d sessions after the questions, want 3", n)
	}
	first.Post(t, others, nil).ExpectRedirect(t, "/account")
	if p := second.Get(t, "/"); !strings.HasPrefix(p.Location(), "/login") {
		t.Errorf("another session: got status %d", p.Status)
	}
	admin.Post(t, at, nil).ExpectRedirect(t, strings.TrimSuffix(at, "/sessions/end")+"?tab=sessions")
	if p := first.Get(t, "/"); !strings.HasPrefix(p.Location(), "/login") {
		t.Errorf("the last session: got status %d", p.Status)
	}
}

// A removed role has no effect after the node has reloaded the roles.
func TestRemovedRoleHasNoEffect(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	b := h.SignedInAs(t, models.Auditor)
	if p := b.Get(t, "/staff"); p.Status != http.StatusOK {
		t.Fatalf("%d", p.Status)
	}
	if err := h.StaffService.By(audit.Operator).SetRoles(t.Context(), h.People[models.Auditor].ID, 1,
		[]models.StaffRole{{Role: models.Finance}}); err != nil {
		t.Fatal(err)
	}
	h.Reload(t)
	if p := b.Get(t, "/staff"); p.Status != http.StatusForbidden ||
		!slices.Equal(p.Values("data-roles"), []string{"administrator auditor"}) || strings.Contains(p.Body, "data-everywhere") {
		t.Errorf("%d %s", p.Status, p.Text())
	}
	if _, err := h.StaffService.By(audit.Operator).Invite(t.Context(),
		staff.NewMember{Email: "x@example.com", Name: "X", Roles: []models.StaffRole{{Role: models.Auditor}}}); err != nil {
		t.Fatal(err)
	}
}

// Users with a role for one partner see only that partner, and no pages that concern the whole
// platform.
func TestRoleForOnePartner(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	mine, theirs := h.AddPartner(t, "mine"), h.AddPartner(t, "theirs")
	h.AddStaff(t, "narrow@example.com", models.StaffRole{Role: models.Auditor, PartnerID: &mine})
	h.Reload(t)
	b := h.NewClient(t)
	b.SignIn(t, "narrow@example.com")
	for path, want := range map[string]int{
		"/":                                   http.StatusOK,
		"/audit":                              http.StatusOK,
		"/staff":                              http.StatusForbidden,
		"/staff/" + h.StaffID(models.Auditor): http.StatusForbidden,
		"/account":                            http.StatusOK,
	} {
		if p := b.Get(t, path); p.Status != want || strings.Contains(p.Body, `href="/staff"`) {
			t.Errorf("%s: got %d, want %d without a link to staff", path, p.Status, want)
		}
	}
	if p := b.Post(t, "/audit/verify", nil); p.Status != http.StatusForbidden {
		t.Errorf("verifying the audit log: got %d", p.Status)
	}
	p := b.Get(t, "/audit")
	if mine, theirs := id.Format(id.Partner, mine), id.Format(id.Partner, theirs); !strings.Contains(p.Body, mine) ||
		strings.Contains(p.Body, theirs) || strings.Contains(p.Body, "administrator@example.com") {
		t.Errorf("the audit log shows events of another partner: %s", p.Text())
	}
	if p := b.Get(t, "/audit?object="+id.Format(id.Partner, theirs)); strings.Count(p.Body, `class="more"`) != 0 {
		t.Errorf("the filter finds events of another partner: %s", p.Text())
	}
}
