package admin

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/templates"
)

// jump leads to whatever an id names.
func (k *call) jump() error {
	q := strings.TrimSpace(k.r.URL.Query().Get("q"))
	if to := k.pageOf(q); to != "" {
		return k.to(to)
	}
	v := templates.JumpView{Shell: k.shell("Nothing to jump to"), Query: short(q)}
	if k.may(findLeads) {
		v.LeadsURL = "/leads"
	}
	if _, number := payload.E164(q, ""); number || strings.Contains(q, "@") {
		// It stands in the address already; it need not stand in the page as well.
		v.Personal, v.Query, v.Shell.Path = true, "", "/"
	}
	return k.show(http.StatusNotFound, templates.JumpNothing(v))
}

// pageOf is the page of an id; of what has no page of its own, its audit trail.
func (k *call) pageOf(text string) string {
	if staff, err := id.Parse(id.Staff, text); err == nil && k.may(readStaff) {
		return "/staff/" + id.Format(id.Staff, staff)
	}
	if to := k.partnerPageOf(text); to != "" {
		return to
	}
	if to := k.cardPageOf(text); to != "" {
		return to
	}
	if to := k.reconciliationPageOf(text); to != "" {
		return to
	}
	if to := k.payoutPageOf(text); to != "" {
		return to
	}
	if to := k.leadPageOf(text); to != "" {
		return to
	}
	if !k.may(readAudit) {
		return ""
	}
	for _, kind := range []id.Kind{id.Account, id.Secret, id.Lead, id.RateCard} {
		if object, err := id.Parse(kind, text); err == nil {
			return "/audit?object=" + id.Format(kind, object)
		}
	}
	return ""
}

// partnerPageOf is the page of a partner, or of a request of theirs that was refused.
func (k *call) partnerPageOf(text string) string {
	sc, ok := k.access.Scope(k.session.Staff.ID, readPartners)
	if !ok {
		return ""
	}
	if partner, err := id.Parse(id.Partner, text); err == nil {
		if p, err := k.Partners.Find(k.r.Context(), sc, id.Format(id.Partner, partner)); err == nil {
			return partnerURL(p.ID)
		}
	}
	if request, err := id.Parse(id.Request, text); err == nil {
		if r, there, err := k.Reporting.FindRefusal(k.r.Context(), sc, request); err == nil && there {
			return partnerURL(r.Partner) + "?tab=refusals&request=" + id.Format(id.Request, request)
		}
	}
	return ""
}

// cardPageOf is the page of a draft of prices, or of the version that it became.
func (k *call) cardPageOf(text string) string {
	if !k.may(readPricing) {
		return ""
	}
	card, err := k.Prices.Draft(k.r.Context(), text)
	switch {
	case err != nil:
		return ""
	case card.Version > 0:
		return versionURL(card.Version)
	}
	return draftURL(card.ID)
}
