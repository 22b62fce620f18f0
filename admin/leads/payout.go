package leads

import (
	"slices"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/leads"
)

// addPayout adds the state of the lead's payout in words, so that users who cannot see the ledger can answer a partner.
// It contains no amounts.
func (h *Handlers) addPayout(k *web.Request, l leads.Details, returns []models.Return, v *view.DetailsView) error {
	if l.Sandbox {
		v.Payout = view.Payout{State: "sandbox", Text: "None, because sandbox leads earn nothing"}
		return nil
	}
	r, claimed, err := h.Payouts.RunOfLead(k.R.Context(), k.Scope, l.Lead)
	if err != nil {
		return err
	}
	returned := slices.IndexFunc(returns, func(r models.Return) bool { return r.State == models.ReturnAccepted })
	open := slices.IndexFunc(returns, func(r models.Return) bool { return r.State == models.ReturnOpen })
	if claimed {
		v.Payout = view.Payout{State: string(r.State), Text: runText(r)}
	} else if returned < 0 {
		v.Payout = view.Payout{State: "earned", Text: "Earned, not in a payout run yet"}
	}
	switch {
	case returned >= 0:
		v.Payout.State = "returned"
		v.Payout.Add("Returned on " + day(returns[returned].DecidedAt) + ": " +
			payouts.ReturnReasonLabel(returns[returned].Reason))
	case open >= 0:
		v.Payout.Add("A return was requested on " + day(&returns[open].RequestedAt) + " and is waiting for a decision")
	}
	return nil
}

// runText describes the state of the payout run that contains a lead.
func runText(r models.PayoutRun) string {
	in := "In payout run " + payouts.RunID(r.ID)
	switch r.State {
	case models.RunPaid:
		return "Paid on " + day(r.PaidAt) + ", in payout run " + payouts.RunID(r.ID)
	case models.RunApproved:
		return in + " (approved on " + day(r.ApprovedAt) + "), not paid yet"
	case models.RunPrepared:
		return in + ", which is prepared but not approved yet"
	case models.RunPreparing:
		return in + ", which is being prepared"
	case models.RunCancelled: // releases its entries
	}
	return in
}

func day(at *time.Time) string { return web.TimeOf(at).UTC().Format("2 January 2006") }
