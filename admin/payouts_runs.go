package admin

import (
	"net/http"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/templates"
)

// wholePlatform has what is the whole platform's be no page for whoever sees a part of it.
func (k *call) wholePlatform() error {
	if !k.scope.All() {
		return errNoPage
	}
	return nil
}

func (k *call) runsPage() error {
	if err := k.wholePlatform(); err != nil {
		return err
	}
	q := k.r.URL.Query()
	all, newer, older, err := k.Payouts.Runs(k.r.Context(), k.scope, cursor(q, "before", id.Payout), cursor(q, "after", id.Payout), keyedPage)
	if err != nil {
		return err
	}
	v := templates.RunsView{Shell: k.shell("Payout runs"), Tabs: k.payoutTabs("runs")}
	if k.everywhere(writePayouts) {
		v.NewURL = "/payouts/runs/new"
	}
	for _, r := range all {
		v.Runs = append(v.Runs, templates.RunRow{
			ID: templates.Link{Label: payouts.RunID(r.ID), URL: runURL(r.ID)}, State: runState(r), Cutoff: r.Cutoff, Made: r.MadeAt, Preparer: r.Preparer,
			Payouts: r.Payouts, Held: r.Held, Prepared: r.PreparedAt != nil, Total: amountOf(r.TotalMinor, r.Currency),
		})
	}
	v.Pager = pagerBetween("/payouts/runs", q, newer, older, len(all), func(i int) string { return payouts.RunID(all[i].ID) })
	return k.show(http.StatusOK, templates.Runs(v))
}

// cutoffForm is how a browser sends a time.
const cutoffForm = "2006-01-02T15:04"

func (k *call) runNewPage() error {
	now := k.now.UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	return k.showRunNew(http.StatusOK, templates.RunNewView{Currencies: currencyOptions(""), Cutoff: month.Format(cutoffForm)})
}

func (k *call) showRunNew(status int, v templates.RunNewView) error {
	if err := k.wholePlatform(); err != nil {
		return err
	}
	v.Shell, v.StepUp = k.shell("New payout run", allRuns), k.stepUp()
	return k.show(status, templates.RunNew(v))
}

func (k *call) runNew() error {
	if err := k.wholePlatform(); err != nil {
		return err
	}
	if err := k.form(); err != nil {
		return err
	}
	f := k.r.PostForm
	v := templates.RunNewView{Currencies: currencyOptions(f.Get("currency")), Cutoff: short(f.Get("cutoff")), Minimum: short(f.Get("minimum")), Note: f.Get("note")}
	n := payouts.NewRun{Note: f.Get("note")}
	n.Currency, _ = money.ParseCurrency(f.Get("currency")) // the service asks for one
	var wrong string
	if n.Cutoff, wrong = publishTime(f.Get("cutoff")); wrong != "" {
		v.Errors = append(v.Errors, templates.FieldError{Field: "cutoff", Message: wrong})
	}
	if text := strings.TrimSpace(f.Get("minimum")); text != "" {
		var err error
		if n.Minimum, err = money.ParseDecimal(text); err != nil {
			v.Errors = append(v.Errors, templates.FieldError{Field: "minimum", Message: "Write digits and at most two decimals, like 25.00; or leave it empty."})
		}
	}
	proof, err := k.proven()
	if err != nil {
		return err
	}
	if v.Errors = append(v.Errors, proof...); len(v.Errors) > 0 {
		return k.showRunNew(http.StatusUnprocessableEntity, v)
	}
	r, err := k.payouts().PrepareRun(k.r.Context(), k.scope, n)
	if err == nil {
		return k.to(runURL(r.ID))
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	v.Errors = mistakes
	return k.showRunNew(status, v)
}
