package payouts

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/payouts"
	"github.com/pingpost/pingpost/templates/ui"
)

var returnStates = []ui.Option{
	{Value: string(models.ReturnOpen), Label: "Waits for a decision"}, {Value: string(models.ReturnAccepted), Label: "Accepted"}, {Value: string(models.ReturnRefused), Label: "Refused"},
}

func (h *Handlers) returnsPage(k *web.Request) error {
	q := k.R.URL.Query()
	partner, err := h.partnerNamed(k, q, "partner")
	if err != nil {
		return err
	}
	query := payouts.ReturnQuery{
		Partner: partner.ID, Lead: named(q, "lead", id.Lead), State: models.ReturnState(web.SearchText(q, "state")), Before: cursor(q, "before", id.Return), After: cursor(q, "after", id.Return), Size: web.PageSize,
	}
	all, newer, older, err := h.Payouts.Returns(k.R.Context(), k.Scope, query)
	if err != nil {
		return err
	}
	var sellers []uuid.UUID
	for _, r := range all {
		sellers = append(sellers, r.PartnerID)
	}
	names, err := web.NamesOfPartners(k, sellers)
	if err != nil {
		return err
	}
	v := view.ReturnsView{
		Shell: k.Shell("Returns"), Tabs: h.payoutTabs(k, "returns"), Partner: web.Short(q.Get("partner")), Lead: web.Short(q.Get("lead")), States: web.Chosen(returnStates, q.Get("state")),
		State: ui.ListState{Filtered: web.IsFiltered(q, "state", "partner", "lead"), ClearURL: "/payouts/returns"},
	}
	if k.May(web.WritePayouts) {
		v.NewURL = "/payouts/returns/new"
	}
	for _, r := range all {
		v.Returns = append(v.Returns, view.ReturnRow{
			ID: ui.Link{Label: id.Format(id.Return, r.ID), URL: returnURL(r.ID)}, Lead: h.leadLink(k, &r.LeadID, r.PartnerID), Partner: names.Of(r.PartnerID), Reason: payouts.ReturnReasonLabel(r.Reason),
			State: string(r.State), Amount: web.AmountOf(r.AmountMinor, r.Currency), AskedBy: r.AskedBy, AskedAt: r.AskedAt,
		})
	}
	v.Pager = pagerBetween("/payouts/returns", q, newer, older, len(all), func(i int) string { return id.Format(id.Return, all[i].ID) })
	return k.Show(http.StatusOK, view.Returns(v))
}

// pagerBetween leads to what is before the first and after the last of a page of n rows.
func pagerBetween(path string, q url.Values, newer, older bool, n int, key func(int) string) ui.Pager {
	before, after := "", ""
	if newer && n > 0 {
		before = key(0)
	}
	if older && n > 0 {
		after = key(n - 1)
	}
	return web.CursorPager(path, q, before, after)
}

func (h *Handlers) returnNewPage(k *web.Request) error {
	return h.showReturnNew(k, http.StatusOK, k.R.URL.Query(), nil)
}

const noSuchLead = "There is no lead of this id that earned anything."

func (h *Handlers) showReturnNew(k *web.Request, status int, f url.Values, mistakes ui.Errors) error {
	days := int(h.Payouts.Policy().ReturnWindow / (24 * time.Hour))
	v := view.ReturnNewView{Shell: k.Shell("Return a lead", allReturns), Lead: web.Short(f.Get("lead")), Evidence: f.Get("evidence"), Window: web.CountWords(int64(days), false, "day", "days"), Errors: mistakes}
	for _, r := range payouts.Reasons {
		v.Reasons = append(v.Reasons, ui.Option{Value: string(r.Reason), Label: web.Title(r.Words)})
	}
	v.Reasons = web.Chosen(v.Reasons, f.Get("reason"))
	if v.Lead == "" {
		return k.Show(status, view.ReturnNew(v))
	}
	lead, there, err := h.earned(k, named(f, "lead", id.Lead))
	if err != nil {
		return err
	}
	if there {
		v.Earned = &lead
	} else if len(mistakes) == 0 {
		status, v.Errors = http.StatusUnprocessableEntity, ui.Errors{{Field: "lead", Message: noSuchLead}}
	}
	return k.Show(status, view.ReturnNew(v))
}

// earned is a lead that this person may see, with what it earned.
func (h *Handlers) earned(k *web.Request, lead uuid.UUID) (l view.ReturnLead, there bool, err error) {
	all, _, _, err := h.Payouts.Entries(k.R.Context(), k.Scope, payouts.Filter{Lead: lead, Kind: models.EntryAccrual}, postgres.Page{Size: 1})
	if err != nil || len(all) == 0 {
		return l, false, err
	}
	e := all[0]
	return view.ReturnLead{Lead: h.leadLink(k, e.LeadID, e.PartnerID), Partner: e.PartnerName, Identifier: e.Identifier, At: e.OccurredAt, Amount: e.Amount()}, true, nil
}

func (h *Handlers) returnNew(k *web.Request) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	f := k.R.PostForm
	var mistakes ui.Errors
	lead, err := id.Parse(id.Lead, strings.TrimSpace(f.Get("lead")))
	if err != nil {
		f.Set("lead", "")
		mistakes = ui.Errors{{Field: "lead", Message: "A lead's id begins with ld_ and has 26 letters and digits."}}
	}
	return web.Submit(k, web.Form{
		Mistakes: mistakes,
		Do: func() (string, error) {
			r, err := h.payouts(k).RequestReturn(k.R.Context(), k.Scope, lead, models.ReturnReason(f.Get("reason")), f.Get("evidence"))
			return returnURL(r.ID), err
		},
		Show: func(r web.Rejected) error {
			if refused := apperr.As(r.Err); refused != nil && refused.Code == apperr.NotFound {
				r.Status, r.Errors = http.StatusUnprocessableEntity, ui.Errors{{Field: "lead", Message: noSuchLead}}
			}
			return h.showReturnNew(k, r.Status, f, r.Errors)
		},
	})
}

// theReturn is the one that the address names.
func (h *Handlers) theReturn(k *web.Request) (r models.Return, err error) {
	object, err := h.objectOf(k, id.Return, "id")
	if err != nil {
		return r, err
	}
	r, err = h.Payouts.Return(k.R.Context(), k.Scope, object)
	return r, web.OrNotFound(err)
}

func (h *Handlers) returnPage(k *web.Request) error {
	r, err := h.theReturn(k)
	if err != nil {
		return err
	}
	return h.showReturn(k, http.StatusOK, r, nil)
}

func (h *Handlers) showReturn(k *web.Request, status int, r models.Return, mistakes ui.Errors) error {
	lead, there, err := h.earned(k, r.LeadID)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%s is of a lead that earned nothing", id.Format(id.Return, r.ID))
	}
	v := view.ReturnView{
		Shell: k.Shell("Return of a lead", allReturns), URL: returnURL(r.ID), ID: id.Format(id.Return, r.ID), State: string(r.State), Lead: lead, Reason: payouts.ReturnReasonLabel(r.Reason), Evidence: r.Evidence,
		AskedBy: r.AskedBy, AskedAt: r.AskedAt, DecidedBy: r.DecidedBy, DecidedAt: web.TimeOf(r.DecidedAt), Answer: r.Answer, CanDecide: k.MayAt(web.ApprovePayouts, r.PartnerID), StepUp: web.StepUp(k), Errors: mistakes,
	}
	if len(mistakes) > 0 && r.State == models.ReturnOpen {
		v.Answer = k.R.PostForm.Get("answer")
	}
	return k.Show(status, view.Return(v))
}

func (h *Handlers) acceptReturn(k *web.Request) error {
	return h.decideReturn(k, h.payouts(k).AcceptReturn)
}

func (h *Handlers) refuseReturn(k *web.Request) error {
	return h.decideReturn(k, h.payouts(k).RefuseReturn)
}

type decision = func(ctx context.Context, sc scope.Scope, ret uuid.UUID, answer string) error

func (h *Handlers) decideReturn(k *web.Request, decide decision) error {
	if err := k.ParseForm(); err != nil {
		return err
	}
	ret, err := h.theReturn(k)
	if err != nil {
		return err
	}
	return web.Submit(k, web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return returnURL(ret.ID), decide(k.R.Context(), k.Scope, ret.ID, k.R.PostForm.Get("answer"))
		},
		Show: func(r web.Rejected) error {
			if ret, err = h.theReturn(k); err != nil { // somebody else may have decided
				return err
			}
			return h.showReturn(k, r.Status, ret, r.Errors)
		},
	})
}
