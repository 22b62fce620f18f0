package web

import (
	"github.com/pingpost/pingpost/internal/authz"
)

// The permissions of the console, as the policy names them.
var (
	ReadOverview = authz.Permission{Object: "overview", Action: "read"}
	ReadAudit    = authz.Permission{Object: "audit", Action: "read"}
	VerifyAudit  = authz.Permission{Object: "audit", Action: "verify"}
	ReadStaff    = authz.Permission{Object: "staff", Action: "read"}
	WriteStaff   = authz.Permission{Object: "staff", Action: "write"}

	ReadPartners   = authz.Permission{Object: "partners", Action: "read"}
	CreatePartners = authz.Permission{Object: "partners", Action: "create"}
	WritePartners  = authz.Permission{Object: "partners", Action: "write"}
	WriteSecrets   = authz.Permission{Object: "secrets", Action: "write"}

	ReadPricing    = authz.Permission{Object: "pricing", Action: "read"}
	WritePricing   = authz.Permission{Object: "pricing", Action: "write"}
	PublishPricing = authz.Permission{Object: "pricing", Action: "publish"}

	ReadLeads      = authz.Permission{Object: "leads", Action: "read"}
	FindLeads      = authz.Permission{Object: "leads", Action: "find"}
	ReadPayouts    = authz.Permission{Object: "payouts", Action: "read"}
	ExportPayouts  = authz.Permission{Object: "payouts", Action: "export"}
	WritePayouts   = authz.Permission{Object: "payouts", Action: "write"}
	ApprovePayouts = authz.Permission{Object: "payouts", Action: "approve"}

	ReadReconciliation  = authz.Permission{Object: "reconciliation", Action: "read"}
	WriteReconciliation = authz.Permission{Object: "reconciliation", Action: "write"}
)

// ConcernsPlatform reports whether a permission is about the whole platform. A role limited to
// some partners does not give it.
func ConcernsPlatform(p authz.Permission) bool {
	return p.Object == "staff" || p.Object == "pricing" || p == VerifyAudit || p == CreatePartners
}

// permissionLabels says the policy's permissions in words, as they end the sentence "may …".
var permissionLabels = map[string]string{
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
	"payouts, approve":      "accept or reject returns, and approve and pay payouts",
	"reconciliation, read":  "see reconciliations",
	"reconciliation, write": "reconcile the lists of partners",
}

// PermissionLabel completes the sentence "may …".
func PermissionLabel(p authz.Permission) string { return permissionLabels[p.String()] }

// partialPermissions are the permissions of which a role for some partners gives a part.
var partialPermissions = map[authz.Permission]struct{ some, rest string }{
	ReadPricing:    {"see the prices agreed with the partner", "see prices"},
	ReadPayouts:    {"see the ledger, balances, returns and statements", "see payout runs"},
	WritePayouts:   {"return leads and adjust balances", "prepare payouts"},
	ApprovePayouts: {"accept or reject returns", "approve and pay payouts"},
}

// PermissionLabelsByScope says what a role for some partners gives of a permission, and what is left to a
// role for all partners. Either is "" where it is nothing.
func PermissionLabelsByScope(p authz.Permission) (some, rest string) {
	if parts, ok := partialPermissions[p]; ok {
		return parts.some, parts.rest
	}
	if ConcernsPlatform(p) {
		return "", PermissionLabel(p)
	}
	return PermissionLabel(p), ""
}
