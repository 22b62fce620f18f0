package staff_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/admin/admintest"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/models"
)

var (
	policyLine = regexp.MustCompile(`<code>p, ([a-z_, ]+)</code>`)
	headOfRow  = regexp.MustCompile(`<th scope="row" role="rowheader">(?:<span class="main">)?([^<]+)<`)
	atHarbour  = `<div class="cell">harbour-leads</div>`
)

// A role for one partner lists what it gives there, and not what it would give for all.
func TestAccessOfARoleForOnePartner(t *testing.T) {
	t.Parallel()
	h := admintest.NewConsole(t, admintest.Setup{})
	harbour := h.AddPartner(t, "harbour-leads")
	roles := map[models.Role][]string{ // permissions of the policy that hold at one partner
		models.AccountManager: {"overview, read", "partners, read", "partners, write", "secrets, write", "leads, read",
			"leads, find", "pricing, read", "audit, read"},
		models.PricingManager: {"overview, read", "partners, read", "pricing, read", "leads, read", "audit, read"},
		models.Finance: {"overview, read", "partners, read", "leads, read", "leads, find", "payouts, read", "payouts, export", "payouts, write", "payouts, approve",
			"reconciliation, read", "reconciliation, write", "audit, read"},
		models.Auditor: {"overview, read", "partners, read", "leads, read", "leads, find", "pricing, read",
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
			t.Errorf("%s: %q, want %q", role, got, want)
		}
		if strings.Count(allowed, atHarbour) != len(want) || len(may) != len(want) {
			t.Errorf("%s: some of it is not for this partner: %s", role, allowed)
		}
		for _, one := range mayNot {
			if slices.Contains(may, one) {
				t.Errorf("%s may, and may not, %s", role, one)
			}
		}
	}
	_, may, mayNot := page("finance-of-harbour@example.com")
	_, full, _ := page("finance@example.com")
	for _, p := range []authz.Permission{web.ReadPayouts, web.WritePayouts, web.ApprovePayouts} {
		everywhere := web.PermissionLabel(p)
		some, rest := web.PermissionLabelsByScope(p)
		if !slices.Contains(full, everywhere) || slices.Contains(may, everywhere) ||
			!slices.Contains(may, some) || !slices.Contains(mayNot, rest) {
			t.Errorf("%s: may %q, may not %q", everywhere, may, mayNot)
		}
	}
	_, may, mayNot = page("account_manager-of-harbour@example.com")
	some, rest := web.PermissionLabelsByScope(web.ReadPricing)
	if !slices.Contains(may, some) || !slices.Contains(mayNot, rest) ||
		!slices.Contains(mayNot, web.PermissionLabel(web.CreatePartners)) {
		t.Errorf("may %q, may not %q", may, mayNot)
	}
	manager := h.NewClient(t)
	manager.SignIn(t, "account_manager-of-harbour@example.com")
	manager.Get(t, "/partners/new").Expect(t, "a page for all partners", http.StatusForbidden,
		`data-roles="account_manager" data-everywhere`)
}

// heads are what the rows of the tables are about.
func heads(html string) (all []string) {
	for _, row := range headOfRow.FindAllStringSubmatch(html, -1) {
		all = append(all, strings.TrimSpace(row[1]))
	}
	return all
}
