package pricing

import (
	"fmt"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates/ui"
)

// paste gives a column of rows their bases. Each line names its row, a tab, and the cell.
func (h *Handlers) paste(k *web.Request, d ratecard.Draft, selection ratecard.GridView, market pricingrules.Market) error {
	if d.RowVersion != web.FormRowVersion(k) {
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
				Message: "the column is longer than the rows below the cell where it was pasted",
			}
		case !ok:
			wrong = ui.FieldError{Code: "row", Message: "there is no such row here"}
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
			apperr.New(apperr.Invalid, "amount", "The column was not taken, not even in part."), e.markUnsaved())
	}
	what := fmt.Sprintf("Pasted %d bases: %s", len(changes), viewText(selection))
	if _, err := h.prices(k).SetBases(k.R.Context(), d.ID, web.FormRowVersion(k), what, changes); err != nil {
		return h.showCellErrors(k, selection, err, e.markUnsaved())
	}
	return k.Redirect(gridURL(d, selection))
}

// markUnsaved leaves in their cells the amounts that nothing is wrong with, too: nothing
// was saved of them.
func (e gridInput) markUnsaved() gridInput {
	for key := range e.typed {
		if e.wrong[key] == "" {
			e.wrong[key] = "Not saved."
		}
	}
	return e
}
