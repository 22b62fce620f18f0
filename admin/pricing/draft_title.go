package pricing

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/ratecard"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) draftTitlePage(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	return h.showDraftTitle(k, http.StatusOK, d, view.DraftFormView{Title: d.Title, Version: d.RowVersion})
}

func (h *Handlers) showDraftTitle(k *web.Request, status int, d ratecard.Draft, v view.DraftFormView) error {
	address := web.DraftURL(d.ID)
	v.Shell, v.Action, v.Cancel, v.Submit = k.Shell("Rename draft", allPricing, ui.Link{
		Label: web.DraftName(d.RateCard),
		URL:   address,
	}), address+"/title", address, "Rename draft"
	return k.Show(status, view.DraftForm(v))
}

func (h *Handlers) renameDraft(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	title := k.R.PostForm.Get("title")
	return k.Submit(web.Form{
		Do: func() (string, error) {
			return web.DraftURL(d.ID), h.prices(k).Rename(k.R.Context(), d.ID, k.FormRowVersion(), title)
		},
		Reload: h.reloadDraft(k, &d),
		Show: func(r web.Rejected) error {
			return h.showDraftTitle(k, r.Status, d, view.DraftFormView{
				Title:    web.Short(title),
				Version:  r.Version,
				Conflict: r.Conflict,
				Errors:   r.Errors,
			})
		},
	})
}
