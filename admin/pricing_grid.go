package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/templates"
)

// firstMarket is whose prices a grid shows where none is chosen.
const firstMarket = "GB"

var gridFilters = []string{"country", "urgency", "category", "q"}

// gridView is what of a grid the address asks for.
func (k *call) gridView() ratecard.View {
	q := k.r.URL.Query()
	v := ratecard.View{Country: typed(q, "country"), Urgency: typed(q, "urgency"), Category: typed(q, "category"), Search: typed(q, "q")}
	if v.Country == "" {
		v.Country = firstMarket
	}
	return v
}

// viewQuery is a view as an address has it, after fields of its own.
func viewQuery(v ratecard.View, more ...string) string {
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

func gridURL(d ratecard.Draft, v ratecard.View) string { return draftURL(d.ID) + "?" + viewQuery(v) }

func (k *call) gridFilter(v ratecard.View, clear string) templates.GridFilter {
	return templates.GridFilter{
		Countries: chosen(k.marketOptions(), v.Country), Urgencies: chosen(urgencyOptions(), v.Urgency), Categories: chosen(k.categoryOptions(), v.Category),
		Search: v.Search, Filtered: filtered(k.r.URL.Query(), gridFilters...), ClearURL: clear,
	}
}

// grid is a view's rows as a page shows them. Its market may be none: then it is empty.
func (k *call) grid(rows []ratecard.GridRow, v ratecard.View) templates.PriceGrid {
	g := templates.PriceGrid{Caption: "Prices by industry, " + viewWords(v), Market: v.Country, PriceHead: "Price, " + v.Urgency, State: templates.ListState{Filtered: true}}
	if v.Urgency == "" {
		g.PriceHead = "Price, standard"
	}
	if market, ok := k.Prices.Markets().ByCode(v.Country); ok {
		g.Currency = k.Prices.Markets().At(market).Currency.String()
	}
	for _, row := range rows {
		g.Rows = append(g.Rows, gridRow(row))
	}
	return g
}

func gridRow(row ratecard.GridRow) templates.PriceRow {
	r := templates.PriceRow{Key: rowKey(row), Slug: row.Target.Industry, Name: row.Target.Industry}
	if row.Target.Industry == "" {
		r.Category, r.Slug, r.Name = true, row.Target.Category, row.Name
	} else {
		r.Price = figure(row.Price)
		if row.Compared && row.Live != row.Cell {
			r.Live = figure(row.Live.String())
		}
	}
	switch base := baseFigure(row); {
	case row.Base.Own:
		r.Base, r.Was = base, row.Base.Minor
	case base != "":
		r.Inherited, r.Source = base, "from "+row.Source
		if !strings.Contains(row.Source, "country ") {
			r.Source += ", any country"
		}
	}
	return r
}

// rowKey sets the rows of a grid apart.
func rowKey(row ratecard.GridRow) string {
	if row.Target.Industry == "" {
		return "category-" + row.Target.Category
	}
	return row.Target.Industry
}

// viewWords says in words which part of a grid a view is.
func viewWords(v ratecard.View) string {
	words := []string{v.Country, "any urgency"}
	if v.Urgency != "" {
		words[1] = v.Urgency
	}
	if v.Category != "" {
		words = append(words, "category "+v.Category)
	}
	if v.Search != "" {
		words = append(words, "“"+short(v.Search)+"”")
	}
	return strings.Join(words, ", ")
}

// industriesOf counts the rows that are no category's.
func industriesOf(rows []ratecard.GridRow) (n int) {
	for _, row := range rows {
		if row.Target.Industry != "" {
			n++
		}
	}
	return n
}

func (k *call) pricingPage() error {
	ctx := k.r.Context()
	live, err := k.Prices.InForce(ctx)
	if err != nil {
		return orNoPage(err)
	}
	sheet, err := k.Prices.Sheet(ctx, live)
	if err != nil {
		return err
	}
	drafts, err := k.Prices.Drafts(ctx)
	if err != nil {
		return err
	}
	view := k.gridView()
	rows := k.Prices.Grid(sheet, nil, view)
	v := templates.PricingView{
		Shell: k.shell("Pricing"), Version: templates.Link{Label: versionName(live.Version), URL: versionURL(live.Version)}, Since: timeOf(live.EffectiveAt),
		By: live.Author, Note: live.Note, Filter: k.gridFilter(view, "/pricing"), Grid: k.grid(rows, view),
	}
	v.Grid.State.ClearURL = "/pricing"
	v.CSV, v.YAML = exports(versionURL(live.Version), view, industriesOf(rows), len(sheet.Card.Rules))
	if k.may(writePricing) {
		v.NewURL = "/pricing/drafts/new"
	}
	for _, d := range drafts {
		v.Drafts = append(v.Drafts, templates.DraftRow{
			Title: draftName(d.RateCard), URL: draftURL(d.ID), Author: d.Author, State: string(d.State), Created: d.CreatedAt, Updated: d.UpdatedAt, UpdatedBy: d.UpdatedBy, Edits: int64(d.Edits),
		})
	}
	return k.show(http.StatusOK, templates.Pricing(v))
}

// entered is what a person typed into a grid and what is wrong with it, by the row.
type entered struct {
	typed, wrong map[string]string
	errors       templates.Errors
	bulk         templates.BulkForm
}

func (k *call) gridTab(d ratecard.Draft) error { return k.showGrid(http.StatusOK, d, entered{}) }

func (k *call) showGrid(status int, d ratecard.Draft, e entered) error {
	v, err := k.draftGrid(d, k.gridView(), e)
	if err != nil {
		return err
	}
	return k.show(status, templates.DraftGrid(v))
}

// draftGrid is a view of a draft's grid, with what was typed where it was refused.
func (k *call) draftGrid(d ratecard.Draft, view ratecard.View, e entered) (v templates.DraftGridView, err error) {
	sheet, live, err := k.sheets(d)
	if err != nil {
		return v, err
	}
	if v.Head, err = k.draftHead(d, "grid"); err != nil {
		return v, err
	}
	rows, address := k.Prices.Grid(sheet, live, view), draftURL(d.ID)
	v.Filter, v.Grid, v.Shown = k.gridFilter(view, address), k.grid(rows, view), industriesOf(rows)
	v.Grid.State.ClearURL = address
	v.CSV, v.YAML = exports(address, view, v.Shown, len(sheet.Card.Rules))
	v.Errors, v.Bulk = e.errors, e.bulk
	v.Bulk.Bys = bulkWays(v.Bulk.Bys, v.Grid.Currency)
	if !v.Head.CanWrite {
		return v, nil
	}
	v.Grid.Action, v.Cells, v.UndoURL = address+"/cell?"+viewQuery(view), address+"/cells?"+viewQuery(view), address+"/undo?"+viewQuery(view)
	for i := range v.Grid.Rows {
		row := &v.Grid.Rows[i]
		row.Typed, row.Error = e.typed[row.Key], e.wrong[row.Key]
	}
	last, there, err := k.Prices.LastEdit(k.r.Context(), d.ID)
	if there {
		v.Undo = templates.EditToUndo{Number: strconv.FormatInt(last.ID, 10), What: last.What}
	}
	return v, err
}

// bulkWays are how many cells can be changed at once; given are those of a form that
// came back.
func bulkWays(given []templates.Option, currency string) []templates.Option {
	if given != nil {
		return given
	}
	return []templates.Option{{Value: "percent", Label: "Raise or lower by a percentage"}, {Value: "set", Label: "Set to an amount in " + currency}}
}
