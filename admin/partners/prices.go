package partners

import (
	"fmt"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

// pricesForm contains the values that the form shows: the saved settings, or the rejected input.
type pricesForm struct {
	partners.PriceForm
	web.Rejected
}

func (h *Handlers) pricesTab(k *web.Request, p models.Partner) error {
	// A role for this partner is enough to read its pricing. Changes need a role for all partners.
	if !k.MayAt(web.ReadPricing, p.ID) {
		head, err := h.head(k, p, "prices")
		if err != nil {
			return err
		}
		return k.Show(http.StatusOK, view.PartnerPrices(view.PartnerPricesView{
			Head:   head,
			Hidden: "Your roles do not include access to prices. Ask an administrator for access.",
		}))
	}
	own, err := h.Partners.Pricing(k.R.Context(), p)
	if err != nil {
		return err
	}
	return h.showPrices(k, http.StatusOK, p, own, pricesForm{
		PriceForm: own.Form(),
		Rejected:  web.Rejected{Version: own.Version},
	})
}

func (h *Handlers) showPrices(k *web.Request, status int, p models.Partner, own partners.Pricing, f pricesForm) error {
	head, err := h.head(k, p, "prices")
	if err != nil {
		return err
	}
	v := view.PartnerPricesView{
		Head:       head,
		Unread:     own.Unread,
		Adjustment: f.Adjustment,
		Cap:        f.DailyLeadCap,
		Exclusions: f.Exclusions,
		Changed:    own.ChangedAt,
		Version:    f.Version,
		StepUp:     k.StepUp(),
		Conflict:   f.Conflict,
		Errors:     f.Errors,
	}
	if v.Proposal, err = h.proposedPrices(k, p, own); err != nil {
		return err
	}
	if err := h.priceHistory(k, p, &v); err != nil {
		return err
	}
	switch {
	case !k.May(web.WritePricing):
		v.Locked = "You have read-only access to this partner's pricing."
	case v.Proposal != nil:
		v.Locked = "A proposed change is waiting for approval. It must be approved or withdrawn before the pricing can be changed again."
		current := own.Form()
		v.Adjustment, v.Cap, v.Exclusions = current.Adjustment, current.DailyLeadCap, current.Exclusions
	}
	v.Submit = "Save pricing"
	if h.Partners.RequireApproval() {
		v.Submit = "Propose change"
	}
	if v.LeadsToday, err = h.Partners.LeadsToday(k.R.Context(), p); err != nil {
		return err
	}
	v.Capped = own.DailyLeadCap > 0 && v.LeadsToday >= int64(own.DailyLeadCap)
	if own.DailyLeadCap > 0 {
		v.LeadsLeft = max(0, int64(own.DailyLeadCap)-v.LeadsToday)
	}
	v.Categories, v.Countries = h.priceCategories(), web.CountryOptions(h.Prices.Markets())
	if v.Example, err = h.priceExample(k, own.PartnerPricing); err != nil {
		return err
	}
	if v.Example != nil {
		v.Example.OtherURL = "/pricing/explain?partner=" + p.Slug
	}
	return k.Show(status, view.PartnerPrices(v))
}

func (h *Handlers) priceCategories() (all []view.PriceCategory) {
	industries := h.Prices.Taxonomy().Industries()
	for _, category := range h.Prices.Taxonomy().Categories() {
		c := view.PriceCategory{Category: category.Slug, Name: category.Name}
		for _, industry := range industries {
			if industry.Category == category.Slug {
				c.Industries = append(c.Industries, industry.Slug)
			}
		}
		all = append(all, c)
	}
	return all
}

// priceHistorySize is the maximum number of changes that the page lists.
const priceHistorySize = 20

// priceHistory adds the newest changes of the partner's pricing to the page.
func (h *Handlers) priceHistory(k *web.Request, p models.Partner, v *view.PartnerPricesView) error {
	found, err := h.Audit.List(k.R.Context(), k.Scope, k.EventReader(), audit.Filter{
		Kind:    "partner",
		Object:  id.Format(id.Partner, p.ID),
		Action:  "partner.prices",
		Outcome: models.AuditDone,
	}, audit.Page{Size: priceHistorySize})
	if err != nil {
		return err
	}
	if v.History, err = k.AuditRows(found.Events); err != nil {
		return err
	}
	if found.Older && k.MayAt(web.ReadAudit, p.ID) {
		v.HistoryURL = v.Head.URL + "?tab=audit"
	}
	for _, e := range found.Events {
		if e.Action == "partner.prices" {
			v.ChangedBy = e.Actor
			break
		}
	}
	return nil
}

// priceExample prices a sample lead with the partner's pricing. It returns nil if the user cannot
// see the rate card.
func (h *Handlers) priceExample(k *web.Request, own pricingrules.PartnerPricing) (*view.PartnerPriceExample, error) {
	if !k.May(web.ReadPricing) {
		return nil, nil
	}
	card, err := h.Prices.Current(k.R.Context())
	if err != nil {
		return nil, err
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), card)
	if err != nil {
		return nil, err
	}
	e, err := ratecard.Explain(sheet, ratecard.Lead{
		Industry: "plumber",
		Country:  "GB",
		Urgency:  pricingrules.Standard.String(),
	}, own)
	if err != nil {
		return nil, err
	}
	return &view.PartnerPriceExample{
		Explanation: e,
		Card:        ui.Link{Label: fmt.Sprint("version ", card.Version), URL: web.VersionURL(card.Version)},
	}, nil
}

func (h *Handlers) setPrices(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	own, err := h.Partners.Pricing(k.R.Context(), p)
	if err != nil {
		return err
	}
	form := k.R.PostForm
	var f pricesForm
	f.Adjustment, f.DailyLeadCap, f.Exclusions = form.Get("adjustment"), form.Get("cap"), form.Get("exclusions")
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			err := h.partners(k).SetPricing(k.R.Context(), k.Scope, p.ID, k.FormRowVersion(), f.PriceForm,
				h.Prices.Taxonomy())
			return web.PartnerURL(p.ID) + "?tab=prices", err
		},
		Reload: func() (version int, conflict *ui.Conflict, err error) {
			if own, err = h.Partners.Pricing(k.R.Context(), p); err != nil {
				return 0, nil, err
			}
			conflict, err = k.ConflictOf(audit.Filter{
				Kind:   "partner",
				Object: id.Format(id.Partner, p.ID),
				Action: "partner.prices",
			}, own.ChangedAt)
			return own.Version, conflict, err
		},
		Show: func(r web.Rejected) error {
			f.Rejected = r
			return h.showPrices(k, r.Status, p, own, f)
		},
	})
}
