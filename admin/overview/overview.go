package overview

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/admin/web/outcomes"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/overview"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) overview(k *web.Request) error {
	r, within, period := k.SelectedRange("/?")
	v := view.View{Shell: k.Shell("Overview"), Period: period}
	f, err := h.Reporting.Figures(k.R.Context(), k.Scope, within)
	var before *reporting.Totals
	previous := within.Previous()
	if err == nil {
		before, err = h.Reporting.Totals(k.R.Context(), k.Scope, previous)
	}
	if errors.Is(err, context.Canceled) { // the user left the page
		return err
	}
	if err != nil {
		h.Log.Error("cannot read overview figures", "request_id", k.By.RequestID, "error",
			postgres.Translate(err).Error())
		v.Failed, v.RetryURL = "The statistics are temporarily unavailable.", k.R.URL.RequestURI()
		return k.Show(http.StatusServiceUnavailable, view.Page(v))
	}
	for _, s := range f.Steps {
		v.Traffic = append(v.Traffic, ui.TrafficStep{Label: r.StepLabel(s.At), Pings: s.Pings, Posts: s.Posts})
	}
	if v.ShowPayouts = k.May(web.ReadPricing) || k.May(web.ReadPayouts) || k.May(web.ReadStaff); v.ShowPayouts {
		v.Payouts = f.Payouts
	}
	v.Tiles = tiles(f, before)
	if before != nil {
		v.Previous = previous.From.Format("2006-01-02 15:04") + " to " + ui.Minute(previous.Until)
	}
	for _, rejection := range f.Rejections {
		bar := ui.Bar{Label: outcomes.RejectionLabel(rejection), Count: rejection.Count}
		if k.May(web.ReadPartners) && r.Name() != "" { // logged requests have no filter by dates
			bar.URL = web.LoggedRequestsURL(url.Values{
				"endpoint": {rejection.Endpoint}, "outcome": {rejection.Reason}, "range": {r.Name()},
			})
		}
		v.Rejections = append(v.Rejections, bar)
	}
	if v.Attention, err = h.attention(k); err != nil {
		return err
	}
	return k.Show(http.StatusOK, view.Page(v))
}

func (h *Handlers) attention(k *web.Request) ([]ui.AttentionItem, error) {
	partners, err := h.partnerAttention(k)
	if err != nil {
		return nil, err
	}
	pricing, err := h.pricingAttention(k)
	if err != nil {
		return nil, err
	}
	payouts, err := h.payoutAttention(k)
	if err != nil {
		return nil, err
	}
	privacy, err := h.privacyAttention(k)
	return slices.Concat(partners, pricing, payouts, privacy), err
}

// privacyAttention lists open privacy requests, and partners to notify of erasures.
func (h *Handlers) privacyAttention(k *web.Request) (all []ui.AttentionItem, err error) {
	if !k.May(web.WriteRequests) {
		return nil, nil
	}
	due, err := h.Requests.CountDue(k.R.Context())
	if err != nil {
		return nil, err
	}
	if due.Unanswered > 0 {
		all = append(all, ui.AttentionItem{
			Text:   ui.Plural(due.Unanswered, "privacy request needs", "privacy requests need") + " an answer",
			URL:    "/privacy/requests",
			Detail: overdueText(due.UnansweredOverdue),
		})
	}
	if due.ToNotify > 0 {
		all = append(all, ui.AttentionItem{
			Text:   ui.Plural(due.ToNotify, "partner must", "partners must") + " be notified of an erasure",
			URL:    "/privacy/requests?state=notify",
			Detail: overdueText(due.ToNotifyOverdue),
		})
	}
	return all, nil
}

func overdueText(n int) string {
	if n == 0 {
		return "None is overdue."
	}
	return ui.Number(n) + " overdue."
}

// failedFor is how long the overview shows a failed job.
const failedFor = 24 * time.Hour

// payoutAttention lists open returns, adjustments and payout runs that the user may approve, and failed jobs.
func (h *Handlers) payoutAttention(k *web.Request) (all []ui.AttentionItem, err error) {
	ctx := k.R.Context()
	if sc, ok := k.ScopeOf(web.ApprovePayouts); ok {
		open, err := h.Payouts.OpenReturns(ctx, sc)
		if err != nil {
			return nil, err
		}
		if open > 0 {
			all = append(all, ui.AttentionItem{
				Text:   ui.Plural(open, "return needs", "returns need") + " a decision",
				URL:    "/payouts/returns?state=open",
				Detail: "The ledger changes only when a return is accepted.",
			})
		}
		waiting, err := h.Payouts.WaitingAdjustments(ctx, sc, k.By)
		if err != nil {
			return nil, err
		}
		if waiting > 0 {
			all = append(all, ui.AttentionItem{
				Text:   ui.Plural(waiting, "adjustment needs", "adjustments need") + " approval",
				URL:    "/payouts/adjustments?state=open",
				Detail: "They are not in the ledger yet.",
			})
		}
		runs, err := h.Payouts.WaitingRuns(ctx, sc, k.By)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			all = append(all, ui.AttentionItem{
				Text:   "A payout run in " + r.Currency + " needs approval",
				URL:    web.RunURL(r.ID),
				Detail: "Prepared by " + r.Preparer + ".",
			})
		}
	}
	if sc, ok := k.ScopeOf(web.ReadPayouts); ok {
		failed, err := h.Jobs.FailedSince(ctx, sc, k.Session.Staff.ID, k.Now.Add(-failedFor))
		if err != nil {
			return nil, err
		}
		if failed > 0 {
			all = append(all, ui.AttentionItem{
				Text: ui.Plural(failed, "job", "jobs") + " failed in the last 24 hours",
				URL:  "/jobs",
			})
		}
	}
	return all, nil
}

// proposalsListed is the maximum number of proposed price changes that the overview lists.
const proposalsListed = 20

// pricingAttention lists drafts and proposed partner prices that the user may approve.
func (h *Handlers) pricingAttention(k *web.Request) (all []ui.AttentionItem, err error) {
	if !k.May(web.PublishPricing) {
		return nil, nil
	}
	drafts, err := h.Prices.Drafts(k.R.Context())
	if err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if d.State == models.RateCardSubmitted && k.By.MayApprove(d.SubmitterID) {
			all = append(all, ui.AttentionItem{
				Text:   web.DraftName(d.RateCard) + " needs approval",
				URL:    web.DraftURL(d.ID) + "?tab=publish",
				Detail: "Submitted by " + d.Submitter + ".",
			})
		}
	}
	sc, _ := k.ScopeOf(web.PublishPricing)
	proposed, err := h.Partners.PriceProposals(k.R.Context(), sc, k.Session.Staff.ID, proposalsListed)
	for _, p := range proposed {
		all = append(all, ui.AttentionItem{
			Text:   "Price change for " + p.Name + " needs approval",
			URL:    web.PartnerURL(p.ID) + "?tab=prices",
			Detail: "The current prices apply until the change is approved.",
		})
	}
	return all, err
}

// partnerAttention lists the partners that need attention and that the user can see.
func (h *Handlers) partnerAttention(k *web.Request) (all []ui.AttentionItem, err error) {
	sc, ok := k.ScopeOf(web.ReadPartners)
	if !ok {
		return nil, nil
	}
	ctx := k.R.Context()
	pending, err := h.Partners.Pending(ctx, sc)
	if err != nil {
		return nil, err
	}
	if pending > 0 {
		all = append(all, ui.AttentionItem{
			Text:   ui.Plural(pending, "partner needs", "partners need") + " approval",
			URL:    "/partners?status=pending",
			Detail: "Pending partners do not receive prices.",
		})
	}
	rejected, others, err := h.Partners.MostRejected(ctx, sc)
	if err != nil {
		return nil, err
	}
	for _, r := range rejected {
		before := "None were rejected in the 7 days before."
		if r.RejectedBefore > 0 {
			before = fmt.Sprintf("In the 7 days before, an average of %.1f a day were rejected.", float64(r.RejectedBefore)/7)
		}
		all = append(all, ui.AttentionItem{
			Text: fmt.Sprintf("%s: %s of %s rejected", r.Name, ui.Number(r.Rejected),
				ui.Plural(r.Posts, "post", "posts")),
			URL:    web.PartnerURL(r.Partner) + "?tab=requests&range=24h",
			Detail: "In the last 24 hours. " + before,
		})
	}
	if others > 0 {
		all = append(all, ui.AttentionItem{
			Text:   ui.Plural(others, "other partner has", "other partners have") + " more than 5% rejected posts",
			URL:    "/partners?status=approved&sort=-rejected",
			Detail: "In the last 24 hours, with at least three rejected posts each. The list is sorted by rejected posts.",
		})
	}
	ending, err := h.Partners.ExpiringBefore(ctx, sc, k.Now.Add(7*24*time.Hour))
	if err != nil {
		return nil, err
	}
	for _, e := range ending {
		all = append(all, ui.AttentionItem{
			Text:   e.Name + ": all signing secrets expire soon",
			URL:    web.PartnerURL(e.Partner) + "?tab=secrets",
			Detail: "The last secret expires at " + ui.Minute(e.Ends) + ". After that, signed posts are rejected.",
		})
	}
	unsigned, err := h.Reporting.MostUnsigned(ctx, sc, h.DefaultSigning, k.Now.Add(-24*time.Hour), 5)
	if err != nil {
		return nil, err
	}
	for _, u := range unsigned {
		all = append(all, ui.AttentionItem{
			Text:   u.Name + ": " + ui.Plural(u.Leads, "unsigned lead", "unsigned leads"),
			URL:    web.PartnerURL(u.Partner) + "?tab=signing",
			Detail: "Accepted without a signature in the last 24 hours, for accounts that do not require one.",
		})
	}
	return all, nil
}

// tiles returns the figures for a range next to those for the previous range. The parameter before can be nil.
func tiles(f reporting.Figures, before *reporting.Totals) []ui.StatTile {
	rejected := map[string]int64{}
	for _, r := range f.Rejections {
		rejected[r.Endpoint] += r.Count
	}
	all := []ui.StatTile{
		ui.PingsTile(f.Pings, rejected["ping"]),
		ui.AcceptedTile(f.Priced, f.Pings),
		ui.PostsTile(f.Posts, f.Replayed, rejected["post"]),
		{Name: "leads", Label: "Leads", Value: ui.Number(f.Delivered)},
	}
	if before != nil {
		all[0].Previous, all[1].Previous = ui.Number(before.Pings), ui.Share(before.Priced, before.Pings)
		all[2].Previous, all[3].Previous = ui.Number(before.Posts), ui.Number(before.Delivered)
	}
	return all
}
