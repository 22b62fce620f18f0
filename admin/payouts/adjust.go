package payouts

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) adjustPage(k *web.Request) error {
	return h.showAdjust(k, http.StatusOK, k.R.URL.Query(), nil)
}

// showAdjust shows the form. The parameter f contains the values of its fields. Each form contains an
// adjustment id, so that submitting the form twice adds only one adjustment.
func (h *Handlers) showAdjust(k *web.Request, status int, f url.Values, mistakes ui.Errors) error {
	v := view.AdjustView{
		Shell:        k.Shell("Adjust a balance", allEntries),
		Partner:      web.Short(f.Get("partner")),
		AdjustmentID: f.Get("own"),
		Amount:       web.Short(f.Get("amount")),
		Lead:         web.Short(f.Get("lead")),
		Why:          f.Get("why"),
		Cancel:       "/payouts",
		StepUp:       k.StepUp(),
		Errors:       mistakes,
	}
	if _, err := id.Parse(id.Adjustment, v.AdjustmentID); err != nil {
		v.AdjustmentID = id.Format(id.Adjustment, h.Payouts.NewAdjustmentID())
	}
	if strings.TrimSpace(v.Partner) == "" {
		return k.Show(status, view.Adjust(v))
	}
	p, problem, err := k.FindPartner(k.Scope, "partner", v.Partner)
	if err != nil {
		return err
	}
	if problem != nil {
		v.Errors = ui.Errors{web.AtField(*problem, "partner")}
		return k.Show(http.StatusUnprocessableEntity, view.Adjust(v))
	}
	v.Partner, v.Name = p.Slug, p.Name
	accounts, err := h.Partners.Accounts(k.R.Context(), p)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		if !a.Sandbox {
			v.Accounts = append(v.Accounts, ui.Option{Value: id.Format(id.Account, a.ID), Label: a.Identifier})
		}
	}
	v.Accounts = web.SelectOption(v.Accounts, f.Get("account"))
	currency := f.Get("currency")
	if currency == "" {
		if currency, err = h.mainCurrency(k, p.ID); err != nil {
			return err
		}
	}
	v.Currencies = currencyOptions(currency)
	if v.Adjustable, err = h.payouts(k).Adjustable(k.R.Context()); err != nil {
		return err
	}
	return k.Show(status, view.Adjust(v))
}

// mainCurrency returns the currency in which the partner has the most ledger entries, or "" if it has none.
func (h *Handlers) mainCurrency(k *web.Request, partner uuid.UUID) (code string, err error) {
	sums, err := h.Payouts.Sums(k.R.Context(), k.Scope, payouts.Filter{Partner: partner})
	if err != nil || len(sums) == 0 {
		return "", err
	}
	most := slices.MaxFunc(sums, func(a, b payouts.Sum) int { return cmp.Compare(a.Entries, b.Entries) })
	return most.Currency.String(), nil
}

func (h *Handlers) adjust(k *web.Request) error {
	f := k.R.PostForm
	a, mistakes := readAdjustment(f)
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			made, err := h.payouts(k).Adjust(k.R.Context(), k.Scope, a)
			if errors.Is(err, payouts.ErrAdjusted) {
				earlier, readErr := h.Payouts.Adjustment(k.R.Context(), k.Scope, a.ID)
				switch rejected := apperr.As(readErr); {
				case readErr == nil && a.Same(earlier.Adjustment):
					made, err = earlier.Adjustment, nil
				case readErr == nil || rejected != nil && rejected.Code == apperr.NotFound:
					f.Set("own", "") // showAdjust generates a new id
				default:
					return "", readErr
				}
			}
			if made.State == models.AdjustmentWithinLimit {
				return "/payouts?account=" + id.Format(id.Account, a.Account), err
			}
			return adjustmentURL(a.ID), err
		},
		Show: func(r web.Rejected) error {
			if r.Err != nil && f.Get("own") == "" {
				r.Errors = ui.Errors{{Message: "You already submitted this form with different values. " +
					"Submit the form again to make this adjustment too."}}
			}
			return h.showAdjust(k, r.Status, f, r.Errors)
		},
	})
}

func readAdjustment(f url.Values) (a payouts.NewAdjustment, mistakes ui.Errors) {
	mistake := func(name, message string) {
		mistakes = append(mistakes, ui.FieldError{Field: name, Message: message})
	}
	var err error
	if a.ID, err = id.Parse(id.Adjustment, f.Get("own")); err != nil {
		mistake("", "The form was incomplete. Submit it again.")
	}
	if a.Account, err = id.Parse(id.Account, f.Get("account")); err != nil {
		mistake("account", "Choose one of the partner's accounts.")
	}
	if a.Amount.Minor, err = money.ParseTyped(strings.TrimSpace(f.Get("amount"))); err != nil {
		mistake("amount", "Enter an amount with at most two decimals, such as 12.50 or -12.50.")
	}
	if a.Amount.Currency, err = money.ParseCurrency(f.Get("currency")); err != nil {
		mistake("currency", "Choose a currency.")
	}
	if lead := strings.TrimSpace(f.Get("lead")); lead != "" {
		if a.Lead, err = parseLead(lead); err != nil {
			mistake("lead", notALead)
		}
	}
	a.Reason = f.Get("why")
	return a, mistakes
}
