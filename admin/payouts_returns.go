package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

var returnStates = []templates.Option{
	{Value: string(models.ReturnOpen), Label: "Waits for a decision"}, {Value: string(models.ReturnAccepted), Label: "Accepted"}, {Value: string(models.ReturnRefused), Label: "Refused"},
}

func (k *call) returnsPage() error {
	q := k.r.URL.Query()
	partner, err := k.partnerNamed(q, "partner")
	if err != nil {
		return err
	}
	query := payouts.ReturnQuery{
		Partner: partner.ID, Lead: named(q, "lead", id.Lead), State: models.ReturnState(typed(q, "state")), Before: cursor(q, "before", id.Return), After: cursor(q, "after", id.Return), Size: keyedPage,
	}
	all, newer, older, err := k.Payouts.Returns(k.r.Context(), k.scope, query)
	if err != nil {
		return err
	}
	var sellers []uuid.UUID
	for _, r := range all {
		sellers = append(sellers, r.PartnerID)
	}
	names, err := k.slugsOf(sellers)
	if err != nil {
		return err
	}
	v := templates.ReturnsView{
		Shell: k.shell("Returns"), Tabs: k.payoutTabs("returns"), Partner: short(q.Get("partner")), Lead: short(q.Get("lead")), States: chosen(returnStates, q.Get("state")),
		State: templates.ListState{Filtered: filtered(q, "state", "partner", "lead"), ClearURL: "/payouts/returns"},
	}
	if k.may(writePayouts) {
		v.NewURL = "/payouts/returns/new"
	}
	for _, r := range all {
		v.Returns = append(v.Returns, templates.ReturnRow{
			ID: templates.Link{Label: id.Format(id.Return, r.ID), URL: returnURL(r.ID)}, Lead: k.leadLink(&r.LeadID, r.PartnerID), Partner: names.of(r.PartnerID), Reason: payouts.ReasonWords(r.Reason),
			State: string(r.State), Amount: amountOf(r.AmountMinor, r.Currency), AskedBy: r.AskedBy, AskedAt: r.AskedAt,
		})
	}
	v.Pager = pagerBetween("/payouts/returns", q, newer, older, len(all), func(i int) string { return id.Format(id.Return, all[i].ID) })
	return k.show(http.StatusOK, templates.Returns(v))
}

// pagerBetween leads to what is before the first and after the last of a page of n rows.
func pagerBetween(path string, q url.Values, newer, older bool, n int, key func(int) string) templates.Pager {
	before, after := "", ""
	if newer && n > 0 {
		before = key(0)
	}
	if older && n > 0 {
		after = key(n - 1)
	}
	return pagerByCursor(path, q, before, after)
}

func (k *call) returnNewPage() error { return k.showReturnNew(http.StatusOK, k.r.URL.Query(), nil) }

const noSuchLead = "There is no lead of this id that earned anything."

func (k *call) showReturnNew(status int, f url.Values, mistakes templates.Errors) error {
	days := int(k.Payouts.Policy().ReturnWindow / (24 * time.Hour))
	v := templates.ReturnNewView{Shell: k.shell("Return a lead", allReturns), Lead: short(f.Get("lead")), Evidence: f.Get("evidence"), Window: countWords(int64(days), false, "day", "days"), Errors: mistakes}
	for _, r := range payouts.Reasons {
		v.Reasons = append(v.Reasons, templates.Option{Value: string(r.Reason), Label: title(r.Words)})
	}
	v.Reasons = chosen(v.Reasons, f.Get("reason"))
	if v.Lead == "" {
		return k.show(status, templates.ReturnNew(v))
	}
	lead, there, err := k.earned(named(f, "lead", id.Lead))
	if err != nil {
		return err
	}
	if there {
		v.Earned = &lead
	} else if len(mistakes) == 0 {
		status, v.Errors = http.StatusUnprocessableEntity, templates.Errors{{Field: "lead", Message: noSuchLead}}
	}
	return k.show(status, templates.ReturnNew(v))
}

// earned is a lead that this person may see, with what it earned.
func (k *call) earned(lead uuid.UUID) (l templates.ReturnLead, there bool, err error) {
	all, _, _, err := k.Payouts.Entries(k.r.Context(), k.scope, payouts.Filter{Lead: lead, Kind: models.EntryAccrual}, postgres.Page{Size: 1})
	if err != nil || len(all) == 0 {
		return l, false, err
	}
	e := all[0]
	return templates.ReturnLead{Lead: k.leadLink(e.LeadID, e.PartnerID), Partner: e.PartnerName, Identifier: e.Identifier, At: e.OccurredAt, Amount: e.Amount()}, true, nil
}

func (k *call) returnNew() error {
	if err := k.form(); err != nil {
		return err
	}
	f := k.r.PostForm
	lead, err := id.Parse(id.Lead, strings.TrimSpace(f.Get("lead")))
	if err != nil {
		f.Set("lead", "")
		return k.showReturnNew(http.StatusUnprocessableEntity, f, templates.Errors{{Field: "lead", Message: "A lead's id begins with ld_ and has 26 letters and digits."}})
	}
	r, err := k.payouts().RequestReturn(k.r.Context(), k.scope, lead, models.ReturnReason(f.Get("reason")), f.Get("evidence"))
	if err == nil {
		return k.to(returnURL(r.ID))
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	if apperr.As(err).Code == apperr.NotFound {
		status, mistakes = http.StatusUnprocessableEntity, templates.Errors{{Field: "lead", Message: noSuchLead}}
	}
	return k.showReturnNew(status, f, mistakes)
}

// theReturn is the one that the address names.
func (k *call) theReturn() (r models.Return, err error) {
	object, err := k.objectOf(id.Return, "id")
	if err != nil {
		return r, err
	}
	r, err = k.Payouts.Return(k.r.Context(), k.scope, object)
	return r, orNoPage(err)
}

func (k *call) returnPage() error {
	r, err := k.theReturn()
	if err != nil {
		return err
	}
	return k.showReturn(http.StatusOK, r, nil)
}

func (k *call) showReturn(status int, r models.Return, mistakes templates.Errors) error {
	lead, there, err := k.earned(r.LeadID)
	if err != nil {
		return err
	}
	if !there {
		return fmt.Errorf("%s is of a lead that earned nothing", id.Format(id.Return, r.ID))
	}
	v := templates.ReturnView{
		Shell: k.shell("Return of a lead", allReturns), URL: returnURL(r.ID), ID: id.Format(id.Return, r.ID), State: string(r.State), Lead: lead, Reason: payouts.ReasonWords(r.Reason), Evidence: r.Evidence,
		AskedBy: r.AskedBy, AskedAt: r.AskedAt, DecidedBy: r.DecidedBy, DecidedAt: timeOf(r.DecidedAt), Answer: r.Answer, CanDecide: k.mayAt(approvePayouts, r.PartnerID), StepUp: k.stepUp(), Errors: mistakes,
	}
	if len(mistakes) > 0 && r.State == models.ReturnOpen {
		v.Answer = k.r.PostForm.Get("answer")
	}
	return k.show(status, templates.Return(v))
}

func (k *call) acceptReturn() error { return k.decideReturn(k.payouts().AcceptReturn) }
func (k *call) refuseReturn() error { return k.decideReturn(k.payouts().RefuseReturn) }

type decision = func(ctx context.Context, sc scope.Scope, ret uuid.UUID, answer string) error

func (k *call) decideReturn(decide decision) error {
	if err := k.form(); err != nil {
		return err
	}
	r, err := k.theReturn()
	if err != nil {
		return err
	}
	mistakes, err := k.proven()
	if err != nil {
		return err
	}
	if len(mistakes) > 0 {
		return k.showReturn(http.StatusUnprocessableEntity, r, mistakes)
	}
	err = decide(k.r.Context(), k.scope, r.ID, k.r.PostForm.Get("answer"))
	if err == nil {
		return k.to(returnURL(r.ID))
	}
	status, mistakes, err := k.mistakes(err)
	if err != nil {
		return err
	}
	if r, err = k.theReturn(); err != nil { // somebody else may have decided
		return err
	}
	return k.showReturn(status, r, mistakes)
}
