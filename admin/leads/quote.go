package leads

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

// openQuote opens the quote in a transactionId, and reads its lead. The lead's id is uuid.Nil if there is no lead.
// openQuote returns ErrNotFound for a transactionId that this platform did not issue, and for a quote of a partner
// that the user cannot see.
func (h *Handlers) openQuote(k *web.Request, sc scope.Scope, token string) (q quote.Quote, l leads.Details, err error) {
	q, err = h.Quotes.Open(token, k.Now)
	if err != nil && !errors.Is(err, quote.ErrExpired) {
		return q, l, web.ErrNotFound
	}
	l, err = h.Leads.Get(k.R.Context(), sc, q.ID)
	if f := apperr.As(err); f == nil || f.Code != apperr.NotFound {
		return q, l, err
	}
	if q.Partner == uuid.Nil && !sc.All() || q.Partner != uuid.Nil && !sc.Allows(q.Partner) {
		return q, l, web.ErrNotFound
	}
	return q, leads.Details{}, nil
}

// quotePage shows the quote in a transactionId, for which a lead may or may not have been delivered.
func (h *Handlers) quotePage(k *web.Request) error {
	token := k.R.PathValue("transaction")
	q, l, err := h.openQuote(k, k.Scope, token)
	if err != nil {
		return err
	}
	v := view.QuoteView{
		Shell:         k.Shell("Quote", allLeads),
		TransactionID: k.Erasable(token),
		ShowPrice:     mayReadPrice(k, q.Partner),
		Sandbox:       q.Sandbox,
		Issued:        q.IssuedAt(),
		Expires:       q.ExpiresAt(),
		Expired:       k.Now.After(q.ExpiresAt()),
		Reference:     k.Erasable(q.Reference.Value),
		SubID:         k.Erasable(q.SubID.Value),
	}
	quoted := leads.Details{Lead: models.Lead{
		Industry:       fmt.Sprintf("taxonomyTermId %d", q.TermID),
		Urgency:        pricingrules.Class(q.Urgency).String(),
		CardVersion:    q.CardVersion,
		QuotedCountry:  string(q.Country[:]),
		QuotedPostcode: q.Postcode,
		QuotedAt:       q.IssuedAt(),
	}}
	if at, known := h.Prices.Taxonomy().ByTermID(q.TermID); known {
		quoted.Industry = h.Prices.Taxonomy().At(at).Slug
	}
	if q.Partner != uuid.Nil {
		sellers, err := h.Partners.ByIDs(k.R.Context(), k.Scope, []uuid.UUID{q.Partner})
		if err != nil {
			return err
		}
		if p, found := sellers[q.Partner]; found { // the lead's partner may be another one
			quoted.QuotedPartner, quoted.QuotedFor = &p.ID, p.Name
			v.Partner = k.PartnerLink(p.ID, p.Name)
		}
	}
	if l.ID != uuid.Nil {
		v.Lead = ui.Link{Label: id.Format(id.Lead, l.ID), URL: web.LeadURL(l.ID)}
		v.Partner, v.Account = k.PartnerLink(l.PartnerID, l.PartnerName), l.Identifier
		if quoted.State = l.State; l.State == models.LeadErased {
			v.TransactionID, v.Reference, v.SubID, quoted.QuotedPostcode = "", "", "", ""
		}
	}
	if v.Quote, err = h.leadQuote(k, quoted, q.Price); err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.ShowQuote(v))
}
