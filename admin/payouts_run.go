package admin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// run is the one that the address names.
func (k *call) run() (r models.PayoutRun, err error) {
	object, err := k.objectOf(id.Payout, "id")
	if err != nil {
		return r, err
	}
	r, err = k.Payouts.Run(k.r.Context(), k.scope, object)
	return r, orNoPage(err)
}

// runForm reads a form about it.
func (k *call) runForm() (r models.PayoutRun, err error) {
	if err := k.form(); err != nil {
		return r, err
	}
	return k.run()
}

func (k *call) runPage() error {
	r, err := k.run()
	if err != nil {
		return err
	}
	return k.showRun(http.StatusOK, r, nil, nil)
}

func (k *call) showRun(status int, r models.PayoutRun, conflict *templates.Conflict, mistakes templates.Errors) error {
	live, err := k.runPart(r, mistakes)
	if err != nil {
		return err
	}
	return k.show(status, templates.Run(templates.RunView{Shell: k.shell("Payout run in "+r.Currency, allRuns), Live: live, Conflict: conflict, Errors: mistakes}))
}

// runLive is the part of the page that comes anew by itself.
func (k *call) runLive() error {
	r, err := k.run()
	if err != nil {
		return err
	}
	part, err := k.runPart(r, nil)
	if err != nil {
		return err
	}
	return k.show(http.StatusOK, templates.RunPart(part, k.now))
}

func (k *call) runPart(r models.PayoutRun, mistakes templates.Errors) (v templates.RunLive, err error) {
	url, name := runURL(r.ID), payouts.RunID(r.ID)
	v = templates.RunLive{
		URL: url, LiveURL: url + "/live", ID: name, State: runState(r), Cutoff: r.Cutoff, Minimum: amountOf(r.MinimumMinor, r.Currency), Total: amountOf(r.TotalMinor, r.Currency),
		Note: r.Note, Reference: r.Reference, EndedWhy: r.EndedWhy, Entries: r.Entries, Payouts: r.Payouts, Held: r.Held, Prepared: r.PreparedAt != nil, Deeds: runDeeds(r),
		EntriesURL: "/payouts?run=" + name, Version: int64(r.RowVersion), StepUp: k.stepUp(), Errors: mistakes,
		OwnRun: r.PreparerID == k.by.Staff, CanApprove: k.everywhere(approvePayouts), CanPay: k.everywhere(approvePayouts) && r.State == models.RunApproved,
		CanCancel: k.everywhere(writePayouts) && cancellable(r),
	}
	if k.everywhere(exportPayouts) && payable(r) == nil {
		v.Payments = templates.Download{URL: url + "/payments.csv", Label: "Payments CSV", Holds: "What to pay to whom: " + countWords(int64(r.Payouts), false, "payment", "payments") + ", with each partner's legal name."}
	}
	if r.State == models.RunPreparing {
		work, found, err := k.Jobs.Of(k.r.Context(), r.ID)
		if found {
			v.Work = k.workStatus(work)
		}
		return v, err
	}
	return v, k.runStatements(r, &v)
}

// runState is the state that pages show: a cancelled run that had nothing to pay is empty.
func runState(r models.PayoutRun) string {
	if r.State == models.RunCancelled && r.PreparedAt != nil && r.Payouts == 0 {
		return "empty"
	}
	return string(r.State)
}

func runDeeds(r models.PayoutRun) (all []templates.RunDeed) {
	for _, d := range []struct {
		what, who string
		at        *time.Time
	}{{"Begun by", r.Preparer, &r.MadeAt}, {"Prepared", "the service", r.PreparedAt}, {"Approved by", r.Approver, r.ApprovedAt}, {"Paid by", r.Payer, r.PaidAt}} {
		if d.at != nil {
			all = append(all, templates.RunDeed{What: d.what, Who: d.who, At: *d.at})
		}
	}
	return all
}

func outcomeOptions(run models.RunState) []templates.Option {
	pays := "To be paid"
	switch run {
	case models.RunPaid:
		pays = "Paid"
	case models.RunCancelled:
		pays = "Would have been paid"
	}
	return []templates.Option{
		{Value: string(models.StatementPays), Label: pays}, {Value: string(models.StatementBelowMinimum), Label: "Held: below the minimum"},
		{Value: string(models.StatementNegative), Label: "Held: below zero"}, {Value: string(models.StatementEven), Label: "Comes to nothing"},
	}
}

func (k *call) runStatements(r models.PayoutRun, v *templates.RunLive) error {
	q := k.r.URL.Query()
	query := payouts.StatementQuery{Run: r.ID, Outcome: models.StatementOutcome(typed(q, "outcome")), Before: typed(q, "before"), After: typed(q, "after"), Size: keyedPage}
	all, newer, older, err := k.Payouts.Statements(k.r.Context(), k.scope, query)
	if err != nil {
		return err
	}
	v.Outcomes = chosen(outcomeOptions(r.State), q.Get("outcome"))
	v.List = templates.ListState{Filtered: filtered(q, "outcome"), ClearURL: v.URL}
	for _, s := range all {
		v.Statements = append(v.Statements, templates.StatementRow{
			Account: templates.Link{Label: s.Identifier, URL: statementURL(r.ID, s.PartnerID)}, Partner: s.PartnerName, Outcome: string(s.Outcome), Entries: s.Entries,
			Earned: amountOf(s.AccruedMinor, r.Currency), Returned: amountOf(s.ReturnedMinor, r.Currency), Adjusted: amountOf(s.AdjustedMinor, r.Currency), Comes: amountOf(s.NetMinor, r.Currency),
		})
	}
	v.Pager = pagerBetween(v.URL, q, newer, older, len(all), func(i int) string { return all[i].Identifier })
	v.Pager.BySize = true
	return nil
}

func (k *call) approveRun() error {
	r, err := k.runForm()
	if err != nil {
		return err
	}
	mistakes, err := k.proven()
	if err != nil {
		return err
	}
	if len(mistakes) > 0 {
		return k.showRun(http.StatusUnprocessableEntity, r, nil, mistakes)
	}
	if err := k.payouts().ApproveRun(k.r.Context(), k.scope, r.ID, k.version()); err != nil {
		return k.runRefused("payout_run.approve", err)
	}
	return k.to(runURL(r.ID))
}

// runConflict is what was done to a run while a form was open, perhaps by the form itself:
// sent twice, it finds its own deed done.
func (k *call) runConflict(r models.PayoutRun, action string) (*templates.Conflict, error) {
	last, err := k.lastDeed(audit.Filter{Kind: "payout_run", Object: payouts.RunID(r.ID)})
	conflict := &templates.Conflict{Who: last.Actor, At: last.At, Changes: changes(last.Before, last.After)}
	if last.StaffID != nil && *last.StaffID == k.session.Staff.ID {
		conflict.Who, conflict.Already = "You", last.Action == action
	}
	return conflict, err
}

// runRefused shows the run as it is by now, and what was done to it since the form was
// made that asked for the action.
func (k *call) runRefused(action string, refused error) error {
	status, mistakes, other := k.mistakes(refused)
	if other != nil {
		return other
	}
	r, err := k.run()
	if err != nil {
		return err
	}
	if apperr.As(refused).Reason != "stale" {
		return k.showRun(status, r, nil, mistakes)
	}
	conflict, err := k.runConflict(r, action)
	if err != nil {
		return err
	}
	return k.showRun(status, r, conflict, nil)
}

func (k *call) payRunPage() error {
	r, err := k.run()
	if err != nil {
		return err
	}
	return k.showPayRun(http.StatusOK, r, nil)
}

func (k *call) showPayRun(status int, r models.PayoutRun, mistakes templates.Errors) error {
	if r.State != models.RunApproved {
		return k.to(runURL(r.ID)) // which says what comes first
	}
	total := amountOf(r.TotalMinor, r.Currency)
	return k.show(status, templates.RunPay(templates.RunPayView{
		Shell: k.shell("Payout run is paid", allRuns, templates.Link{Label: payouts.RunID(r.ID), URL: runURL(r.ID)}), URL: runURL(r.ID), Total: total, Payouts: r.Payouts, Typed: total.Decimal(),
		Version: int64(r.RowVersion), Reference: short(k.r.PostForm.Get("reference")), Name: short(k.r.PostForm.Get("name")), StepUp: k.stepUp(), Errors: mistakes,
	}))
}

func (k *call) payRun() error {
	r, err := k.runForm()
	if err != nil {
		return err
	}
	if r.RowVersion != k.version() || r.State != models.RunApproved {
		return k.runRefused("payout_run.pay", payouts.ErrRunStale)
	}
	var mistakes templates.Errors
	total := amountOf(r.TotalMinor, r.Currency).Decimal()
	if strings.ReplaceAll(strings.TrimSpace(k.r.PostForm.Get("name")), ",", "") != total {
		mistakes = append(mistakes, templates.FieldError{Field: "name", Message: "Type " + total + ", to be sure that it is this run."})
	}
	proof, err := k.proven()
	if err != nil {
		return err
	}
	if mistakes = append(mistakes, proof...); len(mistakes) > 0 {
		return k.showPayRun(http.StatusUnprocessableEntity, r, mistakes)
	}
	err = k.payouts().PayRun(k.r.Context(), k.scope, r.ID, k.version(), k.r.PostForm.Get("reference"))
	if err == nil {
		return k.to(runURL(r.ID))
	}
	if f := apperr.As(err); f == nil || f.Code != apperr.Invalid {
		return k.runRefused("payout_run.pay", err)
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	return k.showPayRun(status, r, mistakes)
}

// cancellable reports whether a run can be cancelled: while it is prepared its work is stopped.
func cancellable(r models.PayoutRun) bool {
	return r.State == models.RunPrepared || r.State == models.RunApproved
}

func (k *call) showCancelRun(status int, r models.PayoutRun, mistakes templates.Errors) error {
	if !cancellable(r) {
		return k.to(runURL(r.ID)) // which says what it is by now
	}
	return k.show(status, templates.Confirm(templates.ConfirmView{
		Shell: k.shell("Cancel a payout run", allRuns, templates.Link{Label: payouts.RunID(r.ID), URL: runURL(r.ID)}), Action: runURL(r.ID) + "/cancel",
		Consequence: "Its entries are let go, for the next run to take. Make sure that the bank was not told to pay it. This cannot be undone.",
		AskReason:   true, StepUp: k.stepUp(), Submit: "Cancel the run", Cancel: runURL(r.ID),
		Hidden: []templates.Hidden{{Name: "version", Value: strconv.Itoa(r.RowVersion)}}, Reason: k.r.PostForm.Get("reason"), Errors: mistakes,
	}))
}

func (k *call) cancelRunPage() error {
	r, err := k.run()
	if err != nil {
		return err
	}
	return k.showCancelRun(http.StatusOK, r, nil)
}

func (k *call) cancelRun() error {
	r, err := k.runForm()
	if err != nil {
		return err
	}
	mistakes, err := k.proven()
	if err != nil {
		return err
	}
	if len(mistakes) > 0 {
		return k.showCancelRun(http.StatusUnprocessableEntity, r, mistakes)
	}
	err = k.payouts().CancelRun(k.r.Context(), k.scope, r.ID, k.version(), k.r.PostForm.Get("reason"))
	if err == nil {
		return k.to(runURL(r.ID))
	}
	if f := apperr.As(err); f == nil || f.Code != apperr.Invalid {
		return k.runRefused("payout_run.cancel", err)
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	mistakes[0].Field = "reason"
	return k.showCancelRun(status, r, mistakes)
}
