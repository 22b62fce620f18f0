package pricing

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// firstMarket is the market that a grid shows by default.
const firstMarket = "GB"

var gridFilters = []string{"country", "urgency", "category", "q"}

// gridView returns the view of the grid that the URL selects: a market, and optionally an urgency, a
// category and a search text.
func (h *Handlers) gridView(k *web.Request) ratecard.GridView {
	q := k.R.URL.Query()
	v := ratecard.GridView{
		Country:  web.SearchText(q, "country"),
		Urgency:  web.SearchText(q, "urgency"),
		Category: web.SearchText(q, "category"),
		Search:   web.SearchText(q, "q"),
	}
	if v.Country == "" {
		v.Country = firstMarket
	}
	return v
}

// viewQuery encodes a view of the grid as a query string. The parameter more contains additional names
// and values.
func viewQuery(v ratecard.GridView, more ...string) string {
	q := url.Values{"country": {v.Country}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	for name, value := range map[string]string{"urgency": v.Urgency, "category": v.Category, "q": v.Search} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

func gridURL(d ratecard.Draft, v ratecard.GridView) string {
	return web.DraftURL(d.ID) + "?" + viewQuery(v)
}

func (h *Handlers) gridFilter(k *web.Request, v ratecard.GridView, clear string) view.GridFilter {
	return view.GridFilter{
		Countries:  web.SelectOption(h.marketOptions(k), v.Country),
		Urgencies:  web.SelectOption(urgencyOptions(), v.Urgency),
		Categories: web.SelectOption(h.categoryOptions(k), v.Category),
		Search:     v.Search,
		Filtered:   web.IsFiltered(k.R.URL.Query(), gridFilters...),
		ClearURL:   clear,
	}
}

func (h *Handlers) grid(k *web.Request, rows []ratecard.GridRow, v ratecard.GridView) view.PriceGrid {
	g := view.PriceGrid{
		Caption:   "Prices by industry, " + viewText(v),
		Market:    v.Country,
		PriceHead: "Price for " + v.Urgency + " urgency",
		State:     ui.ListState{Filtered: true},
	}
	if v.Urgency == "" {
		g.PriceHead = "Price for standard urgency"
	}
	if market, ok := h.Prices.Markets().ByCode(v.Country); ok {
		g.Currency = h.Prices.Markets().At(market).Currency.String()
	}
	for _, row := range rows {
		g.Rows = append(g.Rows, gridRow(row))
	}
	return g
}

func gridRow(row ratecard.GridRow) view.PriceRow {
	r := view.PriceRow{Key: rowKey(row), Slug: row.Target.Industry, Name: row.Target.Industry}
	if row.Target.Industry == "" {
		r.Category, r.Slug, r.Name = true, row.Target.Category, row.Name
	} else {
		r.Price = figure(row.Price)
		if row.Compared && row.Live != row.Cell {
			r.Live = figure(row.Live.String())
		}
	}
	switch base := baseFigure(row); {
	case row.Base.Direct:
		r.Base, r.Was = base, row.Base.Minor
	case base != "":
		r.Inherited, r.Source = base, "inherited from "+row.Source
		if row.Source == (pricingrules.Target{}).String() {
			r.Source = "inherited from the rule for every lead"
		} else if !strings.Contains(row.Source, "country: ") {
			r.Source += ", any country"
		}
	}
	return r
}

func rowKey(row ratecard.GridRow) string {
	if row.Target.Industry == "" {
		return "category-" + row.Target.Category
	}
	return row.Target.Industry
}

// viewText describes a view of the grid, such as "country: GB, any urgency, category: trades".
func viewText(v ratecard.GridView) string {
	words := []string{"country: " + v.Country, "any urgency"}
	if v.Urgency != "" {
		words[1] = "urgency: " + v.Urgency
	}
	if v.Category != "" {
		words = append(words, "category: "+v.Category)
	}
	if v.Search != "" {
		words = append(words, "industry: “"+web.Short(v.Search)+"”")
	}
	return strings.Join(words, ", ")
}

func industriesOf(rows []ratecard.GridRow) (n int) {
	for _, row := range rows {
		if row.Target.Industry != "" {
			n++
		}
	}
	return n
}

func (h *Handlers) pricingPage(k *web.Request) error {
	ctx := k.R.Context()
	live, err := h.Prices.Current(ctx)
	if err != nil {
		return web.OrNotFound(err)
	}
	sheet, err := h.Prices.ExamineCard(ctx, live)
	if err != nil {
		return err
	}
	drafts, err := h.Prices.Drafts(ctx)
	if err != nil {
		return err
	}
	selection := h.gridView(k)
	rows := h.Prices.Grid(sheet, nil, selection)
	v := view.HomeView{
		Shell:   k.Shell("Pricing"),
		Version: ui.Link{Label: web.VersionName(live.Version), URL: web.VersionURL(live.Version)},
		Since:   web.TimeOf(live.EffectiveAt),
		By:      live.Publisher(),
		Note:    live.Note,
		Filter:  h.gridFilter(k, selection, "/pricing"),
		Grid:    h.grid(k, rows, selection),
	}
	v.Grid.State.ClearURL = "/pricing"
	v.CSV, v.YAML = exports(web.VersionURL(live.Version), selection, industriesOf(rows), len(sheet.Card.Rules))
	if k.May(web.WritePricing) {
		v.NewURL = "/pricing/drafts/new"
	}
	copied := live.CopiedFrom > 0 // the version may itself be a rollback that undoes the one before it
	if before := live.Version - 1; before > 0 && !copied && k.May(web.PublishPricing) {
		v.RollBack = rollBackLink(before)
	}
	for _, d := range drafts {
		v.Drafts = append(v.Drafts, view.DraftRow{
			Title:     web.DraftName(d.RateCard),
			URL:       web.DraftURL(d.ID),
			Author:    d.Author,
			State:     string(d.State),
			Created:   d.CreatedAt,
			Updated:   d.UpdatedAt,
			UpdatedBy: d.UpdatedBy,
			Edits:     int64(d.Edits),
		})
	}
	return k.Show(http.StatusOK, view.Home(v))
}

// gridInput contains the amounts typed into a grid and their errors, by row.
type gridInput struct {
	typed, wrong map[string]string
	was          map[string]int64 // the base prices that the rejected amounts would have replaced
	errors       ui.Errors
	bulk         view.BulkForm
}

func (h *Handlers) gridTab(k *web.Request, d ratecard.Draft) error {
	return h.showGrid(k, http.StatusOK, d, gridInput{})
}

func (h *Handlers) showGrid(k *web.Request, status int, d ratecard.Draft, e gridInput) error {
	v, err := h.draftGrid(k, d, h.gridView(k), e)
	if err != nil {
		return err
	}
	return k.Show(status, view.DraftGrid(v))
}

// draftGrid returns the view model of a draft's grid. The parameter e contains rejected input, if any.
func (h *Handlers) draftGrid(
	k *web.Request, d ratecard.Draft, selection ratecard.GridView, e gridInput,
) (v view.DraftGridView, err error) {
	sheet, live, err := h.compiledCards(k, d)
	if err != nil {
		return v, err
	}
	if v.Head, err = h.draftHead(k, d, "grid"); err != nil {
		return v, err
	}
	rows, address := h.Prices.Grid(sheet, live, selection), web.DraftURL(d.ID)
	v.Filter, v.Grid, v.Shown = h.gridFilter(k, selection, address), h.grid(k, rows, selection), industriesOf(rows)
	v.Grid.State.ClearURL = address
	v.CSV, v.YAML = exports(address, selection, v.Shown, len(sheet.Card.Rules))
	v.Errors, v.Bulk = e.errors, e.bulk
	v.Bulk.Operations = bulkOperations(v.Bulk.Operations, v.Grid.Currency)
	if !v.Head.CanWrite {
		return v, nil
	}
	v.Grid.Action, v.Cells, v.UndoURL = address+"/cell?"+viewQuery(selection), address+"/cells?"+viewQuery(selection), address+"/undo?"+viewQuery(selection)
	for i := range v.Grid.Rows {
		row := &v.Grid.Rows[i]
		row.Typed, row.Error = e.typed[row.Key], e.wrong[row.Key]
		if old, ok := e.was[row.Key]; ok {
			row.Was = old
		}
	}
	last, there, err := h.Prices.LastEdit(k.R.Context(), d.ID)
	if there {
		v.Undo = view.EditToUndo{Number: strconv.FormatInt(last.ID, 10), What: last.Summary}
	}
	return v, err
}

// bulkOperations returns the given options or, if there are none, an option for each type of bulk
// change.
func bulkOperations(given []ui.Option, currency string) []ui.Option {
	if given != nil {
		return given
	}
	return []ui.Option{
		{Value: "percent", Label: "Raise or lower by a percentage"},
		{Value: "set", Label: "Set to an amount in " + currency},
	}
}
