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
	return k.Submit(web.Form{
		Do: func() (string, error) {
			url := web.PartnerURL(p.ID)
			err := h.partners(k).SetStatusAt(k.R.Context(), k.Scope, p.ID, k.FormRowVersion(), to)
			return h.returnPath(k, url, url), err
		},
		Show: func(r web.Rejected) error {
			for _, mistake := range r.Errors {
				k.Notices = append(k.Notices, web.Notice{Kind: "bad", Text: mistake.Message})
			}
			p, err := h.partner(k)
			if err != nil {
				return err
			}
			return h.showAccounts(k, r.Status, p)
		},
	})
}
