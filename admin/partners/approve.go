package partners

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/models"
)

func (h *Handlers) approve(k *web.Request) error {
	p, err := h.partner(k)
	if err != nil {
		return err
	}
	return h.setStatus(k, p, models.PartnerApproved)
}

func (h *Handlers) setStatus(k *web.Request, p models.Partner, to models.PartnerStatus) error {
	return web.Submit(k, web.Form{
		Do: func() (string, error) {
			return h.returnPath(k, web.PartnerURL(p.ID)), h.partners(k).SetStatusAt(k.R.Context(), k.Scope, p.ID, web.FormRowVersion(k), to)
		},
		Show: func(r web.Rejected) error {
			for _, one := range r.Errors {
				k.Notices = append(k.Notices, web.Notice{Kind: "bad", Text: one.Message})
			}
			p, err := h.partner(k)
			if err != nil {
				return err
			}
			return h.showAccounts(k, r.Status, p)
		},
	})
}

func (h *Handlers) returnPath(k *web.Request, partner string) string {
	if to := k.R.PostForm.Get("return"); to == partner+"/onboarding" {
		return to
	}
	return partner
}
