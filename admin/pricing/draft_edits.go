package pricing

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/pricing"
)

func (h *Handlers) editsTab(k *web.Request, d ratecard.Draft) error {
	head, err := h.draftHead(k, d, "edits")
	if err != nil {
		return err
	}
	q := k.R.URL.Query()
	found, newer, older, err := h.Prices.Edits(k.R.Context(), d.ID, web.NumberPage(q))
	if err != nil {
		return err
	}
	v := view.DraftEditsView{Head: head}
	v.Pager = web.Pager(head.URL, q, found, newer, older, func(e models.RateCardEdit) string { return web.Number(e.ID) })
	for _, e := range found {
		v.Edits = append(v.Edits, view.EditRow{
			At:       e.At,
			Actor:    e.Editor,
			What:     e.Summary,
			Rules:    e.Rules,
			Undone:   web.TimeOf(e.UndoneAt),
			UndoneBy: e.UndoneBy,
		})
	}
	return k.Show(http.StatusOK, view.DraftEdits(v))
}
