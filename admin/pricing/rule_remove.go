package pricing

import (
	"github.com/pingpost/pingpost/admin/web"
)

func (h *Handlers) removeRule(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	position, ok := h.position(k)
	if !ok {
		return web.ErrNotFound
	}
	sheet, err := h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	if err != nil {
		return err
	}
	at := sheet.RuleIndex(position)
	if at < 0 {
		return web.ErrNotFound
	}
	return h.submitRule(k, d, position, nil, ruleForm(sheet.Card.Rules[at]), func() error {
		return h.prices(k).DropRule(k.R.Context(), d.ID, k.FormRowVersion(), position)
	})
}
