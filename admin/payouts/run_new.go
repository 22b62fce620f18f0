package payouts

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

// CutoffForm is the time format in which browsers submit the cutoff of a payout run.
const CutoffForm = "2006-01-02T15:04"

func (h *Handlers) newRunPage(k *web.Request) error {
	now := k.Now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return h.showRunNew(k, http.StatusOK, view.RunNewView{
		Currencies: currencyOptions(""),
		Cutoff:     month.Format(CutoffForm),
	})
}

func (h *Handlers) showRunNew(k *web.Request, status int, v view.RunNewView) error {
	if err := h.requirePlatformScope(k); err != nil {
		return err
	}
	v.Shell, v.StepUp = k.Shell("New payout run", allRuns), k.StepUp()
	return k.Show(status, view.RunNew(v))
}

func (h *Handlers) beginRun(k *web.Request) error {
	if err := h.requirePlatformScope(k); err != nil {
		return err
	}
	f := k.R.PostForm
	v := view.RunNewView{
		Currencies: currencyOptions(f.Get("currency")),
		Cutoff:     web.Short(f.Get("cutoff")),
		Minimum:    web.Short(f.Get("minimum")),
		Note:       f.Get("note"),
	}
	n, mistakes := readRun(f)
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			r, err := h.payouts(k).BeginRun(k.R.Context(), k.Scope, n)
			return web.RunURL(r.ID), err
		},
		Show: func(r web.Rejected) error {
			v.Errors = r.Errors
			return h.showRunNew(k, r.Status, v)
		},
	})
}

func readRun(f url.Values) (n payouts.NewRun, mistakes ui.Errors) {
	n.Note = f.Get("note")
	n.Currency, _ = money.ParseCurrency(f.Get("currency")) // BeginRun rejects an invalid currency
	var wrong string
	if n.Cutoff, wrong = web.ParseTime(f.Get("cutoff")); wrong != "" {
		mistakes = append(mistakes, ui.FieldError{Field: "cutoff", Message: wrong})
	}
	if text := strings.TrimSpace(f.Get("minimum")); text != "" {
		var err error
		if n.Minimum, err = money.ParseTyped(text); err != nil {
			mistakes = append(mistakes, ui.FieldError{
				Field:   "minimum",
				Message: "Enter an amount with at most two decimals, such as 25.00, or leave the field empty.",
			})
		}
	}
	return n, mistakes
}
