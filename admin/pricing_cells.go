package admin

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates"
)

// market is the one that a view is of.
func (k *call) market(v ratecard.View) (pricingrules.Market, error) {
	at, ok := k.Prices.Markets().ByCode(v.Country)
	if !ok {
		return pricingrules.Market{}, errForm
	}
	return k.Prices.Markets().At(at), nil
}

// cellView is gridView for a form, which may say itself which market and urgency it is
// about.
func (k *call) cellView() ratecard.View {
	v := k.gridView()
	for name, into := range map[string]*string{"country": &v.Country, "urgency": &v.Urgency} {
		if k.r.PostForm.Has(name) {
			*into = typed(k.r.PostForm, name)
		}
	}
	return v
}

// draftCell gives one cell its base, or lets it inherit again.
func (k *call) draftCell() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	f, view := k.r.PostForm, k.cellView()
	market, err := k.market(view)
	if err != nil {
		return err
	}
	target := pricingrules.Target{Industry: f.Get("industry"), Category: f.Get("category"), Country: market.Code, Urgency: view.Urgency}
	if (target.Industry == "") == (target.Category == "") {
		return errForm
	}
	was, err := strconv.ParseInt(f.Get("was"), 10, 64)
	if err != nil {
		return errForm
	}
	key := short(rowKey(ratecard.GridRow{BaseRow: pricingrules.BaseRow{Target: target}}))
	minor, mend := parseBase(f.Get("base"), market)
	if mend == "" {
		err = k.prices().SetBase(k.r.Context(), d.ID, target, was, minor)
		if err == nil {
			return k.cellSaved(d, view, target, key)
		}
	} else {
		err = apperr.New(apperr.Invalid, "amount", mend)
	}
	status, message, other := k.told(err)
	if other != nil {
		return other
	}
	e := entered{typed: map[string]string{key: short(f.Get("base"))}, wrong: map[string]string{key: message}}
	e.errors = templates.Errors{{Field: "base-" + key, Message: key + ": " + message}}
	return k.showCell(status, view, target, e)
}

// cellSaved answers a cell that was saved: a script is told what changed with it,
// anybody else sees the grid again where they were.
func (k *call) cellSaved(d ratecard.Draft, view ratecard.View, target pricingrules.Target, key string) error {
	if k.r.PostForm.Get("part") == "" {
		return k.to(gridURL(d, view) + "#f-base-" + key)
	}
	return k.showCell(http.StatusOK, view, target, entered{})
}

// showCell shows the grid, or a script the rows, as they are now.
func (k *call) showCell(status int, view ratecard.View, target pricingrules.Target, e entered) error {
	d, err := k.draft()
	if err != nil {
		return err
	}
	if k.r.PostForm.Get("part") == "" {
		return k.showGridOf(status, d, view, e)
	}
	// An industry's cell changes its own row, a category's those of its industries.
	part := ratecard.View{Country: view.Country, Urgency: view.Urgency, Category: target.Category, Search: target.Industry}
	v, err := k.draftGrid(d, part, e)
	if err != nil {
		return err
	}
	address := draftURL(d.ID)
	v.Grid.Action, v.UndoURL = address+"/cell?"+viewQuery(view), address+"/undo?"+viewQuery(view)
	return k.show(status, templates.DraftGridPart(v))
}

func (k *call) showGridOf(status int, d ratecard.Draft, view ratecard.View, e entered) error {
	v, err := k.draftGrid(d, view, e)
	if err != nil {
		return err
	}
	return k.show(status, templates.DraftGrid(v))
}

// draftCells changes many cells at once, all or none.
func (k *call) draftCells() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	view := k.cellView()
	market, err := k.market(view)
	if err != nil {
		return err
	}
	switch k.r.PostForm.Get("mode") {
	case "paste":
		return k.paste(d, view, market)
	case "bulk":
		return k.bulk(d, view, market)
	}
	return errForm
}

// refusedCells shows the grid again with what was wrong, over what was typed.
func (k *call) refusedCells(view ratecard.View, err error, e entered) error {
	status, message, other := k.told(err)
	if other != nil {
		return other
	}
	d, err := k.draft()
	if err != nil {
		return err
	}
	if status == http.StatusConflict {
		message += " " + lastTouch(d)
	}
	e.errors = append(templates.Errors{{Message: message}}, e.errors...)
	return k.showGridOf(status, d, view, e)
}

// lastTouch says who changed a draft last: whose change a stale form met.
func lastTouch(d ratecard.Draft) string {
	return fmt.Sprintf("The last change was by %s, at %s.", d.UpdatedBy, d.UpdatedAt.UTC().Format("15:04:05 UTC"))
}

func (k *call) draftUndo() error {
	d, err := k.draftForm()
	if err != nil {
		return err
	}
	edit, err := strconv.ParseInt(k.r.PostForm.Get("edit"), 10, 64)
	if err != nil {
		return errForm
	}
	view := k.gridView()
	if err := k.prices().Undo(k.r.Context(), d.ID, edit); err != nil {
		return k.refusedCells(view, err, entered{})
	}
	return k.to(gridURL(d, view))
}

// lockedWords says why a draft's rules cannot be changed; "" where this person can.
func (k *call) lockedWords(d ratecard.Draft) string {
	switch d.State {
	case models.RateCardDraft:
		if !k.may(writePricing) {
			return "Your roles let you look at this draft, not change it."
		}
		return ""
	case models.RateCardSubmitted:
		return "This draft waits for approval, and does not change meanwhile. Whoever may publish can take it back."
	case models.RateCardScheduled:
		return "This draft is to be published at its time, and does not change meanwhile. Whoever may publish can take it back."
	case models.RateCardDiscarded:
		return "This draft was discarded. Begin a new one."
	}
	return "This draft was published as " + versionName(d.Version) + ", and does not change any more. Begin a new one."
}
