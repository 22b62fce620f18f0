package pricing

import (
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

// shownChanges is the maximum number of changes that the confirmation page lists.
const shownChanges = 20

// bulk changes the base prices in all rows that the grid shows. The first request only asks for
// confirmation.
func (h *Handlers) bulk(
	k *web.Request, d ratecard.Draft, selection ratecard.GridView, market pricingrules.Market,
) error {
	f := k.R.PostForm
	var b ratecard.Bulk
	var wrong ui.FieldError
	var action string
	switch f.Get("by") {
	case "percent":
		b.Percent, wrong = parsePercent(f.Get("amount"))
		action = " base prices by " + pricingrules.FormatAdjustment(int(b.Percent)) + " (" + viewText(selection) + ")"
	case "set":
		if b.Set, wrong = parseBase(f.Get("amount"), market); b.Set == 0 && wrong.Message == "" {
			wrong = ui.FieldError{Code: "required", Message: "Enter the new base price."}
		}
		action = " base prices to " + minorFigure(b.Set) + " " + market.Currency.String() + " (" + viewText(selection) + ")"
	default:
		wrong = ui.FieldError{Code: "choice", Message: "Choose a type of change."}
	}
	e := gridInput{bulk: view.BulkForm{
		Operations: web.SelectOption(bulkOperations(nil, market.Currency.String()), f.Get("by")),
		Amount:     web.Short(f.Get("amount")),
		Error:      wrong.Message,
		Open:       true,
	}}
	if wrong.Message != "" {
		wrong.Field = "amount"
		e.errors = ui.Errors{wrong}
		return h.showGridOf(k, http.StatusUnprocessableEntity, d, selection, e)
	}
	if d.RowVersion != k.FormRowVersion() {
		return h.showCellErrors(k, selection, ratecard.ErrStale, e)
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	if err != nil {
		return err
	}
	changes, lines := bulkChanges(b, h.Prices.Grid(sheet, nil, selection))
	if len(changes.made) == 0 {
		return h.showCellErrors(k, selection,
			apperr.New(apperr.Invalid, "nothing", "No base price would change. Enter another amount."), e)
	}
	if f.Get("apply") == "yes" {
		if _, err := h.prices(k).SetBases(k.R.Context(), d.ID, k.FormRowVersion(), "Changed"+action,
			changes.made); err != nil {
			return h.showCellErrors(k, selection, err, e)
		}
		return k.Redirect(gridURL(d, selection))
	}
	return h.askBulk(k, d, selection, "Change"+action, changes, lines)
}

// bulkResult is the effect of a bulk change on the rows of a grid.
type bulkResult struct {
	made    []ratecard.BaseChange
	skipped int // rows without a base price
}

func bulkChanges(b ratecard.Bulk, rows []ratecard.GridRow) (all bulkResult, lines []view.CellChange) {
	old := map[pricingrules.Target]ratecard.GridRow{}
	for _, row := range rows {
		old[row.Target] = row
	}
	made := b.Changes(rows)
	all.skipped = industriesOf(rows) - len(made)
	for _, change := range made {
		row := old[change.Target]
		if row.Base.Direct && row.Base.Minor == change.Minor {
			continue
		}
		all.made = append(all.made, change)
		lines = append(lines, view.CellChange{
			Cell:      change.Target.Industry,
			Old:       basePriceText(row.Base, row.Currency),
			New:       money.Amount{Minor: change.Minor, Currency: row.Currency}.String(),
			Inherited: inherits(row.Base),
		})
	}
	return all, lines
}

func (h *Handlers) askBulk(
	k *web.Request, d ratecard.Draft, selection ratecard.GridView, what string, all bulkResult, lines []view.CellChange,
) error {
	f := k.R.PostForm
	shown := min(len(lines), shownChanges)
	return k.Show(http.StatusOK, view.DraftBulk(view.DraftBulkView{
		Shell: k.Shell("Change "+ui.Plural(len(lines), "base price", "base prices"), allPricing, ui.Link{
			Label: web.DraftName(d.RateCard),
			URL:   web.DraftURL(d.ID),
		}),
		Action:  web.DraftURL(d.ID) + "/cells?" + viewQuery(selection),
		Cancel:  gridURL(d, selection),
		What:    what,
		Changes: lines[:shown],
		More:    len(lines) - shown,
		Skipped: all.skipped,
		Submit:  "Change " + ui.Plural(len(lines), "base price", "base prices"),
		Hidden: []ui.Hidden{
			{Name: "version", Value: strconv.Itoa(d.RowVersion)},
			{Name: "mode", Value: "bulk"},
			{Name: "by", Value: f.Get("by")},
			{Name: "amount", Value: f.Get("amount")},
			{Name: "apply", Value: "yes"},
		},
	}))
}
