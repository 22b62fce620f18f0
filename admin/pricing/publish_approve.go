package pricing

import (
	"github.com/pingpost/pingpost/admin/web"
)

func (h *Handlers) approveDraft(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f := publishForm{note: d.Note}
	return h.submitPublish(k, d, f, web.StepUpRequired, func() (string, error) {
		card, err := h.prices(k).Approve(k.R.Context(), d.ID, k.FormRowVersion())
		return publishedURL(card), err
	})
}

func (h *Handlers) withdrawDraft(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	f := publishForm{note: d.Note}
	return h.submitPublish(k, d, f, web.NoStepUp, func() (string, error) {
		return web.DraftURL(d.ID) + "?tab=publish", h.prices(k).Withdraw(k.R.Context(), d.ID, k.FormRowVersion())
	})
}
