package leads

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/leads"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

// The ways to search for leads.
const (
	byID    = "id"
	byEmail = "email"
	byPhone = "phone"
)

var leadKeys = []ui.Option{
	{Value: byID, Label: "ID (leadId, transactionId or request ID)"},
	{Value: byEmail, Label: "Email address"},
	{Value: byPhone, Label: "Phone number"},
}

func (h *Handlers) findForm(k *web.Request, by, value, country string, mistakes ui.Errors) view.FindForm {
	return view.FindForm{
		By:        web.SelectOption(leadKeys, by),
		Value:     value,
		Countries: web.PhoneCountries(h.Prices.Markets(), country),
		Errors:    mistakes,
	}
}

// findLead finds a lead by id, or a consumer's leads by email address or phone number. It responds
// with the results instead of a redirect, so that URLs do not contain personal data.
func (h *Handlers) findLead(k *web.Request) error {
	f := k.R.PostForm
	by, value, country := f.Get("by"), strings.TrimSpace(f.Get("value")), f.Get("country")
	var found leads.SearchResult
	err := error(apperr.New(apperr.Invalid, "value", "Enter an ID, email address or phone number."))
	reader, what := h.Leads.By(k.By), "email address"
	switch {
	case value == "" || !web.ValidText(value):
	case by == byEmail || by == byPhone:
		person := leads.Person{Email: value}
		if by == byPhone {
			person = leads.Person{Phone: value, Country: country}
		}
		if err = h.Privacy.CheckJournal(k.R.Context()); err != nil {
			break
		}
		if err = h.Privacy.By(k.By).CountLookup(k.R.Context(), person); err != nil {
			break
		}
		if by == byEmail {
			found, err = reader.FindEmail(k.R.Context(), k.Scope, value)
		} else {
			what = "phone number"
			found, err = reader.FindPhone(k.R.Context(), k.Scope, value, country)
		}
	default:
		if to := h.URLForID(k, value); to != "" {
			return k.Redirect(to)
		}
		err = apperr.New(apperr.Invalid, "no_lead",
			"There is no lead with this ID, or you do not have access to it. A leadId starts with ld_, a transactionId with tx_, and a request ID with rq_. A request ID finds the lead that the request delivered.")
	}
	if err != nil {
		return web.Reject(k, err, web.Form{
			FieldOf: func(f *apperr.Error) string {
				if f.Reason == "country" {
					return "country"
				}
				return "value"
			},
			Show: func(r web.Rejected) error {
				return k.Show(r.Status, view.Find(view.FindView{
					Shell: k.Shell("Find a lead", allLeads),
					Find:  h.findForm(k, by, web.Short(value), country, r.Errors),
				}))
			},
		})
	}
	if len(found.Rows) == 1 {
		return k.Redirect(web.LeadURL(found.Rows[0].ID))
	}
	return k.Show(http.StatusOK, view.Found(view.FoundView{
		Shell: k.Shell("Search results", allLeads),
		By:    what,
		Leads: h.leadRows(k, found.Rows),
		More:  found.More,
		Find:  h.findForm(k, by, "", country, nil),
	}))
}
