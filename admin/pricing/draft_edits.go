package pricing

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	view "github.com/pingpost/pingpost/templates/pricing"
)

func (h *Handlers) editsTab(k *web.Request, d ratecard.Draft) error {
	head, err := h.draftHead(k, d, "edits")
	if err != nil {
		return err
	}
	q := k.R.URL.Query()
	found, newer, older, err := h.Prices.Edits(k.R.Context(), d.ID, web.KeyPage(q))
	if err != nil {
		return err
	}
	v := view.DraftEditsView{Head: head}
	if n := len(found); n > 0 {
		v.Pager = web.KeyPager(head.URL, q, newer, older, found[0].ID, found[n-1].ID)
	}
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
