// Package pricing is the pages and forms of prices: drafts, versions, explanations and replays.
package pricing

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/templates/ui"
)

// Handlers answers the pages and forms of prices: drafts, versions, explanations and replays.
type Handlers struct {
	Audit    *audit.Log
	Partners *partners.Service
	Prices   *ratecard.Service
}

var allPricing = ui.Link{Label: "Pricing", URL: "/pricing"}

// Routes are the pages and forms about the rate card.
func (h *Handlers) Routes() []web.Route {
	const get, post, one = http.MethodGet, http.MethodPost, "/pricing/drafts/{id}"
	read := func(method, path string, handle func(*web.Request) error) web.Route {
		return web.Route{Method: method, Path: path, Needs: web.ReadPricing, Handle: handle}
	}
	write := func(method, path string, handle func(*web.Request) error) web.Route {
		return web.Route{Method: method, Path: path, Needs: web.WritePricing, Handle: handle}
	}
	publish := func(method, path string, handle func(*web.Request) error) web.Route {
		return web.Route{Method: method, Path: path, Needs: web.PublishPricing, Handle: handle}
	}
	return []web.Route{
		read(get, "/pricing", h.pricingPage),
		read(get, "/pricing/explain", h.explainPage),
		read(get, "/pricing/versions", h.versionsPage),
		read(get, "/pricing/versions/{n}", h.versionPage),
		read(get, "/pricing/versions/{n}/export", h.versionExport),
		read(get, "/pricing/compare", h.comparePage),

		write(get, "/pricing/drafts/new", h.draftNewPage),
		{
			Method:  post,
			Path:    "/pricing/drafts/new",
			Needs:   web.WritePricing,
			Creates: "/pricing/drafts/{object}",
			Form:    "/pricing/drafts/new?from={from}",
			Handle:  h.draftNew,
		},
		read(get, one, h.draftPage),
		read(get, one+"/export", h.draftExport),
		write(get, one+"/title", h.draftTitlePage),
		{Method: post, Path: one + "/title", Needs: web.WritePricing, Form: one + "/title", Handle: h.draftTitle},
		write(get, one+"/discard", h.discardPage),
		write(post, one+"/discard", h.discard),
		write(post, one+"/cell", h.draftCell),
		write(post, one+"/cells", h.draftCells),
		write(post, one+"/undo", h.draftUndo),
		write(get, one+"/rules/new", h.ruleNewPage),
		{Method: post, Path: one + "/rules/new", Needs: web.WritePricing, Creates: one + "?tab=rules", Form: one + "/rules/new", Handle: h.ruleNew},
		write(get, one+"/rules/{position}", h.rulePage),
		{Method: post, Path: one + "/rules/{position}", Needs: web.WritePricing, Form: one + "/rules/{position}", Handle: h.changeRule},
		write(post, one+"/rules/{position}/remove", h.removeRule),
		write(get, one+"/import", h.importPage),
		{Method: post, Path: one + "/import", Needs: web.WritePricing, Limit: maxUpload, Handle: h.importFile},
		write(post, one+"/update", h.updateDraft),
		write(post, one+"/replay", h.startReplay),
		read(get, one+"/replay/live", h.replayLive),
		{Method: post, Path: one + "/publish", Needs: web.PublishPricing, Form: one + "?tab=publish", Handle: h.publishDraft},
		publish(post, one+"/approve", h.approveDraft),
		publish(post, one+"/take-back", h.takeBack),
	}
}

// prices is the service on behalf of the person who asks.
func (h *Handlers) prices(k *web.Request) *ratecard.Service { return h.Prices.By(k.By) }

// sheets are the rules of a draft and of the version in force.
func (h *Handlers) sheets(k *web.Request, d ratecard.Draft) (draft, live *ratecard.CompiledCard, err error) {
	card, err := h.Prices.Current(k.R.Context())
	if err != nil {
		return nil, nil, err
	}
	if live, err = h.Prices.CompileCard(k.R.Context(), card); err != nil {
		return nil, nil, err
	}
	draft, err = h.Prices.CompileCard(k.R.Context(), d.RateCard)
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
		all = append(all, ui.Option{Value: class, Label: strings.ToUpper(class[:1]) + class[1:]})
	}
	return all
}
