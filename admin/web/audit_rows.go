package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// AuditRows returns the table rows of audit events. An event links to its object if the user may
// see that object.
func AuditRows(k *Request, events []models.AuditEvent) []ui.AuditRow {
	rows := make([]ui.AuditRow, len(events))
	for i, e := range events {
		rows[i] = ui.AuditRow{
			At:        e.At,
			Actor:     e.Actor,
			Role:      strings.ReplaceAll(e.Role, "_", " "),
			Action:    actionLabel(e.Action),
			Code:      e.Action,
			Kind:      strings.ReplaceAll(e.ObjectKind, "_", " "),
			Object:    e.ObjectID,
			Outcome:   string(e.Outcome),
			Reason:    e.Reason,
			Address:   e.Address,
			RequestID: e.RequestID,
			Changes:   Changes(e.Before, e.After),
		}
		switch {
		case e.ObjectKind == "staff" && e.ObjectID != "" && k.May(ReadStaff):
			rows[i].ObjectURL = "/staff/" + e.ObjectID
		case e.ObjectKind == "rate_card" && e.ObjectID != "" && k.May(ReadPricing):
			rows[i].ObjectURL = "/pricing/drafts/" + e.ObjectID
		case e.ObjectKind == "reconciliation" && e.PartnerID != nil && k.MayAt(ReadReconciliation, *e.PartnerID):
			rows[i].ObjectURL = "/reconciliation/" + e.ObjectID
		case e.ObjectKind == "payout_run" && e.ObjectID != "" && k.MayForAllPartners(ReadPayouts):
			rows[i].ObjectURL = "/payouts/runs/" + e.ObjectID
		case e.ObjectKind == "return" && e.PartnerID != nil && k.MayAt(ReadPayouts, *e.PartnerID):
			rows[i].ObjectURL = "/payouts/returns/" + e.ObjectID
		case e.PartnerID != nil:
			rows[i].ObjectURL = PartnerLink(k, *e.PartnerID, "").URL
		}
	}
	return rows
}

// actionLabel formats an action as a label: "staff: reset second factor".
func actionLabel(action string) string {
	return strings.NewReplacer(".", ": ", "_", " ").Replace(action)
}

// Changes returns the changed fields of an event, sorted by name.
func Changes(before, after *string) (all []ui.Change) {
	was, is := Fields(before), Fields(after)
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, ui.Change{
			Name:   strings.ReplaceAll(name, "_", " "),
			Before: FieldText(was, name),
			After:  FieldText(is, name),
		})
	}
	return all
}

// Fields decodes the fields of an audit event from JSON. For nil it returns an empty map.
func Fields(text *string) map[string]any {
	var out map[string]any
	if text != nil {
		_ = json.Unmarshal([]byte(*text), &out) // always valid, because the audit log wrote it
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
		for i, one := range list {
			words[i] = fmt.Sprint(one)
		}
		return strings.Join(words, ", ")
	}
	return fmt.Sprint(value)
}
