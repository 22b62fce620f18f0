package leads

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) holdPage(k *web.Request) error {
	l, err := h.holdable(k)
	if err != nil {
		return err
	}
	return h.showHold(k, http.StatusOK, l, web.Rejected{})
}

func (h *Handlers) hold(k *web.Request) error {
	l, err := h.holdable(k)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	asked := erasure.NewHold{Lead: l.ID, Person: f.Get("person") == "yes", Reason: f.Get("reason")}
	_, err = asked.Check()
	return k.Submit(web.Form{
		Errors: mistakes(err),
		Do: func() (string, error) {
			_, err := h.Erasures.By(k.By).PlaceHold(k.R.Context(), k.Scope, asked)
			return web.LeadURL(l.ID), err
		},
		KeepAfterFailure: true,
		Show:             func(r web.Rejected) error { return h.showHold(k, r.Status, l, r) },
	})
}

// holdable returns the lead in the path. It returns a NotFound error if the lead does not exist, if it is outside the
// user's scope, or if it cannot be put under a legal hold.
func (h *Handlers) holdable(k *web.Request) (l leads.Details, err error) {
	lead, err := k.PathID("id", id.Lead)
	if err != nil {
		return l, err
	}
	if l, err = h.Leads.Get(k.R.Context(), k.Scope, lead); err != nil {
		return l, web.OrNotFound(err)
	}
	may, err := h.mayBeHeld(k, l)
	if err == nil && !may {
		err = web.ErrNotFound
	}
	return l, err
}

func (h *Handlers) mayBeHeld(k *web.Request, l leads.Details) (bool, error) {
	receipt, found, err := h.Erasures.ReceiptOf(k.R.Context(), l.ID)
	return !l.Sandbox && (!found || receipt.KeepsConsent), err
}

func (h *Handlers) showHold(k *web.Request, status int, l leads.Details, r web.Rejected) error {
	v := view.HoldView{
		Shell:  k.Shell("Place legal hold", allLeads, leadLink(l.ID)),
		Action: web.LeadURL(l.ID) + "/hold",
		Lead:   leadLink(l.ID),
		Reason: k.R.PostForm.Get("reason"),
		Errors: r.Errors,
	}
	if k.Scope.All() && l.State != models.LeadErased {
		person := k.R.PostForm.Get("person") == "yes"
		v.Applies = []ui.Option{
			{Value: "no", Label: "This lead", Selected: !person},
			{
				Value: "yes", Label: "All leads of the person", Selected: person,
				Hint: "All leads with the same email address or phone number, including leads that arrive later.",
			},
		}
	}
	return k.Show(status, view.PlaceHold(v))
}

func (h *Handlers) releasePage(k *web.Request) error {
	hold, err := h.activeHold(k)
	if err != nil {
		return err
	}
	return h.showRelease(k, http.StatusOK, hold, web.Rejected{StepUp: k.StepUp()})
}

func (h *Handlers) release(k *web.Request) error {
	hold, err := h.activeHold(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpRequired,
		Do: func() (string, error) {
			return web.LeadURL(hold.LeadID), h.Erasures.By(k.By).ReleaseHold(k.R.Context(), k.Scope, hold.ID)
		},
		Show: func(r web.Rejected) error { return h.showRelease(k, r.Status, hold, r) },
	})
}

// activeHold returns the legal hold that the request selects. It must have been placed on the lead in the
// path.
func (h *Handlers) activeHold(k *web.Request) (hold models.LegalHold, err error) {
	lead, err := k.PathID("id", id.Lead)
	if err != nil {
		return hold, err
	}
	name, err := id.Parse(id.Hold, k.R.FormValue("hold"))
	if err != nil {
		return hold, web.ErrNotFound
	}
	hold, err = h.Erasures.ActiveHold(k.R.Context(), k.Scope, name)
	if err == nil && hold.LeadID != lead {
		err = web.ErrNotFound
	}
	return hold, web.OrNotFound(err)
}

func (h *Handlers) showRelease(k *web.Request, status int, hold models.LegalHold, r web.Rejected) error {
	consequence := "The personal data of this lead can then be erased. If its retention period has passed, the next daily run erases it."
	if hold.Person {
		consequence = "The personal data of all leads of this person can then be erased. If their retention period has passed, the next daily run erases it."
	}
	return k.Show(status, ui.Confirm(ui.ConfirmView{
		Shell:       k.Shell("Release legal hold", allLeads, leadLink(hold.LeadID)),
		Prefix:      "release",
		Action:      web.LeadURL(hold.LeadID) + "/release",
		Consequence: consequence,
		Hidden:      []ui.Hidden{{Name: "hold", Value: id.Format(id.Hold, hold.ID)}},
		StepUp:      r.StepUp,
		Submit:      "Release legal hold",
		Cancel:      web.LeadURL(hold.LeadID),
		Errors:      r.Errors,
	}))
}

// addHolds adds the active legal holds that apply to a lead, and the link that places one.
func (h *Handlers) addHolds(k *web.Request, l leads.Details, v *view.DetailsView) error {
	all, err := h.Erasures.HoldsOf(k.R.Context(), l.ID)
	if err != nil {
		return err
	}
	for _, hold := range all {
		row := view.Hold{ID: id.Format(id.Hold, hold.ID), Person: hold.Person, At: hold.PlacedAt}
		if k.MayAt(web.HoldLeads, hold.PartnerID) || k.May(web.ReadRetention) {
			row.Reason, row.By = hold.Reason, hold.PlacedBy
		}
		if h.mayRelease(k, hold.PartnerID, hold.Person) {
			row.ReleaseURL = web.HoldURL(hold)
		}
		v.Holds = append(v.Holds, row)
	}
	may, err := h.mayBeHeld(k, l)
	if may && k.MayAt(web.HoldLeads, l.PartnerID) {
		v.HoldURL = web.LeadURL(l.ID) + "/hold"
	}
	return err
}

func (h *Handlers) mayRelease(k *web.Request, partner uuid.UUID, person bool) bool {
	if person {
		return k.MayForAllPartners(web.HoldLeads)
	}
	return k.MayAt(web.HoldLeads, partner)
}
