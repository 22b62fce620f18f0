package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// AuditRows returns the table rows for audit events. An event links to its object if the user may
// see that object. Only users who may view staff see the IP addresses.
func (k *Request) AuditRows(events []models.AuditEvent) ([]ui.AuditRow, error) {
	names, err := k.namesOf(events)
	if err != nil {
		return nil, err
	}
	rows := make([]ui.AuditRow, len(events))
	showAddress := k.May(ReadStaff)
	for i, e := range events {
		rows[i] = ui.AuditRow{
			At:        e.At,
			Actor:     e.Actor,
			Role:      strings.ReplaceAll(e.Role, "_", " "),
			Action:    actionLabel(e.Action),
			Code:      e.Action,
			Object:    e.ObjectID,
			Name:      names.of(e),
			Outcome:   string(e.Outcome),
			Reason:    e.Reason,
			RequestID: e.RequestID,
			Changes:   Changes(e.Before, e.After),
		}
		if showAddress {
			rows[i].Address = e.Address
		}
		if o := objectOf(e.ObjectKind); e.ObjectID != "" {
			rows[i].Kind = o.label
			if o.url != nil {
				rows[i].ObjectURL = o.url(k, e)
			}
		}
	}
	return rows, nil
}

// areaLabels complete the sentence "Events about … are not shown".
var areaLabels = map[audit.Area]string{
	"staff":          "users",
	"partners":       "partners",
	"pricing":        "prices",
	"leads":          "leads",
	"requests":       "privacy requests",
	"disclosures":    "disclosure texts",
	"notes":          "notes",
	"retention":      "retention and legal holds",
	"payouts":        "payouts",
	"reconciliation": "reconciliations",
	"audit":          "the audit log",
	audit.Unknown:    "keys",
}

// HiddenEvents describes the audit events that the user may not see, or returns "".
func (k *Request) HiddenEvents() string {
	hidden := k.EventReader().HiddenAreas()
	if len(hidden) == 0 {
		return ""
	}
	labels := make([]string, len(hidden))
	for i, area := range hidden {
		labels[i] = areaLabels[area]
	}
	return "Events about " + enumerate(labels, "and") + " are not shown, because your roles do not allow you to view them."
}

// actionLabels are the labels of the actions that actionLabel would not format well.
var actionLabels = map[string]string{ //nolint:gosec // labels of actions, no credentials
	"login":                          "sign in",
	"confirm":                        "confirm identity",
	"console.deny":                   "open a page without access",
	"disclosures.replace":            "replace disclosure text",
	"keys.introduce":                 "register wrapping keys",
	"keys.reseal":                    "reseal secrets and digests",
	"keys.rewrap":                    "rewrap lead keys",
	"keys.expire":                    "delete old versions of Vault key",
	"keys.rotate":                    "create new version of Vault key",
	"audit.export":                   "export audit log",
	"audit.verify":                   "verify audit log",
	"ledger.adjust":                  "adjust balance",
	"leads.export":                   "export leads",
	"ledger.download":                "download ledger export",
	"ledger.export_balances":         "export balances",
	"ledger.redact_note":             "redact note",
	"reconciliation.redact_note":     "redact note on finding",
	"return.redact":                  "redact evidence of return",
	"link.create":                    "create documentation link",
	"link.revoke":                    "revoke documentation link",
	"partner.details":                "change partner details",
	"partner.prices":                 "change partner pricing",
	"partner.prices_propose":         "propose partner pricing",
	"partner.prices_withdraw":        "withdraw proposed pricing",
	"partner.signing":                "change signing mode",
	"partner.status":                 "change partner status",
	"payout_run.pay":                 "mark payout run as paid",
	"payout_run.payments":            "download payments",
	"payout_run.prepared":            "finish preparing payout run",
	"privacy_request.add_leads":      "add leads to privacy request",
	"privacy_request.check_identity": "record identity check",
	"privacy_request.close":          "close privacy request",
	"privacy_request.create":         "create privacy request",
	"privacy_request.download":       "download personal data",
	"privacy_request.erase":          "erase leads of privacy request",
	"privacy_request.export":         "export personal data",
	"privacy_request.extend":         "extend deadline of privacy request",
	"privacy_request.notify":         "record notice to partner",
	"privacy_request.remove_leads":   "remove leads from privacy request",
	"pricing.create":                 "create draft",
	"pricing.discard":                "discard draft",
	"pricing.edit":                   "edit draft",
	"pricing.export":                 "export prices",
	"pricing.publish":                "publish prices",
	"pricing.rename":                 "rename draft",
	"pricing.schedule":               "schedule publication",
	"pricing.submit":                 "submit draft for approval",
	"pricing.withdraw":               "withdraw draft",
	"pricing.undo":                   "undo edit",
	"reconciliation.compare":         "compare file with ledger",
	"reconciliation.save":            "save reconciliation",
	"reconciliation.resolve":         "resolve finding",
	"reconciliation.upload":          "upload file",
	"secret.expire":                  "set secret expiry",
	"staff.accept":                   "accept invitation",
	"staff.create":                   "create user",
	"staff.deactivate":               "deactivate user",
	"staff.end_session":              "revoke session",
	"staff.end_sessions":             "revoke sessions",
	"staff.invite":                   "invite user",
	"staff.invite_again":             "create new invitation",
	"staff.password":                 "change password",
	"staff.reactivate":               "reactivate user",
	"staff.recovery_codes":           "create recovery codes",
	"staff.reset_second_factor":      "reset second factor",
	"staff.roles":                    "change roles",
	"staff.second_factor":            "set up second factor",
	"job.cancel":                     "cancel job",
	"job.fail":                       "job failed",
	"lead.download":                  "download personal data of lead",
	"lead.evidence":                  "download evidence pack",
	"lead.export":                    "export personal data of lead",
	"leads.evidence":                 "download evidence pack",
	"lead.reveal_again":              "include revealed fields in evidence pack",
	"evidence.create_key":            "create evidence key",
	"evidence.revoke_key":            "revoke evidence key",
	"evidence.rotate_key":            "rotate evidence key",
}

// actionLabel formats an action as a label: "partner.approve" is "approve partner".
func actionLabel(action string) string {
	if label, ok := actionLabels[action]; ok {
		return label
	}
	object, verb, _ := strings.Cut(action, ".")
	switch verb { // for a rejected request, the action is the permission that it needed
	case "read":
		verb = "view"
	case "write":
		verb = "change"
	}
	return strings.ReplaceAll(strings.TrimSpace(verb+" "+object), "_", " ")
}

// Changes returns the changed fields of an event, sorted by name. The text for an empty value is "none". A field that
// did not exist before has no old value.
func Changes(before, after *string) (all []ui.Change) {
	old, is := Fields(before), Fields(after)
	names := map[string]any{}
	maps.Copy(names, old)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c := ui.Change{Name: strings.ReplaceAll(name, "_", " "), After: cmp.Or(FieldText(is, name), "none")}
		if _, existed := old[name]; existed {
			c.Before = cmp.Or(FieldText(old, name), "none")
		}
		all = append(all, c)
	}
	return all
}

// Fields decodes the fields of an audit event or of an event in a lead's history. For nil, it returns an empty
// map.
func Fields(text *string) map[string]any {
	var out map[string]any
	if text != nil {
		out, _ = audit.DecodeFields(*text) // always valid, because the service wrote it
	}
	return out
}

// FieldText formats the value of a field. It returns "" if the field is missing.
func FieldText(fields map[string]any, name string) string {
	value, there := fields[name]
	if !there {
		return ""
	}
	if list, ok := value.([]any); ok {
		words := make([]string, len(list))
		for i, element := range list {
			words[i] = fmt.Sprint(element)
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(value)
}
