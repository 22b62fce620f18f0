package payouts

import (
	"context"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/scope"
)

func (h *Handlers) acceptReturn(k *web.Request) error {
	return h.decideReturn(k, h.payouts(k).AcceptReturn)
}

func (h *Handlers) rejectReturn(k *web.Request) error {
	return h.decideReturn(k, h.payouts(k).RejectReturn)
}

type decision = func(ctx context.Context, sc scope.Scope, ret uuid.UUID, answer string) error

func (h *Handlers) decideReturn(k *web.Request, decide decision) error {
	ret, err := h.requestedReturn(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return returnURL(ret.ID), decide(k.R.Context(), k.Scope, ret.ID, k.R.PostForm.Get("answer"))
		},
		Show: func(r web.Rejected) error {
			if ret, err = h.requestedReturn(k); err != nil { // another user may have decided the return
				return err
			}
			return h.showReturn(k, r.Status, ret, r.Errors)
		},
	})
}
