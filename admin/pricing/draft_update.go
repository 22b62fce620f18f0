package pricing

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	view "github.com/pingpost/pingpost/templates/pricing"
)

// updateDraft bases a draft on the current version. It shows conflicts between the draft and that
// version, if any.
func (h *Handlers) updateDraft(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f := publishForm{note: d.Note}
	return h.submitPublish(k, d, f, web.NoStepUp, func() (string, error) {
		conflicts, err := h.prices(k).Update(k.R.Context(), d.ID, k.FormRowVersion())
		if err != nil || len(conflicts) == 0 {
			return web.DraftURL(d.ID) + "?tab=preview", err
		}
		return "", h.showMergeConflicts(k, conflicts)
	})
}

// showMergeConflicts lists the draft's changes that were lost when the draft was updated to the current
// version.
func (h *Handlers) showMergeConflicts(k *web.Request, conflicts []ratecard.Conflict) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	v := view.MergeConflictsView{}
	if v.Head, err = h.draftHead(k, d, "publish"); err != nil {
		return err
	}
	for _, conflict := range conflicts {
		row := view.MergeConflict{Target: conflict.Target.String(), Yours: "removed"}
		if conflict.Yours != nil {
			row.Yours = strings.Join(conflict.Yours.Effects(), ", ")
		}
		v.Conflicts = append(v.Conflicts, row)
	}
	return k.Show(http.StatusOK, view.MergeConflicts(v))
}
