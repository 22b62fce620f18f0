package pricing

import (
	"strconv"

	"github.com/pingpost/pingpost/admin/web"
)

func (h *Handlers) draftUndo(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	edit, err := strconv.ParseInt(k.R.PostForm.Get("edit"), 10, 64)
	if err != nil {
		return web.ErrForm
	}
	selection := h.gridView(k)
	if err := h.prices(k).Undo(k.R.Context(), d.ID, edit); err != nil {
		return h.showCellErrors(k, selection, err, gridInput{})
	}
	return k.Redirect(gridURL(d, selection))
}
