package admin

import (
	"fmt"
	"net/http"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates"
)

// pricesForm is what the form shows besides the partner's prices as they are.
type pricesForm struct {
	partners.PriceForm
	version  int64
	conflict *templates.Conflict
	errors   templates.Errors
}

func (k *call) pricesTab(p models.Partner) error {
	// At one partner is enough to read what is that partner's; to change it is for
	// those who own all prices.
	if !k.mayAt(readPricing, p.ID) {
		head, err := k.head(p, "prices")
		if err != nil {
			return err
		}
		return k.show(http.StatusOK, templates.PartnerPrices(templates.PartnerPricesView{Head: head, Hidden: "None of your roles lets you see prices. An administrator gives roles."}))
	}
	own, err := k.Partners.OwnPrice(k.r.Context(), p)
	if err != nil {
		return err
	}
	return k.showPrices(http.StatusOK, p, own, pricesForm{PriceForm: own.Form(), version: int64(own.Version)})
}

func (k *call) showPrices(status int, p models.Partner, own partners.OwnPrice, f pricesForm) error {
	head, err := k.head(p, "prices")
	if err != nil {
		return err
	}
	v := templates.PartnerPricesView{
		Head: head, Unread: own.Unread, Adjustment: f.Adjustment, Cap: f.DailyLeadCap, Exclusions: f.Exclusions, Changed: own.ChangedAt,
		Version: f.version, StepUp: k.stepUp(), Conflict: f.conflict, Errors: f.errors,
	}
	if !k.may(writePricing) {
		v.Locked = "Your roles let you look at these prices, not change them."
	}
	if v.LeadsToday, err = k.Partners.LeadsToday(k.r.Context(), p); err != nil {
		return err
	}
	v.Capped = own.DailyLeadCap > 0 && v.LeadsToday >= int64(own.DailyLeadCap)
	if v.Example, err = k.priceExample(own.Own); err != nil {
		return err
	}
	return k.show(status, templates.PartnerPrices(v))
}

// priceExample prices one lead for whoever has prices of its own. The rate card's part
// of it is for those who may see the rate card.
func (k *call) priceExample(own pricingrules.Own) (*templates.PartnerPriceExample, error) {
	if !k.may(readPricing) {
		return nil, nil
	}
	card, err := k.Prices.InForce(k.r.Context())
	if err != nil {
		return nil, err
	}
	sheet, err := k.Prices.Sheet(k.r.Context(), card)
	if err != nil {
		return nil, err
	}
	e, err := ratecard.Explain(sheet, ratecard.Lead{Industry: "plumber", Country: "GB", Urgency: pricingrules.Standard.String()}, own)
	if err != nil {
		return nil, err
	}
	v := &templates.PartnerPriceExample{Lead: e.Name(), Card: templates.Link{Label: fmt.Sprint("version ", card.Version), URL: versionURL(card.Version)}, Outcome: e.Cell.String()}
	for _, s := range e.Steps {
		step := templates.PartnerPriceStep{Name: s.Name, Effect: s.Effect, Value: s.Value, Note: s.Note}
		if s.Rule >= 0 {
			step.Rule = s.Selector
		}
		v.Steps = append(v.Steps, step)
	}
	if e.OwnExclusion {
		v.Outcome = "no price"
		v.Steps = append(v.Steps, templates.PartnerPriceStep{Name: "partner's exclusion", Effect: "the partner does not sell it"})
	}
	return v, nil
}

func (k *call) setPrices() error {
	p, err := k.formOf()
	if err != nil {
		return err
	}
	own, err := k.Partners.OwnPrice(k.r.Context(), p)
	if err != nil {
		return err
	}
	form := k.r.PostForm
	f := pricesForm{version: int64(k.version())}
	f.Adjustment, f.DailyLeadCap, f.Exclusions = form.Get("adjustment"), form.Get("cap"), form.Get("exclusions")
	if f.errors, err = k.proven(); err != nil {
		return err
	}
	if len(f.errors) > 0 {
		return k.showPrices(http.StatusUnprocessableEntity, p, own, f)
	}
	err = k.partners().SetOwnPrice(k.r.Context(), k.scope, p.ID, k.version(), f.PriceForm, k.Prices.Taxonomy())
	if err == nil {
		return k.to(partnerURL(p.ID) + "?tab=prices")
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	f.errors = mistakes
	if isStale(err) {
		if own, err = k.Partners.OwnPrice(k.r.Context(), p); err != nil {
			return err
		}
		f.errors, f.version = nil, int64(own.Version)
		last := audit.Filter{Kind: "partner", Object: id.Format(id.Partner, p.ID), Action: "partner.prices"}
		if f.conflict, err = k.conflictOf(last, own.ChangedAt); err != nil {
			return err
		}
	}
	return k.showPrices(status, p, own, f)
}
