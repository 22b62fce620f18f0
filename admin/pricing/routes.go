// Package pricing serves the console pages for the rate card: drafts, versions, price calculations
// and replays.
package pricing

import (
	"fmt"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers serves the pricing pages.
type Handlers struct {
	Audit    *audit.Log
	Partners *partners.Service
	Prices   *ratecard.Service

	importing chan struct{} // has space for one element, so that one file is imported at a time
}

// New returns the handlers of the pricing pages.
func New(log *audit.Log, partners *partners.Service, prices *ratecard.Service) *Handlers {
	return &Handlers{Audit: log, Partners: partners, Prices: prices, importing: make(chan struct{}, 1)}
}

var allPricing = ui.Link{Label: "Pricing", URL: "/pricing"}

// Routes returns the routes of the pricing pages.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/pricing", Page: "Pricing", Needs: web.ReadPricing, Handle: h.pricingPage},
		{Method: get, Path: "/pricing/explain", Page: "Price a lead", Needs: web.ReadPricing, Handle: h.explainPage},
		{Method: get, Path: "/pricing/versions", Page: "Version history", Needs: web.ReadPricing, Handle: h.versionsPage},
		{Method: get, Path: "/pricing/versions/{n}", Needs: web.ReadPricing, Handle: h.versionPage},
		{Method: get, Path: "/pricing/versions/{n}/export", Needs: web.ReadPricing, Handle: h.versionExport},
		{Method: get, Path: "/pricing/versions/{n}/rollback", Needs: web.PublishPricing, Handle: h.rollBackPage},
		{
			Method:  post,
			Path:    "/pricing/versions/{n}/rollback",
			Needs:   web.PublishPricing,
			Creates: "/pricing/drafts/{object}?tab=publish",
			Form:    "/pricing/versions/{n}/rollback",
			Handle:  h.rollBack,
		},
		{Method: get, Path: "/pricing/compare", Page: "Compare versions", Needs: web.ReadPricing, Handle: h.comparePage},

		{Method: get, Path: "/pricing/drafts/new", Page: "New draft", Needs: web.WritePricing, Handle: h.newDraftPage},
		{
			Method:  post,
			Path:    "/pricing/drafts/new",
			Needs:   web.WritePricing,
			Creates: "/pricing/drafts/{object}",
			Form:    "/pricing/drafts/new?from={from}",
			Saves:   []string{"from", "title"},
			Handle:  h.createDraft,
		},
		{Method: get, Path: "/pricing/drafts/{id}", Needs: web.ReadPricing, Handle: h.draftPage},
		{Method: get, Path: "/pricing/drafts/{id}/export", Needs: web.ReadPricing, Handle: h.draftExport},
		{Method: get, Path: "/pricing/drafts/{id}/title", Needs: web.WritePricing, Handle: h.draftTitlePage},
		{
			Method: post,
			Path:   "/pricing/drafts/{id}/title",
			Needs:  web.WritePricing,
			Form:   "/pricing/drafts/{id}/title",
			Saves:  []string{"title"},
			Handle: h.renameDraft,
		},
		{Method: get, Path: "/pricing/drafts/{id}/discard", Needs: web.WritePricing, Handle: h.discardPage},
		{Method: post, Path: "/pricing/drafts/{id}/discard", Needs: web.WritePricing, Handle: h.discard},
		{Method: post, Path: "/pricing/drafts/{id}/cell", Needs: web.WritePricing, Handle: h.draftCell},
		{Method: post, Path: "/pricing/drafts/{id}/cells", Needs: web.WritePricing, Handle: h.draftCells},
		{Method: post, Path: "/pricing/drafts/{id}/undo", Needs: web.WritePricing, Handle: h.draftUndo},
		{Method: get, Path: "/pricing/drafts/{id}/rules/new", Needs: web.WritePricing, Handle: h.newRulePage},
		{
			Method:  post,
			Path:    "/pricing/drafts/{id}/rules/new",
			Needs:   web.WritePricing,
			Creates: "/pricing/drafts/{id}?tab=rules",
			Form:    "/pricing/drafts/{id}/rules/new",
			Saves:   ruleFields(),
			Handle:  h.addRule,
		},
		{Method: get, Path: "/pricing/drafts/{id}/rules/{position}", Needs: web.WritePricing, Handle: h.rulePage},
		{
			Method: post,
			Path:   "/pricing/drafts/{id}/rules/{position}",
			Needs:  web.WritePricing,
			Form:   "/pricing/drafts/{id}/rules/{position}",
			Saves:  ruleFields(),
			Handle: h.changeRule,
		},
		{Method: post, Path: "/pricing/drafts/{id}/rules/{position}/remove", Needs: web.WritePricing, Handle: h.removeRule},
		{Method: get, Path: "/pricing/drafts/{id}/import", Needs: web.WritePricing, Handle: h.importPage},
		{Method: post, Path: "/pricing/drafts/{id}/import", Needs: web.WritePricing, Limit: maxUpload, Handle: h.importFile},
		{Method: post, Path: "/pricing/drafts/{id}/update", Needs: web.WritePricing, Handle: h.updateDraft},
		{Method: post, Path: "/pricing/drafts/{id}/replay", Needs: web.WritePricing, Handle: h.startReplay},
		{Method: get, Path: "/pricing/drafts/{id}/replay/live", Needs: web.ReadPricing, Handle: h.replayLive},
		{
			Method: post,
			Path:   "/pricing/drafts/{id}/publish",
			Needs:  web.PublishPricing,
			Form:   "/pricing/drafts/{id}?tab=publish",
			Saves:  []string{"at"},
			Handle: h.publishDraft,
		},
		{Method: post, Path: "/pricing/drafts/{id}/approve", Needs: web.PublishPricing, Handle: h.approveDraft},
		{Method: post, Path: "/pricing/drafts/{id}/take-back", Needs: web.PublishPricing, Handle: h.withdrawDraft},
	}
}

func (h *Handlers) prices(k *web.Request) *ratecard.Service { return h.Prices.By(k.By) }

func (h *Handlers) compiledCards(k *web.Request, d ratecard.Draft) (draft, live *ratecard.ExaminedCard, err error) {
	card, err := h.Prices.Current(k.R.Context())
	if err != nil {
		return nil, nil, err
	}
	if live, err = h.Prices.ExamineCard(k.R.Context(), card); err != nil {
		return nil, nil, err
	}
	draft, err = h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	return draft, live, err
}

func (h *Handlers) marketOptions(k *web.Request) (all []ui.Option) {
	for i := range h.Prices.Markets().Len() {
		m := h.Prices.Markets().At(i)
		all = append(all, ui.Option{Value: m.Code, Label: fmt.Sprintf("%s, %s (%s)", m.Name, m.Code, m.Currency)})
	}
	return all
}

func (h *Handlers) categoryOptions(k *web.Request) (all []ui.Option) {
	for _, c := range h.Prices.Taxonomy().Categories() {
		all = append(all, ui.Option{Value: c.Slug, Label: c.Name})
	}
	return all
}

func urgencyOptions() (all []ui.Option) {
	for class := range ratecard.Classes() {
		all = append(all, ui.Option{Value: class, Label: ui.Sentence(class)})
	}
	return all
}
