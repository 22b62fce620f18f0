package pricing

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	view "github.com/pingpost/pingpost/templates/pricing"
)

// updateDraft brings a draft up to date, and says what it could not take over.
func (h *Handlers) updateDraft(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f := publishForm{note: d.Note}
	return h.submitPublish(k, d, f, web.NoStepUp, func() (string, error) {
		kept, err := h.prices(k).Update(k.R.Context(), d.ID, web.FormRowVersion(k))
		if err != nil || len(kept) == 0 {
			return web.DraftURL(d.ID) + "?tab=preview", err
		}
		return "", h.showMergeConflicts(k, kept)
	})
}

// showMergeConflicts shows what a draft that was brought up to date could not take over.
func (h *Handlers) showMergeConflicts(k *web.Request, kept []ratecard.Conflict) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	v := view.MergeConflictsView{}
	if v.Head, err = h.draftHead(k, d, "publish"); err != nil {
		return err
	}
	for _, one := range kept {
		row := view.MergeConflict{Target: one.Target.String(), Yours: "taken out"}
		if one.Yours != nil {
			row.Yours = strings.Join(effectTexts(*one.Yours), ", ")
		}
		v.Kept = append(v.Kept, row)
	}
	return k.Show(http.StatusOK, view.MergeConflicts(v))
}
