package payouts

import (
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

const noPaidLead = "No lead with this ID has earned money. Sandbox leads never do."

func (h *Handlers) newReturnPage(k *web.Request) error {
	return h.showReturnNew(k, http.StatusOK, k.R.URL.Query(), nil)
}

func (h *Handlers) showReturnNew(k *web.Request, status int, f url.Values, mistakes ui.Errors) error {
	days := int(h.Payouts.Policy().ReturnWindow / (24 * time.Hour))
	v := view.ReturnNewView{
		Shell:    k.Shell("Return a lead", allReturns),
		Lead:     web.Short(f.Get("lead")),
		Evidence: f.Get("evidence"),
		Window:   ui.Plural(days, "day", "days"),
		Errors:   mistakes,
	}
	for _, r := range payouts.Reasons {
		v.Reasons = append(v.Reasons, ui.Option{Value: string(r.Reason), Label: ui.Sentence(r.Words)})
	}
	v.Reasons = web.SelectOption(v.Reasons, f.Get("reason"))
	if v.Lead == "" {
		return k.Show(status, view.ReturnNew(v))
	}
	object := leadFilter(f, "lead")
	if object == uuid.Max {
		v.Errors = ui.Errors{{Field: "lead", Message: notALead}}
		return k.Show(http.StatusUnprocessableEntity, view.ReturnNew(v))
	}
	lead, found, err := h.earned(k, object)
	if err != nil {
		return err
	}
	if found {
		v.Earned = &lead
	}
	if len(mistakes) > 0 {
		return k.Show(status, view.ReturnNew(v))
	}
	// Say at once that the lead cannot be returned, not after the user has filled in the form.
	err = h.Payouts.CheckReturn(k.R.Context(), k.Scope, object)
	if err == nil {
		return k.Show(status, view.ReturnNew(v))
	}
	rejected := apperr.As(err)
	switch {
	case rejected != nil && rejected.Code == apperr.NotFound:
		v.Errors = ui.Errors{{Field: "lead", Message: noPaidLead}}
	case rejected != nil && rejected.Code == apperr.Conflict:
		v.Errors = ui.Errors{{Field: "lead", Code: rejected.Reason, Message: rejected.Message}}
	default:
		return err
	}
	v.Earned = nil
	return k.Show(http.StatusUnprocessableEntity, view.ReturnNew(v))
}

func (h *Handlers) requestReturn(k *web.Request) error {
	f := k.R.PostForm
	var mistakes ui.Errors
	lead, err := parseLead(f.Get("lead"))
	if err != nil {
		f.Set("lead", "")
		mistakes = ui.Errors{{Field: "lead", Message: notALead}}
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		Do: func() (string, error) {
			r, err := h.payouts(k).RequestReturn(k.R.Context(), k.Scope, lead, models.ReturnReason(f.Get("reason")),
				f.Get("evidence"))
			return returnURL(r.ID), err
		},
		Show: func(r web.Rejected) error {
			if rejected := apperr.As(r.Err); rejected != nil && rejected.Code == apperr.NotFound {
				r.Status, r.Errors = http.StatusUnprocessableEntity, ui.Errors{{Field: "lead", Message: noPaidLead}}
			}
			return h.showReturnNew(k, r.Status, f, r.Errors)
		},
	})
}
