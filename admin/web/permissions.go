package web

import (
	"github.com/pingpost/pingpost/internal/platform/authz"
)

// The permissions of the console, named as in the policy.
var (
	ReadOverview = authz.Permission{Object: "overview", Action: "read"}
	ReadAudit    = authz.Permission{Object: "audit", Action: "read"}
	VerifyAudit  = authz.Permission{Object: "audit", Action: "verify"}
	ReadStaff    = authz.Permission{Object: "staff", Action: "read"}
	WriteStaff   = authz.Permission{Object: "staff", Action: "write"}

	ReadPartners   = authz.Permission{Object: "partners", Action: "read"}
	CreatePartners = authz.Permission{Object: "partners", Action: "create"}
	WritePartners  = authz.Permission{Object: "partners", Action: "write"}
	// PartnerContacts concerns the partners to notify of an erasure.
	PartnerContacts = authz.Permission{Object: "partners", Action: "contacts"}
	WriteSecrets    = authz.Permission{Object: "secrets", Action: "write"}

	ReadPricing    = authz.Permission{Object: "pricing", Action: "read"}
	WritePricing   = authz.Permission{Object: "pricing", Action: "write"}
	PublishPricing = authz.Permission{Object: "pricing", Action: "publish"}

	ReadLeads      = authz.Permission{Object: "leads", Action: "read"}
	FindLeads      = authz.Permission{Object: "leads", Action: "find"}
	ExportLeads    = authz.Permission{Object: "leads", Action: "export"}
	RevealLeads    = authz.Permission{Object: "leads", Action: "reveal"}
	EraseLeads     = authz.Permission{Object: "leads", Action: "erase"}
	ReadRequests   = authz.Permission{Object: "requests", Action: "read"}
	WriteRequests  = authz.Permission{Object: "requests", Action: "write"}
	ExportEvidence = authz.Permission{Object: "leads", Action: "evidence"}
	HoldLeads      = authz.Permission{Object: "leads", Action: "hold"}
	ReadRetention  = authz.Permission{Object: "retention", Action: "read"}
	ApplyRetention = authz.Permission{Object: "retention", Action: "apply"}

	ReadDisclosures    = authz.Permission{Object: "disclosures", Action: "read"}
	ReplaceDisclosures = authz.Permission{Object: "disclosures", Action: "replace"}

	ReadNotes   = authz.Permission{Object: "notes", Action: "read"}
	FindNotes   = authz.Permission{Object: "notes", Action: "find"}
	RedactNotes = authz.Permission{Object: "notes", Action: "redact"}

	ReadPayouts    = authz.Permission{Object: "payouts", Action: "read"}
	ExportPayouts  = authz.Permission{Object: "payouts", Action: "export"}
	WritePayouts   = authz.Permission{Object: "payouts", Action: "write"}
	ApprovePayouts = authz.Permission{Object: "payouts", Action: "approve"}

	ReadReconciliation  = authz.Permission{Object: "reconciliation", Action: "read"}
	WriteReconciliation = authz.Permission{Object: "reconciliation", Action: "write"}
)

// ConcernsPlatform reports whether a permission applies to the whole platform. Only a role for all
// partners grants such a permission.
func ConcernsPlatform(p authz.Permission) bool {
	return p.Object == "staff" || p.Object == "pricing" || p.Object == "requests" || p.Object == "retention" || p == VerifyAudit || p == CreatePartners || p == PartnerContacts
}

// permissionLabels maps permissions to labels. A label completes the sentence "Your roles do not
// allow you to …".
var permissionLabels = map[string]string{
	"overview, read":        "view the overview",
	"audit, read":           "view the audit log",
	"audit, verify":         "verify the audit log",
	"staff, read":           "view staff",
	"staff, write":          "invite users and change their roles",
	"partners, read":        "view partners",
	"partners, create":      "onboard partners",
	"partners, write":       "edit partners",
	"partners, contacts":    "view the contacts of partners to notify of an erasure",
	"secrets, write":        "create, rotate and revoke signing secrets",
	"leads, read":           "view leads, without personal data",
	"leads, find":           "find leads by email address or phone number",
	"leads, export":         "export lists of leads, without personal data",
	"leads, reveal":         "reveal the contact data of leads, one field at a time",
	"leads, erase":          "erase the personal data of leads",
	"requests, read":        "view privacy requests",
	"requests, write":       "answer privacy requests: export or erase all data of a consumer",
	"leads, evidence":       "download evidence packs of leads",
	"leads, hold":           "place and release legal holds",
	"retention, read":       "view retention periods and legal holds",
	"retention, apply":      "put shorter retention periods into effect",
	"disclosures, read":     "view the disclosure texts that consumers agreed to",
	"disclosures, replace":  "replace disclosure texts",
	"notes, read":           "view notes about returns, adjustments and findings, without amounts",
	"notes, find":           "search notes about returns, adjustments and findings",
	"notes, redact":         "redact notes about returns, adjustments and findings",
	"pricing, read":         "view prices",
	"pricing, write":        "edit draft prices",
	"pricing, publish":      "publish prices",
	"payouts, read":         "view the ledger and payouts",
	"payouts, export":       "export the ledger",
	"payouts, write":        "request returns, adjust balances and prepare payout runs",
	"payouts, approve":      "accept or reject returns, approve adjustments and payout runs, and mark payout runs as paid",
	"reconciliation, read":  "view reconciliations",
	"reconciliation, write": "reconcile partner files",
}

// PermissionLabel returns the label of a permission, such as "edit partners".
func PermissionLabel(p authz.Permission) string { return permissionLabels[p.String()] }

// partialPermissions contains the permissions that a role for some partners grants only in part,
// with a label for each part.
var partialPermissions = map[authz.Permission]struct{ some, rest string }{
	ReadPricing:    {"view the prices agreed with the partner", "view prices"},
	ReadPayouts:    {"view the ledger, balances, returns, adjustments and statements", "view payout runs"},
	WritePayouts:   {"request returns and adjust balances", "prepare payout runs"},
	ApprovePayouts: {"accept or reject returns, and approve adjustments", "approve payout runs and mark them as paid"},
}

// PermissionLabelsByScope returns two labels for a permission. The result some describes what a role for
// some partners allows. The result rest describes what only a role for all partners allows. Either label
// can be "".
func PermissionLabelsByScope(p authz.Permission) (scoped, rest string) {
	if parts, ok := partialPermissions[p]; ok {
		return parts.some, parts.rest
	}
	if ConcernsPlatform(p) {
		return "", PermissionLabel(p)
	}
	return PermissionLabel(p), ""
}
