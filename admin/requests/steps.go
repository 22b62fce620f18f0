package requests

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/requests"
	"github.com/pingpost/pingpost/templates/ui"
)

// step is a form that changes an open request.
type step struct {
	h      *Handlers
	name   string // in the URL
	title  string
	stepUp web.StepUpRule
	saves  []string // for Route.Saves
	// erasable is for Route.Erasable.
	erasable bool
	show     func(view.StepView) templ.Component
	fill     func(k *web.Request, r requests.Request, v *view.StepView) error
	do       func(ctx context.Context, s *requests.Service, k *web.Request, request uuid.UUID) error
}

func (h *Handlers) steps() []*step {
	return []*step{
		{
			h: h, name: "identity",
			title: "Identity check", show: view.CheckIdentity, saves: []string{"identity"}, erasable: true, // the form contains the note
			fill: func(k *web.Request, r requests.Request, v *view.StepView) error {
				for _, check := range requests.IdentityChecks {
					v.Options = append(v.Options, web.ReasonOption(string(check.Code), check.Label))
				}
				chosen := k.R.PostForm.Get("identity")
				if r.Identity != nil && k.R.Method == http.MethodGet {
					chosen, v.Text = string(*r.Identity), r.IdentityNote
				}
				v.Options = web.SelectOption(v.Options, chosen)
				return nil
			},
			do: func(ctx context.Context, s *requests.Service, k *web.Request, request uuid.UUID) error {
				f := k.R.PostForm
				return s.CheckIdentity(ctx, request,
					requests.Identity{Check: models.IdentityCheck(f.Get("identity")), Note: f.Get("note")})
			},
		},
		{
			h: h, name: "add",
			title: "Add leads", show: view.AddLeads, fill: fillAdd, do: addLeads, saves: []string{"leads", "exception"},
			erasable: true, // the leads are compared by digests that an erasure deletes
		},
		{
			h: h, name: "remove",
			title: "Remove leads", show: view.RemoveLeads, fill: h.fillRemove, do: removeLeads, saves: []string{"leads", "more"}, erasable: true,
		},
		{
			h: h, name: "erase",
			title: "Erase data", show: view.Erase, stepUp: web.StepUpAlways,
			fill: func(k *web.Request, r requests.Request, v *view.StepView) error {
				held, err := h.Requests.HeldLeads(k.R.Context(), r.ID)
				if err != nil {
					return err
				}
				v.Held = len(held)
				v.Leads -= v.Held
				return h.addReturns(k, r, held, v)
			},
			do: func(ctx context.Context, s *requests.Service, _ *web.Request, request uuid.UUID) error {
				return s.Erase(ctx, request)
			},
		},
		{
			h: h, name: "extend",
			title: "Extend deadline", show: view.Extend, saves: []string{"until"},
			fill: func(k *web.Request, r requests.Request, v *view.StepView) error {
				v.Complaint = r.Kind == models.RequestComplaint
				v.Until, _ = requests.ExtendedDeadline(r.Law, r.Kind, r.ReceivedOn)
				v.Due, v.UntilText = r.DueOn, web.Short(k.R.PostForm.Get("until"))
				return nil
			},
			do: func(ctx context.Context, s *requests.Service, k *web.Request, request uuid.UUID) error {
				f := k.R.PostForm
				until, _ := time.Parse(time.DateOnly, f.Get("until")) // rejected by Extend if it is not valid
				return s.Extend(ctx, request, requests.Extension{Reason: f.Get("reason"), Until: until})
			},
		},
		{
			h: h, name: "close",
			title: "Close request", show: view.Close, fill: fillClose, saves: []string{"outcome", "ground"},
			do: func(ctx context.Context, s *requests.Service, k *web.Request, request uuid.UUID) error {
				f := k.R.PostForm
				return s.Close(ctx, request, requests.Closing{
					Outcome: models.RequestOutcome(f.Get("outcome")), Ground: models.RejectionGround(f.Get("ground")), Note: f.Get("note"),
				})
			},
		},
	}
}

// addReturns describes which of the leads that will be erased can still be returned.
func (h *Handlers) addReturns(k *web.Request, r requests.Request, held []uuid.UUID, v *view.StepView) error {
	rows, err := h.Requests.Leads(k.R.Context(), r.ID, r.Leads)
	if err != nil {
		return err
	}
	var erased []uuid.UUID
	for _, l := range rows {
		if !slices.Contains(held, l.LeadID) {
			erased = append(erased, l.LeadID)
		}
	}
	returns, err := h.Payouts.Returnable(k.R.Context(), k.Scope, erased)
	v.Returns = ui.ReturnableView{Single: v.Leads == 1, Leads: returns.Leads, Until: returns.Until, Open: returns.Open}
	return err
}

func fillAdd(k *web.Request, _ requests.Request, v *view.StepView) error {
	for _, e := range requests.LeadExceptions {
		v.Options = append(v.Options, web.ReasonOption(string(e.Code), e.Label))
	}
	f := k.R.PostForm
	v.Options, v.LeadIDs = web.SelectOption(v.Options, f.Get("exception")), f.Get("leads")
	return nil
}

func addLeads(ctx context.Context, s *requests.Service, k *web.Request, request uuid.UUID) error {
	f := k.R.PostForm
	ids, err := leadIDs(f.Get("leads"))
	if err != nil {
		return err
	}
	return s.AddLeads(ctx, request,
		requests.Addition{Leads: ids, Exception: models.LeadException(f.Get("exception")), Note: f.Get("note")})
}

// fillRemove offers the leads that the page of the request lists. If there are more, the user can type their ids.
func (h *Handlers) fillRemove(k *web.Request, r requests.Request, v *view.StepView) error {
	rows, err := h.Requests.Leads(k.R.Context(), r.ID, shownLeads)
	if err != nil {
		return err
	}
	v.More, v.LeadIDs = r.Leads > len(rows), k.R.PostForm.Get("more")
	for _, l := range rows {
		lead := id.Format(id.Lead, l.LeadID)
		label := lead + ", found by " + matchLabels[l.Matched]
		if l.EmailNumber > 1 {
			label += ", different email address"
		}
		if l.PhoneNumber > 1 {
			label += ", different phone number"
		}
		v.Options = append(v.Options,
			ui.Option{Value: lead, Label: label, Selected: slices.Contains(k.R.PostForm["leads"], lead)})
	}
	return nil
}

func removeLeads(ctx context.Context, s *requests.Service, k *web.Request, request uuid.UUID) error {
	f := k.R.PostForm
	ids, err := leadIDs(strings.Join(f["leads"], " ") + " " + f.Get("more"))
	if err != nil {
		return err
	}
	return s.RemoveLeads(ctx, request, ids)
}

func fillClose(k *web.Request, r requests.Request, v *view.StepView) error {
	f := k.R.PostForm
	if r.Kind != models.RequestAccess && r.Kind != models.RequestErasure {
		v.Options = append(v.Options,
			ui.Option{Value: string(models.OutcomeDone), Label: "The request was fulfilled as described in the note"})
	}
	switch {
	case r.Leads == 0:
		v.Options = append(v.Options, ui.Option{Value: string(models.OutcomeNothingFound), Label: "No data was found"})
	case requests.MayErase(r.Kind) && r.AlreadyErased():
		v.Options = append(v.Options,
			ui.Option{Value: string(models.OutcomeNothingFound), Label: "The data had already been erased"})
	}
	grounds := requests.RejectionGrounds(r.Law, r.Kind)
	if len(grounds) > 0 {
		v.Options = append(v.Options, ui.Option{Value: string(models.OutcomeRejected), Label: "The request is rejected"})
		v.Grounds = []ui.Option{{Label: "None"}}
	}
	v.Options = web.SelectOption(append(v.Options,
		ui.Option{Value: string(models.OutcomeWithdrawn), Label: "The request was withdrawn, or it was created by mistake"},
	), f.Get("outcome"))
	for _, g := range grounds {
		v.Grounds = append(v.Grounds, ui.Option{Value: string(g.Ground), Label: ui.Sentence(g.Label)})
	}
	v.Grounds = web.SelectOption(v.Grounds, f.Get("ground"))
	return nil
}

// page shows the form. If the request is closed, it redirects to the request's page.
func (s *step) page(k *web.Request) error {
	r, err := s.h.request(k)
	if err != nil {
		return err
	}
	if r.Outcome != nil {
		return k.Redirect(web.RequestURL(r.ID))
	}
	shown := web.Rejected{Status: http.StatusOK}
	if s.stepUp == web.StepUpAlways {
		shown.StepUp = k.StepUpAgain()
	}
	return s.render(k, r, shown)
}

func (s *step) submit(k *web.Request) error {
	r, err := s.h.request(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: s.stepUp,
		Do: func() (string, error) {
			err := s.do(k.R.Context(), s.h.Requests.By(k.By), k, r.ID)
			return web.RequestURL(r.ID), err
		},
		KeepAfterFailure: true,
		Show:             func(rejected web.Rejected) error { return s.render(k, r, rejected) },
	})
}

func (s *step) render(k *web.Request, r requests.Request, shown web.Rejected) error {
	v := s.h.stepView(k, r, s.name, s.title, shown)
	if s.fill != nil {
		if err := s.fill(k, r, &v); err != nil {
			return err
		}
	}
	return k.Show(shown.Status, s.show(v))
}

func (h *Handlers) stepView(k *web.Request, r requests.Request, name, title string, shown web.Rejected) view.StepView {
	f := k.R.PostForm
	return view.StepView{
		Shell:   k.Shell(title, allRequests, requestLink(r.ID)),
		Action:  web.RequestURL(r.ID) + "/" + name,
		Request: requestLink(r.ID),
		Text:    f.Get("note") + f.Get("reason"), // no form has both
		Leads:   r.Left(),
		Differ:  r.Differ,
		StepUp:  shown.StepUp,
		Errors:  shown.Errors,

		NoController: !h.Requests.NamesController(),
		NoRecipients: !h.Requests.NamesRecipients(),
	}
}
