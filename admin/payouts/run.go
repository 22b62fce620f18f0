package payouts

import (
	"net/http"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) run(k *web.Request) (r models.PayoutRun, err error) {
	object, err := k.PathID("id", id.Payout)
	if err != nil {
		return r, err
	}
	r, err = h.Payouts.FindRun(k.R.Context(), k.Scope, object)
	return r, web.OrNotFound(err)
}

func (h *Handlers) runPage(k *web.Request) error {
	r, err := h.run(k)
	if err != nil {
		return err
	}
	return h.showRun(k, http.StatusOK, r, nil, nil)
}

func (h *Handlers) showRun(
	k *web.Request, status int, r models.PayoutRun, conflict *ui.Conflict, mistakes ui.Errors,
) error {
	live, err := h.runPart(k, r, mistakes)
	if err != nil {
		return err
	}
	return k.Show(status, view.Run(view.RunView{
		Shell:    k.Shell("Payout run in "+r.Currency, allRuns),
		Live:     live,
		Conflict: conflict,
		Errors:   mistakes,
	}))
}

// runLive renders the part of the page that reloads automatically.
func (h *Handlers) runLive(k *web.Request) error {
	r, err := h.run(k)
	if err != nil {
		return err
	}
	part, err := h.runPart(k, r, nil)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.RunPart(part, k.Now))
}

func (h *Handlers) runPart(k *web.Request, r models.PayoutRun, mistakes ui.Errors) (v view.RunLive, err error) {
	url, name := web.RunURL(r.ID), payouts.RunID(r.ID)
	v = view.RunLive{
		URL:             url,
		LiveURL:         url + "/live",
		ID:              name,
		State:           runState(r),
		Cutoff:          r.Cutoff,
		Minimum:         money.AmountOf(r.MinimumMinor, r.Currency),
		Total:           money.AmountOf(r.TotalMinor, r.Currency),
		Note:            r.Note,
		Reference:       r.Reference,
		CancelReason:    r.CancelReason,
		Entries:         r.Entries,
		Payouts:         r.Payouts,
		Held:            r.Held,
		Prepared:        r.PreparedAt != nil,
		Actions:         runActions(r),
		EntriesURL:      "/payouts?run=" + name,
		Version:         r.RowVersion,
		StepUp:          k.StepUp(),
		Errors:          mistakes,
		ApprovalBlocked: approvalBlocked(k, r),
		CanPay:          k.MayForAllPartners(web.ApprovePayouts) && payouts.CheckPay(r) == nil,
		CanCancel:       k.MayForAllPartners(web.WritePayouts) && payouts.CheckCancel(r) == nil,
	}
	if k.MayForAllPartners(web.ExportPayouts) && payouts.CheckPayments(r) == nil {
		v.Payments = ui.Download{
			URL:   url + "/payments.csv",
			Label: "Download payments CSV",
			Holds: "The file contains " + ui.Plural(r.Payouts, "payment", "payments") +
				" and the payees' legal names.",
		}
	}
	if r.State == models.RunPreparing {
		work, found, err := h.Jobs.Latest(k.R.Context(), r.ID)
		if found {
			v.Work = k.JobStatus(work)
		}
		return v, err
	}
	if r.State == models.RunPrepared {
		if v.Exceptions, err = h.runExceptions(k, r); err != nil {
			return v, err
		}
	}
	err = h.runStatements(k, r, &v)
	return v, err
}

func approvalBlocked(k *web.Request, r models.PayoutRun) string {
	if !k.MayForAllPartners(web.ApprovePayouts) {
		return "You do not have permission to approve payouts. Another user must approve this payout run."
	}
	if err := payouts.CheckApprove(r, k.By); err != nil {
		return apperr.As(err).Message
	}
	return ""
}

// runState returns the state of a run as pages show it. It is "empty" for a run that was cancelled
// because it had nothing to pay.
func runState(r models.PayoutRun) string {
	if r.State == models.RunCancelled && r.PreparedAt != nil && r.Payouts == 0 {
		return "empty"
	}
	return string(r.State)
}

func runActions(r models.PayoutRun) (all []view.RunAction) {
	for _, d := range []struct {
		what, who string
		at        *time.Time
	}{
		{"Started by", r.Preparer, &r.CreatedAt},
		{"Preparation finished", "", r.PreparedAt},
		{"Approved by", r.Approver, r.ApprovedAt},
		{"Marked as paid by", r.Payer, r.PaidAt},
	} {
		if d.at != nil {
			all = append(all, view.RunAction{What: d.what, Actor: d.who, At: *d.at})
		}
	}
	return all
}

func outcomeOptions(run models.RunState) []ui.Option {
	var pays string
	switch run {
	case models.RunPaid:
		pays = "Paid"
	case models.RunCancelled:
		pays = "Would have been paid"
	default:
		pays = "To be paid"
	}
	return []ui.Option{
		{Value: string(models.StatementPays), Label: pays},
		{Value: string(models.StatementBelowMinimum), Label: "Held: below minimum payout"},
		{Value: string(models.StatementNegative), Label: "Held: negative"},
		{Value: string(models.StatementEven), Label: "Net is zero"},
	}
}

func (h *Handlers) runStatements(k *web.Request, r models.PayoutRun, v *view.RunLive) error {
	q := k.R.URL.Query()
	query := payouts.StatementQuery{
		Run:     r.ID,
		Outcome: models.StatementOutcome(web.SearchText(q, "outcome")),
		Page:    web.TextPage(q),
	}
	all, newer, older, err := h.Payouts.Statements(k.R.Context(), k.Scope, query)
	if err != nil {
		return err
	}
	v.Outcomes = web.SelectOption(outcomeOptions(r.State), q.Get("outcome"))
	v.List = ui.ListState{Filtered: web.IsFiltered(q, "outcome"), ClearURL: v.URL}
	for _, s := range all {
		v.Statements = append(v.Statements, view.StatementRow{
			Account:  ui.Link{Label: s.Identifier, URL: web.StatementURL(r.ID, s.PartnerID)},
			Partner:  s.PartnerName,
			Outcome:  string(s.Outcome),
			Entries:  s.Entries,
			Earned:   money.AmountOf(s.AccruedMinor, r.Currency),
			Returned: money.AmountOf(s.ReturnedMinor, r.Currency),
			Adjusted: money.AmountOf(s.AdjustedMinor, r.Currency),
			Net:      money.AmountOf(s.NetMinor, r.Currency),
		})
	}
	v.Pager = web.Pager(v.URL, q, all, newer, older, func(s payouts.AccountStatement) string { return s.Identifier })
	v.Pager.BySize = true
	return nil
}

// runConflict describes the last change to a run. If the user made that change with the same action, the
// field Already of the result is true. This happens, for example, if a form is submitted twice.
func (h *Handlers) runConflict(k *web.Request, r models.PayoutRun, action string) (*ui.Conflict, error) {
	last, err := k.LastChange(audit.Filter{Kind: "payout_run", Object: payouts.RunID(r.ID)})
	conflict := &ui.Conflict{Actor: last.Actor, At: last.At, Changes: web.Changes(last.Before, last.After)}
	if last.StaffID != nil && *last.StaffID == k.Session.Staff.ID {
		conflict.Actor, conflict.Already = "You", last.Action == action
	}
	return conflict, err
}

// runRejected shows the current run with the reason why the action was rejected. If another change was
// made after the form was opened, it shows that change instead.
func (h *Handlers) runRejected(k *web.Request, action string, rejected error) error {
	return k.Reject(rejected, web.Form{Show: func(r web.Rejected) error {
		run, err := h.run(k)
		if err != nil {
			return err
		}
		if !web.IsStale(rejected) {
			return h.showRun(k, r.Status, run, nil, r.Errors)
		}
		conflict, err := h.runConflict(k, run, action)
		if err != nil {
			return err
		}
		return h.showRun(k, r.Status, run, conflict, nil)
	}})
}
