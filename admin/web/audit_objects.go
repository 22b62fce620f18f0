package web

import (
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// auditObject describes the objects of one kind in the audit log.
type auditObject struct {
	kind, label string
	url         eventURL // nil if objects of this kind have no page
}

// eventURL returns the URL of the page of an event's object, or "" if the user may not see it.
type eventURL func(*Request, models.AuditEvent) string

// auditObjects contains every kind of object in the audit log, in the order of the filter.
var auditObjects = []auditObject{
	{"staff", "user", objectPage("/staff/", ReadStaff)},
	{"partner", "partner", partnerPage("")},
	{"account", "account", accountPage},
	{"secret", "signing secret", partnerPage("?tab=secrets")},
	{"rate_card", "rate card", objectPage("/pricing/drafts/", ReadPricing)},
	{"replay", "price replay", objectPage("/pricing/drafts/", ReadPricing)},
	{"lead", "lead", partnerObjectPage("/leads/", ReadLeads)},
	{"privacy_request", "privacy request", objectPage("/privacy/requests/", ReadRequests)},
	{"disclosure", "disclosure text", partnerObjectPage("/privacy/disclosures/", ReadDisclosures)},
	{"note", "note", nil},
	{"payout_run", "payout run", func(k *Request, e models.AuditEvent) string {
		return urlIf(k.MayForAllPartners(ReadPayouts), "/payouts/runs/"+e.ObjectID)
	}},
	{"return", "return", partnerObjectPage("/payouts/returns/", ReadPayouts)},
	{"adjustment", "adjustment", partnerObjectPage("/payouts/adjustments/", ReadPayouts)},
	{"ledger", "ledger", nil}, // the object is the name of a file or the number of an entry
	{"export", "export", func(k *Request, e models.AuditEvent) string { // only the user who requested it sees its page
		return urlIf(e.StaffID != nil && *e.StaffID == k.By.Staff, "/payouts/exports/"+e.ObjectID)
	}},
	{"retention_run", "retention run", func(k *Request, _ models.AuditEvent) string {
		return urlIf(k.May(ReadRetention), "/privacy/retention")
	}},
	{"reconciliation", "reconciliation", partnerObjectPage("/reconciliation/", ReadReconciliation)},
	{"keys", "keys", nil},
	{"platform", "platform", nil},
	{"route", "page", nil},
	{"audit", "audit log", nil},
}

func objectOf(kind string) auditObject {
	for _, o := range auditObjects {
		if o.kind == kind {
			return o
		}
	}
	return auditObject{kind: kind, label: kind}
}

// AuditObjects returns the options of the filter for the kinds of objects.
func AuditObjects() []ui.Option {
	options := make([]ui.Option, len(auditObjects))
	for i, o := range auditObjects {
		options[i] = ui.Option{Value: o.kind, Label: ui.Sentence(o.label)}
	}
	return options
}

func urlIf(may bool, url string) string {
	if may {
		return url
	}
	return ""
}

// objectPage returns the URLs of objects that do not belong to a partner.
func objectPage(path string, needs authz.Permission) eventURL {
	return func(k *Request, e models.AuditEvent) string { return urlIf(k.May(needs), path+e.ObjectID) }
}

// partnerObjectPage returns the URLs of objects that belong to a partner.
func partnerObjectPage(path string, needs authz.Permission) eventURL {
	return func(k *Request, e models.AuditEvent) string {
		return urlIf(k.MayAt(needs, partnerOf(e)), path+e.ObjectID)
	}
}

// partnerPage returns the URLs of a tab of partners' pages.
func partnerPage(query string) eventURL {
	return func(k *Request, e models.AuditEvent) string {
		if e.PartnerID == nil {
			return ""
		}
		url := k.PartnerLink(*e.PartnerID, "").URL
		return urlIf(url != "", url+query)
	}
}

func accountPage(k *Request, e models.AuditEvent) string {
	if partner := partnerOf(e); k.MayAt(WritePartners, partner) {
		return PartnerURL(partner) + "/accounts/" + e.ObjectID
	}
	return partnerPage("?tab=accounts")(k, e)
}

// partnerOf returns the partner that an event is about. For events about no partner, it returns uuid.Nil, which no
// limited scope contains.
func partnerOf(e models.AuditEvent) uuid.UUID {
	if e.PartnerID == nil {
		return uuid.Nil
	}
	return *e.PartnerID
}

// auditNames contains the names of the objects and partners of audit events.
type auditNames struct {
	partners map[uuid.UUID]models.Partner
	cards    map[uuid.UUID]models.RateCard
	staff    map[uuid.UUID]models.Staff
}

// namesOf reads the names for audit events. It leaves out names that the user may not see.
func (k *Request) namesOf(events []models.AuditEvent) (names auditNames, err error) {
	var partners, cards, staff []uuid.UUID
	for _, e := range events {
		if e.PartnerID != nil {
			partners = append(partners, *e.PartnerID)
		}
		if card, err := id.Parse(id.RateCard, e.ObjectID); err == nil && k.May(ReadPricing) {
			cards = append(cards, card)
		}
		if person, err := id.Parse(id.Staff, e.ObjectID); err == nil && k.May(ReadStaff) {
			staff = append(staff, person)
		}
	}
	ctx := k.R.Context()
	if names.partners, err = k.console.Partners.ByIDs(ctx, k.Scope, partners); err != nil {
		return names, err
	}
	if names.cards, err = k.console.Prices.ByIDs(ctx, cards); err != nil {
		return names, err
	}
	names.staff, err = k.console.Staff.ByIDs(ctx, staff)
	return names, err
}

// of returns the name of an event's object, or of the partner that it belongs to, or "".
func (n auditNames) of(e models.AuditEvent) string {
	if partner, ok := n.partners[partnerOf(e)]; ok {
		return partner.Name
	}
	if object, err := id.Parse(id.RateCard, e.ObjectID); err == nil {
		if card, ok := n.cards[object]; ok && card.Version > 0 {
			return VersionName(card.Version)
		} else if ok {
			return DraftName(card)
		}
	}
	if object, err := id.Parse(id.Staff, e.ObjectID); err == nil {
		return n.staff[object].Email
	}
	return ""
}
