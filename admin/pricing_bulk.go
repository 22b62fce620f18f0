package admin

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates"
)

// shownChanges is how many of the changes are listed before they are made.
const shownChanges = 20

// paste gives a column of rows their bases. Each line names its row, a tab, and the cell.
func (k *call) paste(d ratecard.Draft, view ratecard.View, market pricingrules.Market) error {
	sheet, err := k.Prices.Sheet(k.r.Context(), d.RateCard)
	if err != nil {
		return err
	}
	rows := map[string]ratecard.GridRow{}
	for _, row := range k.Prices.Grid(sheet, nil, view) {
		rows[rowKey(row)] = row
	}
	e := entered{typed: map[string]string{}, wrong: map[string]string{}}
	var changes []ratecard.BaseChange
	for i, line := range strings.Split(strings.ReplaceAll(k.r.PostForm.Get("lines"), "\r\n", "\n"), "\n") {
		key, text, _ := strings.Cut(line, "\t")
		row, ok := rows[key]
		minor, mend := parseBase(text, market)
		switch {
		case key == "":
			mend = "the column is longer than the rows below the cell where it was pasted"
		case !ok:
			mend = "there is no such row here"
		}
		if mend == "" {
			e.typed[key] = short(text)
			changes = append(changes, ratecard.BaseChange{Target: row.Target, Minor: minor})
			continue
		}
		mistake := templates.FieldError{Message: fmt.Sprintf("Line %d: %s", i+1, mend)}
		if ok {
			mistake.Field, e.typed[key], e.wrong[key] = "base-"+key, short(text), mend
		}
		e.errors = append(e.errors, mistake)
		if !ok {
			break
		}
	}
	if len(e.errors) > 0 {
		return k.refusedCells(view, apperr.New(apperr.Invalid, "amount", "The column was not taken, not even in part."), e.keepTyped())
	}
	what := fmt.Sprintf("Pasted %d bases: %s", len(changes), viewWords(view))
	if _, err := k.prices().SetBases(k.r.Context(), d.ID, k.version(), what, changes); err != nil {
		return k.refusedCells(view, err, e.keepTyped())
	}
	return k.to(gridURL(d, view))
}

// keepTyped leaves in their cells the amounts that nothing is wrong with, too: nothing
// was saved of them.
func (e entered) keepTyped() entered {
	for key := range e.typed {
		if e.wrong[key] == "" {
			e.wrong[key] = "Not saved."
		}
	}
	return e
}

// bulk changes all rows that are shown; a first press shows how.
func (k *call) bulk(d ratecard.Draft, view ratecard.View, market pricingrules.Market) error {
	f := k.r.PostForm
	var b ratecard.Bulk
	var mend, what string
	switch f.Get("by") {
	case "percent":
		b.Percent, mend = parsePercent(f.Get("amount"))
		what = "Bases " + pricingrules.FormatAdjustment(int(b.Percent)) + ": "
	case "set":
		if b.Set, mend = parseBase(f.Get("amount"), market); b.Set == 0 && mend == "" {
			mend = "Write the amount that each base becomes."
		}
		what = "Bases set to " + minorFigure(b.Set) + " " + market.Currency.String() + ": "
	default:
		mend = "Choose one of these."
	}
	e := entered{bulk: templates.BulkForm{Bys: chosen(bulkWays(nil, market.Currency.String()), f.Get("by")), Amount: short(f.Get("amount")), Error: mend, Open: true}}
	if mend != "" {
		e.errors = templates.Errors{{Field: "amount", Message: mend}}
		return k.showGridOf(http.StatusUnprocessableEntity, d, view, e)
	}
	if d.RowVersion != k.version() {
		return k.refusedCells(view, apperr.New(apperr.Conflict, "changed", "Somebody else changed this draft meanwhile: look at the change, then decide again."), e)
	}
	sheet, err := k.Prices.Sheet(k.r.Context(), d.RateCard)
	if err != nil {
		return err
	}
	changes, lines := bulkChanges(b, k.Prices.Grid(sheet, nil, view))
	if len(changes.made) == 0 {
		return k.refusedCells(view, apperr.New(apperr.Invalid, "nothing", "No base would change."), e)
	}
	what += viewWords(view)
	if f.Get("apply") == "yes" {
		if _, err := k.prices().SetBases(k.r.Context(), d.ID, k.version(), what, changes.made); err != nil {
			return k.refusedCells(view, err, e)
		}
		return k.to(gridURL(d, view))
	}
	return k.askBulk(d, view, what, changes, lines)
}

// bulkOf is what a bulk does to the rows of a grid.
type bulkOf struct {
	made   []ratecard.BaseChange
	passed int // without a base
}

func bulkChanges(b ratecard.Bulk, rows []ratecard.GridRow) (all bulkOf, lines []templates.CellChange) {
	was := map[pricingrules.Target]ratecard.GridRow{}
	for _, row := range rows {
		was[row.Target] = row
	}
	made := b.Changes(rows)
	all.passed = industriesOf(rows) - len(made)
	for _, one := range made {
		row := was[one.Target]
		if row.Base.Own && row.Base.Minor == one.Minor {
			continue
		}
		all.made = append(all.made, one)
		lines = append(lines, templates.CellChange{Cell: one.Target.Industry, Old: baseWords(row), New: money.Amount{Minor: one.Minor, Currency: row.Currency}.String()})
	}
	return all, lines
}

// baseWords is a row's base, and whether it is its own.
func baseWords(row ratecard.GridRow) string {
	amount := money.Amount{Minor: row.Base.Minor, Currency: row.Currency}.String()
	switch {
	case row.Base.Rule < 0:
		return "none"
	case row.Base.Own:
		return amount
	}
	return amount + ", inherited"
}

func (k *call) askBulk(d ratecard.Draft, view ratecard.View, what string, all bulkOf, lines []templates.CellChange) error {
	f := k.r.PostForm
	shown := min(len(lines), shownChanges)
	return k.show(http.StatusOK, templates.DraftBulk(templates.DraftBulkView{
		Shell:  k.shell("Change "+countWords(int64(len(lines)), false, "base", "bases"), allPricing, templates.Link{Label: draftName(d.RateCard), URL: draftURL(d.ID)}),
		Action: draftURL(d.ID) + "/cells?" + viewQuery(view), Cancel: gridURL(d, view), What: what, Changes: lines[:shown], More: len(lines) - shown, Passed: all.passed,
		Submit: "Change " + countWords(int64(len(lines)), false, "base", "bases"),
		Hidden: []templates.Hidden{
			{Name: "version", Value: strconv.Itoa(d.RowVersion)}, {Name: "mode", Value: "bulk"}, {Name: "by", Value: f.Get("by")}, {Name: "amount", Value: f.Get("amount")}, {Name: "apply", Value: "yes"},
		},
	}))
}
