package admin

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates"
)

// explained is the card that a lead is priced with: a version, or a draft.
type explained struct {
	card models.RateCard
	name templates.Link
	mend string // the address of its rules' forms; empty where they cannot be changed
}

// explainPage prices a lead, step by step.
func (k *call) explainPage() error {
	q := k.r.URL.Query()
	v := templates.ExplainView{
		Shell: k.shell("Price a lead", allPricing), Industry: short(q.Get("industry")), Country: short(q.Get("country")), Urgency: short(q.Get("urgency")),
		Partner: short(q.Get("partner")), Version: short(q.Get("version")), Draft: short(q.Get("draft")), Urgencies: urgencyOptions(),
	}
	for _, one := range k.Prices.Taxonomy().Industries() {
		v.Industries = append(v.Industries, one.Slug)
	}
	v.Countries = k.marketOptions()
	with, err := k.explainWith(v, &v.Errors)
	if err != nil {
		return err
	}
	v.With = with.name
	if v.Industry == "" && len(v.Errors) == 0 {
		return k.show(http.StatusOK, templates.Explain(v))
	}
	own, err := k.explainOwn(&v)
	if err != nil {
		return err
	}
	if v.Industry != "" && with.card.ID != uuid.Nil {
		if err := k.explainResult(&v, with, own); err != nil {
			return err
		}
	}
	if len(v.Errors) > 0 {
		v.Result = nil // all or nothing: of a partner that is none it would be another's price
		return k.show(http.StatusUnprocessableEntity, templates.Explain(v))
	}
	return k.show(http.StatusOK, templates.Explain(v))
}

// explainWith finds the card that the address names; the version in force where it names none.
func (k *call) explainWith(v templates.ExplainView, mistakes *templates.Errors) (with explained, err error) {
	switch {
	case v.Draft != "":
		d, err := k.Prices.Draft(k.r.Context(), strings.TrimSpace(v.Draft))
		if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
			*mistakes = append(*mistakes, templates.FieldError{Field: "draft", Message: "There is no draft of this id: it begins with rc_."})
			return with, nil
		}
		if err != nil {
			return with, err
		}
		with.card, with.name = d.RateCard, templates.Link{Label: draftName(d.RateCard), URL: draftURL(d.ID)}
		if d.State == models.RateCardDraft && k.may(writePricing) {
			with.mend = with.name.URL + "/rules/"
		}
		return with, nil
	case strings.TrimSpace(v.Version) != "":
		with.card, err = k.versionNamed("version", v.Version, mistakes)
	default:
		with.card, err = k.Prices.InForce(k.r.Context())
	}
	with.name = k.versionLink(with.card)
	return with, orNoPage(err)
}

// explainOwn is what the partner that the address names has of its own.
func (k *call) explainOwn(v *templates.ExplainView) (own pricingrules.Own, err error) {
	ref := strings.TrimSpace(v.Partner)
	if ref == "" {
		return own, nil
	}
	sc, _ := k.access.Scope(k.session.Staff.ID, readPartners) // nobody's, where they may see none
	p, err := models.Partner{}, error(errNoPage)
	if validText(ref) {
		p, err = k.Partners.Find(k.r.Context(), sc, ref)
	}
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		v.Errors = append(v.Errors, templates.FieldError{Field: "partner", Message: "There is no partner of this slug or id that you may see."})
		return own, nil
	}
	if err != nil {
		return own, err
	}
	has, err := k.Partners.OwnPrice(k.r.Context(), p)
	if err != nil {
		return own, err
	}
	v.Seller = templates.Link{Label: p.Name, URL: partnerURL(p.ID) + "?tab=prices"}
	return pricingrules.Own{Adjustment: has.Adjustment, Exclusions: has.Exclusions}, nil
}

func (k *call) explainResult(v *templates.ExplainView, with explained, own pricingrules.Own) error {
	sheet, err := k.Prices.Sheet(k.r.Context(), with.card)
	if err != nil {
		return err
	}
	e, err := ratecard.Explain(sheet, ratecard.Lead{Industry: v.Industry, Country: cmp.Or(strings.TrimSpace(v.Country), "GB"), Urgency: v.Urgency}, own)
	if err != nil {
		_, mistakes, other := k.mistakes(err)
		v.Errors = append(mistakes, v.Errors...)
		return other
	}
	r := templates.ExplainResult{
		Industry: e.Industry.Slug, Category: k.categoryNames()[e.Industry.Category], Market: e.Market.Name, Class: e.Class.String(),
		Price: money.Amount{Minor: e.Cell.Minor, Currency: e.Cell.Currency}, OwnExclusion: e.OwnExclusion, Excluded: e.Cell.Excluded, Gap: e.Cell.Gap(),
	}
	r.Steps = explainSteps(e.Explanation, func(rule int) string {
		if with.mend == "" {
			return ""
		}
		return with.mend + strconv.Itoa(sheet.Positions[rule])
	})
	v.Result = &r
	return nil
}

// explainSteps are the steps to a price; mend gives the address of a rule's form.
func explainSteps(e pricingrules.Explanation, mend func(rule int) string) (steps []templates.ExplainStep) {
	for _, s := range e.Steps {
		step := templates.ExplainStep{Name: title(s.Name), Effect: s.Effect, Value: atLeastCents(s.Value), Rule: s.Selector, Note: s.Note}
		if s.Rule >= 0 {
			step.URL = mend(s.Rule)
		}
		steps = append(steps, step)
	}
	return steps
}

// atLeastCents writes an exact decimal with two places or more, as money is.
func atLeastCents(decimal string) string {
	if decimal == "" {
		return ""
	}
	whole, cents, _ := strings.Cut(decimal, ".")
	return whole + "." + cents + strings.Repeat("0", max(0, 2-len(cents)))
}
