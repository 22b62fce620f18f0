package requests

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/requests"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) newPage(k *web.Request) error {
	q := k.R.URL.Query()
	return h.showNew(k, http.StatusOK, url.Values{
		"received_on": {k.Now.UTC().Format(time.DateOnly)}, "kind": {q.Get("kind")}, "leads": {web.Short(q.Get("leads"))},
		"law": {string(h.Requests.DefaultLaw())},
	}, nil)
}

func (h *Handlers) showNew(k *web.Request, status int, f url.Values, mistakes ui.Errors) error {
	v := view.NewView{
		Shell:     k.Shell("New privacy request", allRequests),
		Countries: phoneCountries(h.Prices.Markets(), f.Get("country")),
		Received:  web.Short(f.Get("received_on")), Email: web.Short(f.Get("email")), Phone: web.Short(f.Get("phone")),
		LeadIDs: f.Get("leads"), Reference: f.Get("reference"), Due: web.Short(f.Get("due_on")),
		Errors: mistakes,
	}
	for _, kind := range requests.Kinds {
		v.Kinds = append(v.Kinds, ui.Option{Value: string(kind.Code), Label: ui.Sentence(kindLabels[kind.Code])})
	}
	v.Kinds = web.SelectOption(v.Kinds, f.Get("kind"))
	for _, law := range requests.Laws {
		v.Laws = append(v.Laws, ui.Option{Value: string(law.Code), Label: law.Label})
	}
	v.Laws = web.SelectOption(v.Laws, f.Get("law"))
	return k.Show(status, view.New(v))
}

func (h *Handlers) create(k *web.Request) error {
	f := k.R.PostForm
	n := requests.NewRequest{
		Kind: models.PrivacyRequestKind(f.Get("kind")), Law: models.PrivacyLaw(f.Get("law")), Reference: f.Get("reference"),
		Person: leads.Person{
			Email: strings.TrimSpace(f.Get("email")), Phone: strings.TrimSpace(f.Get("phone")), Country: f.Get("country"),
		},
	}
	var mistakes ui.Errors
	var err error
	if n.ReceivedOn, err = time.Parse(time.DateOnly, f.Get("received_on")); err != nil {
		mistakes = append(mistakes,
			ui.FieldError{Field: "received_on", Message: "Enter a date as YYYY-MM-DD, such as 2026-01-31."})
	}
	if due := f.Get("due_on"); due != "" && n.Kind == models.RequestComplaint {
		if n.DueOn, err = time.Parse(time.DateOnly, due); err != nil {
			mistakes = append(mistakes,
				ui.FieldError{Field: "due_on", Message: "Enter a date as YYYY-MM-DD, such as 2026-01-31."})
		}
	}
	if !web.ValidText(n.Person.Email) || !web.ValidText(n.Person.Phone) {
		mistakes = append(mistakes, ui.FieldError{
			Field:   "email",
			Message: "Enter the email address and the phone number again. One of them contains characters that are not valid.",
		})
	}
	if n.Leads, err = leadIDs(f.Get("leads")); err != nil {
		mistakes = append(mistakes, ui.FieldError{Field: "leads", Message: noLeadIDs})
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		Do: func() (string, error) {
			r, err := h.Requests.By(k.By).Create(k.R.Context(), n)
			return web.RequestURL(r.ID), err
		},
		Show: func(r web.Rejected) error { return h.showNew(k, r.Status, f, r.Errors) },
	})
}

const noLeadIDs = "Enter leadIds, which start with ld_, or transactionIds, which start with tx_."

// leadIDs parses leadIds and transactionIds that are separated by spaces, commas or line breaks. It returns
// an Invalid error at the field leads.
func leadIDs(text string) (ids []uuid.UUID, err error) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == ',' || r == ';' }) {
		lead, err := quote.ParseLead(word)
		if err != nil {
			return nil, apperr.AtField(apperr.Invalid, "leads", apperr.InvalidValue, "leads", noLeadIDs)
		}
		if !slices.Contains(ids, lead) {
			ids = append(ids, lead)
		}
	}
	return ids, nil
}

// phoneCountries returns the options for the country of a phone number, with the given one selected.
func phoneCountries(markets *pricingrules.Markets, country string) []ui.Option {
	none := ui.Option{Label: "None (the number starts with +)"}
	return web.SelectOption(append([]ui.Option{none}, web.CountryOptions(markets)...), country)
}
