package pricing

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) market(k *web.Request, v ratecard.GridView) (pricingrules.Market, error) {
	at, ok := h.Prices.Markets().ByCode(v.Country)
	if !ok {
		return pricingrules.Market{}, web.ErrForm
	}
	return h.Prices.Markets().At(at), nil
}

// cellView is like gridView, but the market and the urgency in the form take precedence over those in
// the URL.
func (h *Handlers) cellView(k *web.Request) ratecard.GridView {
	v := h.gridView(k)
	for name, into := range map[string]*string{"country": &v.Country, "urgency": &v.Urgency} {
		if k.R.PostForm.Has(name) {
			*into = web.SearchText(k.R.PostForm, name)
		}
	}
	return v
}

// draftCell sets or clears the base price of one cell.
func (h *Handlers) draftCell(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f, selection := k.R.PostForm, h.cellView(k)
	market, err := h.market(k, selection)
	if err != nil {
		return err
	}
	target := pricingrules.Target{
		Industry: f.Get("industry"),
		Category: f.Get("category"),
		Country:  market.Code,
		Urgency:  selection.Urgency,
	}
	if (target.Industry == "") == (target.Category == "") {
		return web.ErrForm
	}
	old, err := strconv.ParseInt(f.Get("was"), 10, 64)
	if err != nil {
		return web.ErrForm
	}
	key := web.Short(rowKey(ratecard.GridRow{BaseRow: pricingrules.BaseRow{Target: target}}))
	minor, wrong := parseBase(f.Get("base"), market)
	var mistakes ui.Errors
	if wrong.Message != "" {
		mistakes = ui.Errors{wrong}
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		Do: func() (string, error) {
			if err := h.prices(k).SetBase(k.R.Context(), d.ID, target, old, minor); err != nil {
				return "", err
			}
			return "", h.cellSaved(k, d, selection, target, key)
		},
		Show: func(r web.Rejected) error {
			e := gridInput{
				typed: map[string]string{key: web.Short(f.Get("base"))},
				wrong: map[string]string{key: r.Message()},
			}
			if r.Err == nil { // otherwise the page shows the current base price of the cell
				e.was = map[string]int64{key: old}
			}
			e.errors = ui.Errors{{Field: "base-" + key, Code: r.Errors[0].Code, Message: key + ": " + r.Message()}}
			return h.showCell(k, r.Status, selection, target, e)
		},
	})
}

// cellSaved responds after a cell has been saved. If a script sent the request, the response contains
// only the rows that the change affects. Otherwise, the browser is redirected to the cell in the grid.
func (h *Handlers) cellSaved(
	k *web.Request, d ratecard.Draft, selection ratecard.GridView, target pricingrules.Target, key string,
) error {
	if k.R.PostForm.Get("part") == "" {
		return k.Redirect(gridURL(d, selection) + "#f-base-" + key)
	}
	return h.showCell(k, http.StatusOK, selection, target, gridInput{})
}

// showCell shows the current grid. If a script sent the request, the response contains only the rows
// that the change affects.
func (h *Handlers) showCell(
	k *web.Request, status int, selection ratecard.GridView, target pricingrules.Target, e gridInput,
) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	if k.R.PostForm.Get("part") == "" {
		return h.showGridOf(k, status, d, selection, e)
	}
	// A change to an industry's cell affects only its own row. A change to a category's cell also
	// affects the rows of its industries.
	part := ratecard.GridView{
		Country:  selection.Country,
		Urgency:  selection.Urgency,
		Category: target.Category,
		Search:   target.Industry,
	}
	v, err := h.draftGrid(k, d, part, e)
	if err != nil {
		return err
	}
	address := web.DraftURL(d.ID)
	v.Grid.Action, v.UndoURL = address+"/cell?"+viewQuery(selection), address+"/undo?"+viewQuery(selection)
	return k.Show(status, view.DraftGridPart(v))
}

func (h *Handlers) showGridOf(
	k *web.Request, status int, d ratecard.Draft, selection ratecard.GridView, e gridInput,
) error {
	v, err := h.draftGrid(k, d, selection, e)
	if err != nil {
		return err
	}
	return k.Show(status, view.DraftGrid(v))
}

// draftCells changes many cells at once. If one cell cannot be changed, none are.
func (h *Handlers) draftCells(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	selection := h.cellView(k)
	market, err := h.market(k, selection)
	if err != nil {
		return err
	}
	switch k.R.PostForm.Get("mode") {
	case "paste":
		return h.paste(k, d, selection, market)
	case "bulk":
		return h.bulk(k, d, selection, market)
	}
	return web.ErrForm
}

func (h *Handlers) showCellErrors(k *web.Request, selection ratecard.GridView, err error, e gridInput) error {
	return k.Reject(err, web.Form{Show: func(r web.Rejected) error {
		d, err := h.draft(k)
		if err != nil {
			return err
		}
		message := r.Message()
		if r.Status == http.StatusConflict {
			message += " " + lastChangeText(d)
		}
		e.errors = append(ui.Errors{{Code: r.Errors[0].Code, Message: message}}, e.errors...)
		return h.showGridOf(k, r.Status, d, selection, e)
	}})
}

func lastChangeText(d ratecard.Draft) string {
	return fmt.Sprintf("%s made the last change at %s.", d.UpdatedBy, d.UpdatedAt.UTC().Format("15:04:05 UTC"))
}

// lockedText explains why the user cannot change a draft's rules. It returns "" if the user can.
func (h *Handlers) lockedText(k *web.Request, d ratecard.Draft) string {
	switch d.State {
	case models.RateCardDraft:
		if !k.May(web.WritePricing) {
			return "Your roles allow you to view this draft, but not to change it."
		}
		return ""
	case models.RateCardSubmitted:
		return "This draft is waiting for approval and cannot be changed. Users who can publish prices can withdraw it."
	case models.RateCardScheduled:
		return "This draft is scheduled and cannot be changed. Users who can publish prices can withdraw it."
	case models.RateCardDiscarded:
		return "This draft was discarded. To change prices, create a new draft."
	default:
		return "This draft was published as " + web.VersionName(d.Version) +
			" and can no longer be changed. To change prices, create a new draft."
	}
}
