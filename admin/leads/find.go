package leads

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	view "github.com/pingpost/pingpost/templates/leads"
)

var (
	errNothingTyped = apperr.New(apperr.Invalid, "value", "Enter an ID, email address, phone number or reference.")
	errNoLead       = apperr.New(apperr.Invalid, "no_lead",
		"There is no lead with this ID, or you do not have access to it. A leadId starts with ld_, a transactionId "+
			"with tx_, and a request ID with rq_. A request ID finds the lead that the request delivered.")
)

// findLead finds a lead by ID, or leads by email address, phone number or the partner's reference. It recognises
// what was typed, and responds with the results instead of a redirect, so that URLs do not contain personal data.
func (h *Handlers) findLead(k *web.Request) error {
	text := strings.TrimSpace(k.R.PostForm.Get("q"))
	if text != "" && web.ValidText(text) {
		if to := h.URLForID(k, text); to != "" {
			return k.Redirect(to)
		}
	}
	found, what, err := h.findLeads(k, text)
	if err != nil {
		entered := web.Short(text)
		if web.IsContact(text) {
			entered = ""
		}
		return k.Reject(err, web.Form{
			FieldOf: func(*apperr.Error) string { return "q" },
			Show: func(r web.Rejected) error {
				return k.Show(r.Status, view.Find(view.FindView{
					Shell: k.Shell("Find a lead", allLeads),
					Find:  view.FindForm{Value: entered, Errors: r.Errors},
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
	}))
}

// findLeads returns the leads with an email address, phone number or reference, and a label for what was typed.
func (h *Handlers) findLeads(k *web.Request, text string) (found leads.SearchResult, what string, err error) {
	switch {
	case text == "" || !web.ValidText(text):
		return found, "", errNothingTyped
	case strings.Contains(text, "@"):
		if err := h.countLookup(k, leads.Person{Email: text}); err != nil {
			return found, "", err
		}
		found, err = h.Leads.By(k.By).FindEmail(k.R.Context(), k.Scope, text)
		return found, "email address", err
	case payload.LooksLikePhone(text):
		countries := h.countries()
		if err := h.countLookup(k, leads.Person{Phone: text, Country: countries[0]}); err != nil {
			return found, "", err
		}
		found, err = h.Leads.By(k.By).FindPhone(k.R.Context(), k.Scope, text, countries...)
		if err != nil || len(found.Rows) > 0 {
			return found, "phone number", err
		}
		found, err = h.findReference(k, k.Scope, text) // a reference can consist of digits
		return found, "phone number or reference", err
	case web.IsID(text):
		return found, "", errNoLead
	}
	found, err = h.findReference(k, k.Scope, text)
	return found, "reference", err
}

// countLookup counts a search for a person towards the user's daily limit, and checks that it can be carried out.
func (h *Handlers) countLookup(k *web.Request, p leads.Person) error {
	if err := h.Erasures.CheckJournal(k.R.Context()); err != nil {
		return err
	}
	return h.Reveals.By(k.By).CountLookup(k.R.Context(), p)
}

// countries returns the countries that the platform has prices for. A phone number without a country code may belong to
// any of them.
func (h *Handlers) countries() (codes []string) {
	markets := h.Prices.Markets()
	for i := range markets.Len() {
		if code := markets.At(i).Code; len(code) == 2 {
			codes = append(codes, code)
		}
	}
	return codes
}

// HasReference reports whether the user may find a lead with a partner's reference.
func (h *Handlers) HasReference(k *web.Request, text string) (bool, error) {
	sc, ok := k.ScopeOf(web.FindLeads)
	if !ok || !web.ValidText(text) {
		return false, nil
	}
	found, err := h.findReference(k, sc, text)
	return len(found.Rows) > 0, err
}

func (h *Handlers) findReference(k *web.Request, sc scope.Scope, text string) (found leads.SearchResult, err error) {
	if err := k.CheckErasable(); err != nil {
		return found, err
	}
	page, err := h.Leads.List(k.R.Context(), sc, leads.Query{PartnerReference: text, Size: leads.MaxFound})
	return leads.SearchResult{Rows: page.Rows, More: !page.Older.IsZero()}, err
}
