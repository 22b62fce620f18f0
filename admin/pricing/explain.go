package pricing

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// explained is the version or draft that a lead is priced with.
type explained struct {
	card     models.RateCard
	name     ui.Link
	rulesURL string // prefix of the rule forms' URLs, empty if the user cannot change the rules
}

// explainPage prices a lead and shows each step.
func (h *Handlers) explainPage(k *web.Request) error {
	q := k.R.URL.Query()
	v := view.ExplainView{
		Shell:       k.Shell("Price a lead", allPricing),
		Industry:    web.Short(q.Get("industry")),
		Country:     web.Short(q.Get("country")),
		Urgency:     web.Short(q.Get("urgency")),
		Partner:     web.Short(q.Get("partner")),
		Version:     web.Short(q.Get("version")),
		Draft:       web.Short(q.Get("draft")),
		Urgencies:   urgencyOptions(),
		ShowHistory: q.Get("history") != "",
	}
	for _, industry := range h.Prices.Taxonomy().Industries() {
		v.Industries = append(v.Industries, industry.Slug)
	}
	v.Countries = h.marketOptions(k)
	with, err := h.explainWith(k, v, &v.Errors)
	if err != nil {
		return err
	}
	v.With = with.name
	if v.Industry == "" && len(v.Errors) == 0 {
		return k.Show(http.StatusOK, view.Explain(v))
	}
	own, err := h.explainOwn(k, &v)
	if err != nil {
		return err
	}
	if v.Industry != "" && with.card.ID != uuid.Nil {
		if err := h.explainResult(k, &v, with, own); err != nil {
			return err
		}
	}
	if len(v.Errors) > 0 {
		v.Result = nil // the price would be wrong without the partner's pricing
		return k.Show(http.StatusUnprocessableEntity, view.Explain(v))
	}
	return k.Show(http.StatusOK, view.Explain(v))
}

// explainWith returns the draft or version that the URL selects. The default is the current version.
func (h *Handlers) explainWith(k *web.Request, v view.ExplainView, mistakes *ui.Errors) (with explained, err error) {
	switch {
	case v.Draft != "":
		d, err := h.Prices.Draft(k.R.Context(), strings.TrimSpace(v.Draft))
		if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
			*mistakes = append(*mistakes, ui.FieldError{
				Field:   "draft",
				Message: "There is no draft with this ID. Draft IDs begin with rc_.",
			})
			return with, nil
		}
		if err != nil {
			return with, err
		}
		with.card, with.name = d.RateCard, ui.Link{Label: web.DraftName(d.RateCard), URL: web.DraftURL(d.ID)}
		if d.State == models.RateCardDraft && k.May(web.WritePricing) {
			with.rulesURL = with.name.URL + "/rules/"
		}
		return with, nil
	case strings.TrimSpace(v.Version) != "":
		with.card, err = h.versionNamed(k, "version", v.Version, mistakes)
	default:
		with.card, err = h.Prices.Current(k.R.Context())
	}
	with.name = h.versionLink(k, with.card)
	return with, web.OrNotFound(err)
}

// explainOwn returns the pricing of the partner that the URL selects, if any.
func (h *Handlers) explainOwn(k *web.Request, v *view.ExplainView) (own pricingrules.PartnerPricing, err error) {
	if strings.TrimSpace(v.Partner) == "" {
		return own, nil
	}
	sc, _ := k.ScopeOf(web.ReadPartners) // empty if the user cannot see partners
	p, problem, err := k.FindPartner(sc, "partner", v.Partner)
	if err != nil {
		return own, err
	}
	if problem != nil {
		v.Errors = append(v.Errors, web.AtField(*problem, "partner"))
		return own, nil
	}
	has, err := h.Partners.Pricing(k.R.Context(), p)
	if err != nil {
		return own, err
	}
	v.Seller = ui.Link{Label: p.Name, URL: web.PartnerURL(p.ID) + "?tab=prices"}
	return pricingrules.PartnerPricing{Adjustment: has.Adjustment, Exclusions: has.Exclusions}, nil
}

func (h *Handlers) explainResult(
	k *web.Request, v *view.ExplainView, with explained, own pricingrules.PartnerPricing,
) error {
	sheet, err := h.Prices.ExamineCard(k.R.Context(), with.card)
	if err != nil {
		return err
	}
	lead := ratecard.Lead{
		Industry: v.Industry,
		Country:  cmp.Or(strings.TrimSpace(v.Country), "GB"),
		Urgency:  v.Urgency,
	}
	e, err := ratecard.Explain(sheet, lead, own)
	if err != nil {
		_, mistakes, other := k.FormErrors(err)
		v.Errors = append(mistakes, v.Errors...)
		return other
	}
	v.Result, v.Steps = &e, web.ExplainSteps(e.Explanation, func(rule int) string {
		if with.rulesURL == "" {
			return ""
		}
		return with.rulesURL + strconv.Itoa(sheet.Positions[rule])
	})
	return h.explainHistory(k, v, lead)
}

// explainHistory adds the history of the lead's price to the page, or the link that shows it. The query parameter
// "history" is "show" for the newest versions, or the version before which the history ends.
func (h *Handlers) explainHistory(k *web.Request, v *view.ExplainView, lead ratecard.Lead) error {
	q := k.R.URL.Query()
	historyURL := func(part string) string {
		q.Set("history", part)
		return "/pricing/explain?" + q.Encode() + "#history"
	}
	part := q.Get("history")
	if part == "" {
		v.HistoryURL = historyURL("show")
		return nil
	}
	before, err := strconv.ParseInt(part, 10, 32)
	if err != nil {
		before = 0 // the newest versions
	}
	history, err := h.Prices.PriceHistory(k.R.Context(), lead, int(before))
	if err != nil {
		return err
	}
	switch {
	case len(history.Changes) == 0:
	case history.Oldest == history.Newest:
		v.HistoryPager.Count = fmt.Sprintf("Covers version %d", history.Newest)
	default:
		v.HistoryPager.Count = fmt.Sprintf("Covers versions %d to %d", history.Oldest, history.Newest)
	}
	if before > 0 {
		newer, err := h.newerVersions(k, int(before), ratecard.HistoryVersions)
		if err != nil {
			return err
		}
		v.HistoryPager.Newer = historyURL(cmp.Or(newer, "show"))
	}
	if history.More {
		v.HistoryPager.Older = historyURL(strconv.Itoa(history.Oldest))
	}
	for i, c := range history.Changes {
		row := view.PriceChangeRow{Version: h.versionLink(k, c.Card), Cell: c.Cell}
		if row.Earlier = history.More && i == len(history.Changes)-1; !row.Earlier {
			row.Since, row.Publisher, row.Note = web.TimeOf(c.Card.EffectiveAt), c.Card.Publisher(), c.Card.Note
		}
		v.History = append(v.History, row)
	}
	return nil
}
