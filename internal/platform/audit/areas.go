package audit

import (
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/models"
)

// Area is the part of the platform that an event is about. It is the object of the policy's permission to read
// that part, such as "payouts" in "payouts, read".
type Area string

// Unknown is the area of events that have no page of their own. Only users who verify the audit log see them.
const Unknown Area = ""

// areas maps events to areas. The first line that matches an event's kind and the beginning of its action applies.
// Every kind of object that has a page must have a line.
var areas = []struct {
	kind, action string
	area         Area
}{
	{"partner", "partner.prices", "pricing"},
	{"partner", "", "partners"},
	{"account", "", "partners"},
	{"secret", "", "partners"},
	{"rate_card", "", "pricing"},
	{"replay", "", "pricing"},
	{"lead", "hold.", "retention"},
	{"lead", "lead.export", "requests"}, // they contain the request's ID
	{"lead", "lead.download", "requests"},
	{"lead", "", "leads"},
	{"privacy_request", "", "requests"},
	{"disclosure", "", "disclosures"},
	{"note", "", "notes"},
	{"platform", "retention.", "retention"},
	{"retention_run", "", "retention"},
	{"platform", "erasures.", "retention"},
	{"payout_run", "", "payouts"},
	{"return", "", "payouts"},
	{"adjustment", "", "payouts"},
	{"ledger", "", "payouts"},
	{"export", "", "payouts"},
	{"reconciliation", "", "reconciliation"},
	{"staff", "", "staff"},
	{"route", "", "staff"},
	{"audit", "", "audit"},
}

// AreaOf returns the area of an event with the given kind of object and action.
func AreaOf(kind, action string) Area {
	for _, a := range areas {
		if a.kind == kind && strings.HasPrefix(action, a.action) {
			return a.area
		}
	}
	return Unknown
}

// Reader returns the partners whose events in an area a user may see. Only a scope with all partners includes
// events that are not about a partner.
type Reader func(Area) scope.Scope

// Everything is the reader for the service and the command line.
func Everything(Area) scope.Scope { return scope.System }

// Allows reports whether the user may see an event.
func (r Reader) Allows(e *models.AuditEvent) bool {
	sc := r(AreaOf(e.ObjectKind, e.Action))
	return sc.All() || e.PartnerID != nil && sc.Allows(*e.PartnerID)
}

// HiddenAreas returns the areas in which the user may see no events.
func (r Reader) HiddenAreas() (hidden []Area) {
	seen := map[Area]bool{}
	for _, area := range append(allAreas(), Unknown) {
		if !seen[area] && !r.opens(area) {
			hidden = append(hidden, area)
		}
		seen[area] = true
	}
	return hidden
}

func allAreas() (all []Area) {
	for _, a := range areas {
		all = append(all, a.area)
	}
	return all
}

// opens reports whether the user may see events in an area.
func (r Reader) opens(area Area) bool {
	sc := r(area)
	return sc.All() || len(sc.IDs()) > 0
}

// visible restricts a query to the events that Allows returns true for.
func (r Reader) visible(q *gorm.DB) *gorm.DB {
	limited := func(area Area) bool { return !r(area).All() }
	if !slices.ContainsFunc(allAreas(), limited) && !limited(Unknown) {
		return q
	}
	var test strings.Builder
	var args []any
	then := func(area Area) {
		if !limited(area) {
			test.WriteString(" true")
			return
		}
		test.WriteString(" partner_id IN ?")
		args = append(args, partners(r(area)))
	}
	var kinds []string // those with visible events
	for _, a := range areas {
		test.WriteString(" WHEN object_kind = ? AND starts_with(action, ?) THEN")
		args = append(args, a.kind, a.action)
		then(a.area)
		if r.opens(a.area) {
			kinds = append(kinds, a.kind)
		}
	}
	test.WriteString(" ELSE")
	then(Unknown)
	if !r.opens(Unknown) {
		q = q.Where("object_kind IN ?", append(kinds, "none")) // can use the index on object_kind
	}
	return q.Where("CASE"+test.String()+" END", args...)
}
