package pricing

import (
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// paste sets the base prices of several rows of the grid, from pasted text. Each line of the text is a
// row's key, a tab and an amount.
func (h *Handlers) paste(
	k *web.Request, d ratecard.Draft, selection ratecard.GridView, market pricingrules.Market,
) error {
	if d.RowVersion != k.FormRowVersion() {
		return h.showCellErrors(k, selection, ratecard.ErrStale, gridInput{})
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	if err != nil {
		return err
	}
	rows := map[string]ratecard.GridRow{}
	for _, row := range h.Prices.Grid(sheet, nil, selection) {
		rows[rowKey(row)] = row
	}
	e := gridInput{typed: map[string]string{}, wrong: map[string]string{}}
	var changes []ratecard.BaseChange
	for i, line := range strings.Split(strings.ReplaceAll(k.R.PostForm.Get("lines"), "\r\n", "\n"), "\n") {
		key, text, _ := strings.Cut(line, "\t")
		row, ok := rows[key]
		minor, wrong := parseBase(text, market)
		switch {
		case key == "":
			wrong = ui.FieldError{
				Code:    "too_long",
				Message: "The column has more lines than there are rows below the cell. Paste fewer lines.",
			}
		case !ok:
			wrong = ui.FieldError{
				Code: "row", Message: "This row is not in the grid. Reload the page and paste the column again.",
			}
		}
		if wrong.Message == "" {
			e.typed[key] = web.Short(text)
			changes = append(changes, ratecard.BaseChange{Target: row.Target, Minor: minor})
			continue
		}
		if ok {
			wrong.Field, e.typed[key], e.wrong[key] = "base-"+key, web.Short(text), wrong.Message
		}
		wrong.Message = fmt.Sprintf("Line %d: %s", i+1, wrong.Message)
		e.errors = append(e.errors, wrong)
		if !ok {
			break
		}
	}
	if len(e.errors) > 0 {
		return h.showCellErrors(k, selection,
			apperr.New(apperr.Invalid, "amount", "Nothing was saved. Fix the amounts below and paste the column again."), e.markUnsaved())
	}
	what := "Pasted " + ui.Plural(len(changes), "base price", "base prices") + " (" +
		viewText(selection) + ")"
	if _, err := h.prices(k).SetBases(k.R.Context(), d.ID, k.FormRowVersion(), what, changes); err != nil {
		return h.showCellErrors(k, selection, err, e.markUnsaved())
	}
	return k.Redirect(gridURL(d, selection))
}

// markUnsaved marks valid amounts as not saved, because one invalid cell prevents all cells from being
// saved.
func (e gridInput) markUnsaved() gridInput {
	for key := range e.typed {
		if e.wrong[key] == "" {
			e.wrong[key] = "Not saved."
		}
	}
	return e
}
