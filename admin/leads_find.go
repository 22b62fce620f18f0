package admin

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/templates"
)

// What leads are looked up by.
const (
	byID    = "id"
	byEmail = "email"
	byPhone = "phone"
)

var leadKeys = []templates.Option{{Value: byID, Label: "Id: leadId, transactionId or request id"}, {Value: byEmail, Label: "E-mail address"}, {Value: byPhone, Label: "Phone number"}}

func (k *call) findForm(by, value, country string, mistakes templates.Errors) templates.LeadFindForm {
	countries := []templates.Option{{Label: "None (the number starts with +)"}}
	for i := range k.Prices.Markets().Len() {
		if m := k.Prices.Markets().At(i); len(m.Code) == 2 {
			countries = append(countries, templates.Option{Value: m.Code, Label: m.Name})
		}
	}
	return templates.LeadFindForm{By: chosen(leadKeys, by), Value: value, Countries: chosen(countries, country), Errors: mistakes}
}

// findLead looks up a lead by its id, or a person's by address or number. These are
// never in an address: the answer to the form is the page.
func (k *call) findLead() error {
	if err := k.form(); err != nil {
		return err
	}
	f := k.r.PostForm
	by, value, country := f.Get("by"), strings.TrimSpace(f.Get("value")), f.Get("country")
	var found leads.Found
	err := error(apperr.New(apperr.Invalid, "value", "Type what to look up: it is compared as a whole."))
	office, what := k.Leads.By(k.by), "e-mail address"
	switch {
	case value == "" || !validText(value):
	case by == byEmail:
		found, err = office.FindEmail(k.r.Context(), k.scope, value)
	case by == byPhone:
		what = "phone number"
		found, err = office.FindPhone(k.r.Context(), k.scope, value, country)
	default:
		if to := k.leadPageOf(value); to != "" {
			return k.to(to)
		}
		err = apperr.New(apperr.Invalid, "value", "There is no lead with this id that you can see. A leadId begins with ld_, a transactionId with tx_, and the id of the request that delivered the lead with rq_.")
	}
	if err != nil {
		return k.showUnfound(err, by, short(value), country)
	}
	if len(found.Rows) == 1 {
		return k.to(leadURL(found.Rows[0].ID))
	}
	return k.show(http.StatusOK, templates.LeadsFound(templates.LeadsFoundView{
		Shell: k.shell("Leads of one person", allLeads), By: what, Leads: k.leadRows(found.Rows), More: found.More, Find: k.findForm(by, "", country, nil),
	}))
}

func (k *call) showUnfound(err error, by, value, country string) error {
	status, message, other := k.told(err)
	if other != nil {
		return other
	}
	field := "value"
	if apperr.As(err).Reason == "country" {
		field = "country"
	}
	return k.show(status, templates.LeadsUnfound(templates.LeadsUnfoundView{
		Shell: k.shell("Look up a lead", allLeads), Find: k.findForm(by, value, country, templates.Errors{{Field: field, Message: message}}),
	}))
}

// leadPageOf returns the page of the lead with this leadId, this transactionId as the
// partner holds it, or this id of the request that delivered it; "" when there is no such
// lead or the user may not see it.
func (k *call) leadPageOf(text string) string {
	sc, ok := k.access.Scope(k.session.Staff.ID, readLeads)
	if !ok || !validText(text) {
		return ""
	}
	if lead, err := id.Parse(id.Lead, text); err == nil {
		if _, err := k.Leads.Page(k.r.Context(), sc, lead); err == nil {
			return leadURL(lead)
		}
		return ""
	}
	if request, err := id.Parse(id.Request, text); err == nil {
		if lead, err := k.Leads.FindRequest(k.r.Context(), sc, request); err == nil {
			return leadURL(lead)
		}
		return ""
	}
	if lead, err := k.Leads.FindTransaction(k.r.Context(), sc, text); err == nil {
		return leadURL(lead)
	}
	return ""
}
