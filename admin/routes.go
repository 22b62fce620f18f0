package admin

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/models"
)

// route is an address of the console. What is neither open, nor a step of signing
// in, nor one's own, needs a permission of the policy.
type route struct {
	method, path string
	needs        authz.Permission
	open         bool                // for everybody, signed in or not
	own          bool                // for everybody who is signed in: about themselves
	login        models.SessionStage // for whoever is at this step of signing in
	limit        int64               // of a request's bytes, where it is not that of a form
	long         bool                // a file on its way in or out: may take longer than a page
	creates      string              // the page of what the form creates, see [call.created]; a form sent twice leads there
	form         string              // the page that shows the form, where it can be restored; see [call.keepForm]
	shownOnce    bool                // the form's answer shows a secret that is not shown again
	handle       func(*call) error
}

// stage is how far a session must have come.
func (r route) stage() models.SessionStage {
	if r.login != "" {
		return r.login
	}
	return models.StageOpen
}

// live reports whether the route is a part of a page that the page requests by itself,
// every two seconds. Such requests do not count as use of the session.
func (r route) live() bool { return strings.HasSuffix(r.path, "/live") }

// within bounds how long the route may take.
func (r route) within() time.Duration {
	if r.long {
		return longWithin
	}
	return requestWithin
}

// action names the route in the audit trail.
func (r route) action() string {
	if r.needs == (authz.Permission{}) {
		return "console.refused"
	}
	return r.needs.Object + "." + r.needs.Action
}

var (
	readOverview = authz.Permission{Object: "overview", Action: "read"}
	readAudit    = authz.Permission{Object: "audit", Action: "read"}
	verifyAudit  = authz.Permission{Object: "audit", Action: "verify"}
	readStaff    = authz.Permission{Object: "staff", Action: "read"}
	writeStaff   = authz.Permission{Object: "staff", Action: "write"}

	readPartners   = authz.Permission{Object: "partners", Action: "read"}
	createPartners = authz.Permission{Object: "partners", Action: "create"}
	writePartners  = authz.Permission{Object: "partners", Action: "write"}
	writeSecrets   = authz.Permission{Object: "secrets", Action: "write"}

	readPricing    = authz.Permission{Object: "pricing", Action: "read"}
	writePricing   = authz.Permission{Object: "pricing", Action: "write"}
	publishPricing = authz.Permission{Object: "pricing", Action: "publish"}

	readLeads      = authz.Permission{Object: "leads", Action: "read"}
	findLeads      = authz.Permission{Object: "leads", Action: "find"}
	readPayouts    = authz.Permission{Object: "payouts", Action: "read"}
	exportPayouts  = authz.Permission{Object: "payouts", Action: "export"}
	writePayouts   = authz.Permission{Object: "payouts", Action: "write"}
	approvePayouts = authz.Permission{Object: "payouts", Action: "approve"}

	readReconciliation  = authz.Permission{Object: "reconciliation", Action: "read"}
	writeReconciliation = authz.Permission{Object: "reconciliation", Action: "write"}
)

// wholePlatforms are permissions on what no partner has a part of: a role that holds
// at some partners does not give them.
func wholePlatforms(p authz.Permission) bool {
	return p.Object == "staff" || p.Object == "pricing" || p == verifyAudit || p == createPartners
}

// routes is every page and form there is, apart from what a browser needs for them.
func (c *Console) routes() []route {
	all := slices.Concat(c.loginRoutes(), c.accountRoutes(), c.overviewRoutes(), c.searchRoutes(), c.auditRoutes(), c.staffRoutes(), c.partnerRoutes(), c.pricingRoutes(), c.leadRoutes(), c.payoutRoutes(), c.reconciliationRoutes(), c.workRoutes())
	all = append(all, route{method: http.MethodPost, path: "/theme", open: true, handle: (*call).theme})
	if !c.production() {
		all = append(all, route{method: http.MethodGet, path: "/design", open: true, handle: (*call).design})
	}
	return all
}

// loginRoutes are the pages and forms of signing in, accepting an invitation and setting up a second factor.
func (c *Console) loginRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/login", open: true, handle: (*call).loginPage},
		{method: post, path: "/login", open: true, handle: (*call).login},
		{method: get, path: "/login/code", login: models.StageCode, handle: (*call).codePage},
		{method: post, path: "/login/code", login: models.StageCode, handle: (*call).code},
		{method: get, path: "/login/second-factor", login: models.StageEnrol, handle: (*call).enrolPage},
		{method: post, path: "/login/second-factor", login: models.StageEnrol, handle: (*call).enrol},
		{method: get, path: "/invite/{token}", open: true, handle: (*call).invitePage},
		{method: post, path: "/invite/{token}", open: true, handle: (*call).acceptInvite},
		{method: post, path: "/logout", own: true, handle: (*call).logout},
		{method: get, path: "/account/second-factor", own: true, handle: (*call).enrolPage},
		{method: post, path: "/account/second-factor", own: true, handle: (*call).enrol},
		{method: post, path: "/account/recovery-codes/kept", own: true, handle: (*call).codesKept},
	}
}

// overviewRoutes are the pages of the overview.
func (c *Console) overviewRoutes() []route {
	const get = http.MethodGet
	return []route{
		{method: get, path: "/{$}", needs: readOverview, handle: (*call).overview},
	}
}

// searchRoutes are the pages of jumping to an id.
func (c *Console) searchRoutes() []route {
	const get = http.MethodGet
	return []route{
		{method: get, path: "/jump", own: true, handle: (*call).jump},
		{method: get, path: "/keys", own: true, handle: (*call).keys},
	}
}

// accountRoutes are the pages and forms of a person's own account.
func (c *Console) accountRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/account", own: true, handle: (*call).account},
		{method: post, path: "/account/password", own: true, handle: (*call).changePassword},
		{method: post, path: "/account/recovery-codes", own: true, creates: "/account", shownOnce: true, handle: (*call).newRecoveryCodes},
		{method: get, path: "/account/confirm", own: true, handle: (*call).confirmPage},
		{method: post, path: "/account/confirm", own: true, handle: (*call).confirm},
		{method: post, path: "/account/sessions/{session}/end", own: true, handle: (*call).endOwnSession},
		{method: post, path: "/account/sessions/end-others", own: true, handle: (*call).endOwnOthers},
	}
}

// auditRoutes are the pages and forms of the audit trail.
func (c *Console) auditRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/audit", needs: readAudit, handle: (*call).auditList},
		{method: post, path: "/audit/verify", needs: verifyAudit, handle: (*call).auditVerify},
	}
}

// staffRoutes are the pages and forms of staff.
func (c *Console) staffRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/staff", needs: readStaff, handle: (*call).staffList},
		{method: get, path: "/staff/invite", needs: writeStaff, handle: (*call).staffInvitePage},
		{method: post, path: "/staff/invite", needs: writeStaff, creates: "/staff/{object}", shownOnce: true, form: "/staff/invite", handle: (*call).staffInvite},
		{method: get, path: "/staff/{id}", needs: readStaff, handle: (*call).staffPage},
		{method: get, path: "/staff/{id}/access", needs: readStaff, handle: (*call).staffAccess},
		{method: post, path: "/staff/{id}/roles", needs: writeStaff, form: "/staff/{id}", handle: (*call).staffRoles},
		{method: get, path: "/staff/{id}/deactivate", needs: writeStaff, handle: (*call).deactivatePage},
		{method: post, path: "/staff/{id}/deactivate", needs: writeStaff, handle: (*call).deactivate},
		{method: get, path: "/staff/{id}/reactivate", needs: writeStaff, handle: (*call).reactivatePage},
		{method: post, path: "/staff/{id}/reactivate", needs: writeStaff, handle: (*call).reactivate},
		{method: get, path: "/staff/{id}/reset-second-factor", needs: writeStaff, handle: (*call).resetPage},
		{method: post, path: "/staff/{id}/reset-second-factor", needs: writeStaff, handle: (*call).reset},
		{method: get, path: "/staff/{id}/invite", needs: writeStaff, handle: (*call).inviteAgainPage},
		{method: post, path: "/staff/{id}/invite", needs: writeStaff, creates: "/staff/{object}", shownOnce: true, handle: (*call).inviteAgain},
		{method: post, path: "/staff/{id}/sessions/{session}/end", needs: writeStaff, handle: (*call).endSession},
		{method: post, path: "/staff/{id}/sessions/end", needs: writeStaff, handle: (*call).endSessions},
	}
}

// partnerRoutes are the pages and forms about partners.
func (c *Console) partnerRoutes() []route {
	const get, post, one = http.MethodGet, http.MethodPost, "/partners/{id}"
	return []route{
		{method: get, path: "/partners", needs: readPartners, handle: (*call).partnersList},
		{method: get, path: "/partners/new", needs: createPartners, handle: (*call).partnerNewPage},
		{method: post, path: "/partners/new", needs: createPartners, creates: "/partners/{object}", form: "/partners/new", handle: (*call).partnerNew},
		{method: get, path: one, needs: readPartners, handle: (*call).partnerPage},
		{method: get, path: one + "/onboarding", needs: writePartners, handle: (*call).onboardingPage},
		{method: get, path: one + "/onboarding/live", needs: writePartners, handle: (*call).onboardingLive},
		{method: post, path: one + "/details", needs: writePartners, form: one + "?tab=details", handle: (*call).details},
		{method: post, path: one + "/approve", needs: writePartners, handle: (*call).approve},
		{method: get, path: one + "/suspend", needs: writePartners, handle: (*call).suspendPage},
		{method: post, path: one + "/suspend", needs: writePartners, form: one + "/suspend", handle: (*call).suspend},
		{method: post, path: one + "/signing", needs: writePartners, form: one + "?tab=signing", handle: (*call).setSigning},
		{method: get, path: one + "/accounts/new", needs: writePartners, handle: (*call).accountNewPage},
		{method: post, path: one + "/accounts/new", needs: writePartners, creates: one, form: one + "/accounts/new", handle: (*call).accountNew},
		{method: get, path: one + "/accounts/{account}", needs: writePartners, handle: (*call).accountPage},
		{method: post, path: one + "/accounts/{account}", needs: writePartners, form: one + "/accounts/{account}", handle: (*call).changeAccount},
		{method: get, path: one + "/check", needs: writePartners, handle: (*call).checkPage},
		{method: post, path: one + "/check", needs: writePartners, handle: (*call).check},
		{method: post, path: one + "/prices", needs: writePricing, form: one + "?tab=prices", handle: (*call).setPrices},
		{method: post, path: one + "/prices/approve", needs: publishPricing, handle: (*call).approvePrices},
		{method: post, path: one + "/prices/withdraw", needs: writePricing, handle: (*call).withdrawPrices},
		{method: post, path: one + "/link", needs: writePartners, creates: one + "?tab=documentation", shownOnce: true, handle: (*call).makeLink},
		{method: post, path: one + "/link/revoke", needs: writePartners, handle: (*call).revokeLink},
		{method: get, path: one + "/secrets/new", needs: writeSecrets, handle: (*call).secretNewPage},
		{method: post, path: one + "/secrets/new", needs: writeSecrets, creates: one + "?tab=secrets", shownOnce: true, form: one + "/secrets/new", handle: (*call).secretNew},
		{method: get, path: one + "/secrets/rotate", needs: writeSecrets, handle: (*call).secretRotatePage},
		{method: post, path: one + "/secrets/rotate", needs: writeSecrets, creates: one + "?tab=secrets", shownOnce: true, form: one + "/secrets/rotate", handle: (*call).secretRotate},
		{method: get, path: one + "/secrets/{secret}/retire", needs: writeSecrets, handle: (*call).retirePage},
		{method: post, path: one + "/secrets/{secret}/retire", needs: writeSecrets, form: one + "/secrets/{secret}/retire", handle: (*call).retire},
		{method: get, path: one + "/secrets/{secret}/revoke", needs: writeSecrets, handle: (*call).revokePage},
		{method: post, path: one + "/secrets/{secret}/revoke", needs: writeSecrets, handle: (*call).revoke},
	}
}

// permissions says the policy's permissions in words, as they end the sentence "may …".
var permissions = map[string]string{
	"overview, read":        "see the overview",
	"audit, read":           "see the audit trail",
	"audit, verify":         "verify the audit trail",
	"staff, read":           "see the staff",
	"staff, write":          "invite staff and change their roles",
	"partners, read":        "see partners",
	"partners, create":      "take on partners",
	"partners, write":       "change partners",
	"secrets, write":        "create, rotate and revoke signing secrets",
	"leads, read":           "see leads, without personal data",
	"leads, find":           "look leads up by e-mail address or phone number",
	"pricing, read":         "see prices",
	"pricing, write":        "change draft prices",
	"pricing, publish":      "publish prices",
	"payouts, read":         "see the ledger and payouts",
	"payouts, export":       "export the ledger",
	"payouts, write":        "return leads, adjust balances and prepare payouts",
	"payouts, approve":      "decide returns, and approve and pay payouts",
	"reconciliation, read":  "see reconciliations",
	"reconciliation, write": "reconcile the lists of partners",
}

func permissionWords(p authz.Permission) string { return permissions[p.String()] }

// divided are the permissions of which a role for some partners gives a part.
var divided = map[authz.Permission]struct{ some, rest string }{
	readPricing:    {"see the prices agreed with the partner", "see prices"},
	readPayouts:    {"see the ledger, balances, returns and statements", "see payout runs"},
	writePayouts:   {"return leads and adjust balances", "prepare payouts"},
	approvePayouts: {"accept or reject returns", "approve and pay payouts"},
}

// divide says what a role for some partners gives of a permission, and what is left to a
// role for all partners. Either is "" where it is nothing.
func divide(p authz.Permission) (some, rest string) {
	if parts, ok := divided[p]; ok {
		return parts.some, parts.rest
	}
	if wholePlatforms(p) {
		return "", permissionWords(p)
	}
	return permissionWords(p), ""
}
