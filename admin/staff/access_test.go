package staff_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

var (
	policyLine = regexp.MustCompile(`<code>p, ([a-z_, ]+)</code>`)
	headOfRow  = regexp.MustCompile(`<th scope="row" role="rowheader">(?:<span class="main">)?([^<]+)<`)
	atHarbour  = `<div class="cell">harbour-leads</div>`
)

// The access page of a user with a role for one partner lists the permissions for that partner, and
// no permissions that require the role for all partners.
func TestAccessPageOfRoleForOnePartner(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	harbour := h.AddPartner(t, "harbour-leads")
	roles := map[models.Role][]string{ // permissions that the role grants for one partner
		models.AccountManager: {"overview, read", "partners, read", "partners, write", "secrets, write", "leads, read",
			"leads, find", "leads, export", "pricing, read", "audit, read"},
		models.PricingManager: {"overview, read", "partners, read", "pricing, read", "leads, read", "audit, read"},
		models.Finance: {"overview, read", "partners, read", "leads, read", "leads, find", "leads, export", "leads, reveal", "leads, evidence", "payouts, read", "payouts, export", "payouts, write", "payouts, approve",
			"reconciliation, read", "reconciliation, write", "audit, read"},
		models.Privacy: {"overview, read", "leads, read", "leads, find", "leads, reveal", "leads, erase", "leads, evidence", "leads, hold",
			"disclosures, read", "disclosures, replace", "notes, read", "notes, find", "notes, redact"},
		models.Auditor: {"overview, read", "partners, read", "leads, read", "leads, find", "leads, export", "leads, evidence", "disclosures, read", "notes, read", "notes, find", "pricing, read",
			"payouts, read", "payouts, export", "reconciliation, read", "audit, read"},
	}
	for role := range roles {
		h.AddStaff(t, string(role)+"-of-harbour@example.com", models.StaffRole{Role: role, PartnerID: &harbour})
	}
	h.Reload(t)
	b := h.SignedInAs(t, models.Administrator)
	page := func(email string) (all string, may, mayNot []string) {
		t.Helper()
		p, err := h.StaffService.Find(t.Context(), email)
		if err != nil {
			t.Fatal(err)
		}
		shown := b.Get(t, web.StaffURL(p.ID)+"/access")
		allowed, denied, ok := strings.Cut(shown.Body, `id="denied"`)
		if shown.Status != http.StatusOK || !ok {
			t.Fatalf("%d %s", shown.Status, shown.Text())
		}
		return allowed, heads(allowed), heads(denied)
	}
	for role, want := range roles {
		allowed, may, mayNot := page(string(role) + "-of-harbour@example.com")
		var got []string
		for _, line := range policyLine.FindAllStringSubmatch(allowed, -1) {
			got = append(got, strings.TrimPrefix(line[1], string(role)+", "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got the policy rules %q, want %q", role, got, want)
		}
		if strings.Count(allowed, atHarbour) != len(want) || len(may) != len(want) {
			t.Errorf("%s: want %d permissions, all for this partner: %s", role, len(want), allowed)
		}
		for _, permission := range mayNot {
			if slices.Contains(may, permission) {
				t.Errorf("%s: %q is listed as granted and as missing", role, permission)
			}
		}
	}
	_, may, mayNot := page("finance-of-harbour@example.com")
	_, full, _ := page("finance@example.com")
	for _, head := range slices.Concat(may, mayNot, full) {
		if head != ui.Sentence(head) {
			t.Errorf("permission %q does not start with a capital letter", head)
		}
	}
	labels := func(p authz.Permission) (scoped, rest string) {
		scoped, rest = web.PermissionLabelsByScope(p)
		return ui.Sentence(scoped), ui.Sentence(rest)
	}
	for _, p := range []authz.Permission{web.ReadPayouts, web.WritePayouts, web.ApprovePayouts} {
		everywhere := ui.Sentence(web.PermissionLabel(p))
		scoped, rest := labels(p)
		if !slices.Contains(full, everywhere) || slices.Contains(may, everywhere) ||
			!slices.Contains(may, scoped) || !slices.Contains(mayNot, rest) {
			t.Errorf("%s: granted %q, missing %q", everywhere, may, mayNot)
		}
	}
	_, may, mayNot = page("account_manager-of-harbour@example.com")
	scoped, rest := labels(web.ReadPricing)
	if !slices.Contains(may, scoped) || !slices.Contains(mayNot, rest) ||
		!slices.Contains(mayNot, ui.Sentence(web.PermissionLabel(web.CreatePartners))) {
		t.Errorf("account manager: granted %q, missing %q", may, mayNot)
	}
	manager := h.NewClient(t)
	manager.SignIn(t, "account_manager-of-harbour@example.com")
	manager.Get(t, "/partners/new").Expect(t, "page that requires a role for all partners", http.StatusForbidden,
		`data-roles="account_manager" data-everywhere`)
}

// heads returns the row headings of the tables on a page.
func heads(html string) (all []string) {
	for _, row := range headOfRow.FindAllStringSubmatch(html, -1) {
		all = append(all, strings.TrimSpace(row[1]))
	}
	return all
}
