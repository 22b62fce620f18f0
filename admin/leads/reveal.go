package leads

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/leads"
	"github.com/pingpost/pingpost/templates/ui"
)

// revealedFor is how long a revealed field is shown.
const revealedFor = time.Minute

func (h *Handlers) revealPage(k *web.Request) error {
	lead, err := h.notErased(k)
	if err != nil {
		return err
	}
	return h.showReveal(k, http.StatusOK, lead, k.R.URL.Query().Get("field"), web.Rejected{StepUp: k.StepUpAgain()})
}

// reveal responds with one field of the contact record. It does not redirect, so that the value is never
// in a URL. After a minute, the browser returns to the lead's page.
func (h *Handlers) reveal(k *web.Request) error {
	lead, err := h.notErased(k)
	if err != nil {
		return err
	}
	f := k.R.PostForm
	asked := reveal.NewReveal{
		Lead: lead, Field: models.ContactField(f.Get("field")), Reason: models.RevealReason(f.Get("reason")), Note: f.Get("note"),
	}
	_, err = asked.Check()
	return k.Submit(web.Form{
		Errors: mistakes(err),
		StepUp: web.StepUpAlways,
		Do: func() (string, error) {
			value, err := h.Reveals.By(k.By).Reveal(k.R.Context(), k.Scope, asked)
			if err != nil {
				return "", err
			}
			k.W.Header().Set("Refresh", strconv.Itoa(int(revealedFor.Seconds()))+"; url="+web.LeadURL(lead))
			return "", k.ShowSecret(http.StatusOK, view.Revealed(view.RevealedView{
				Shell:   k.Shell(ui.Sentence(reveal.Fields.Label(asked.Field)), allLeads, leadLink(lead)),
				Field:   string(asked.Field),
				Value:   readable(asked.Field, value),
				Until:   k.Now.Add(revealedFor),
				Seconds: int(revealedFor.Seconds()),
				Lead:    leadLink(lead),
			}))
		},
		KeepAfterFailure: true,
		Show:             func(r web.Rejected) error { return h.showReveal(k, r.Status, lead, string(asked.Field), r) },
	})
}

// mistakes converts an error in the submitted values to errors that the form shows.
func mistakes(err error) ui.Errors {
	if rejected := apperr.As(err); rejected != nil {
		return ui.Errors{{Field: rejected.Reason, Message: rejected.Message, Code: rejected.Reason}}
	}
	return nil
}

// notErased returns the lead id in the URL. It returns web.ErrNotFound if the lead does not exist, is
// outside the user's scope, or has been erased.
func (h *Handlers) notErased(k *web.Request) (uuid.UUID, error) {
	lead, err := k.PathID("id", id.Lead)
	if err != nil {
		return lead, err
	}
	l, err := h.Leads.Get(k.R.Context(), k.Scope, lead)
	if err != nil {
		return lead, web.OrNotFound(err)
	}
	if l.State == models.LeadErased {
		return lead, web.ErrNotFound
	}
	return lead, nil
}

func (h *Handlers) showReveal(k *web.Request, status int, lead uuid.UUID, field string, r web.Rejected) error {
	f := k.R.PostForm
	v := view.RevealView{
		Shell:  k.Shell("Reveal contact data", allLeads, leadLink(lead)),
		Action: web.LeadURL(lead) + "/reveal", Seconds: int(revealedFor.Seconds()),
		Lead:   leadLink(lead),
		Note:   f.Get("note"),
		StepUp: r.StepUp,
		Errors: r.Errors,
	}
	for _, offered := range reveal.Fields {
		v.Fields = append(v.Fields, ui.Option{Value: string(offered.Code), Label: ui.Sentence(offered.Label)})
	}
	v.Fields = web.SelectOption(v.Fields, field)
	for _, reason := range reveal.Reasons {
		v.Reasons = append(v.Reasons, web.ReasonOption(string(reason.Code), reason.Label))
	}
	v.Reasons = web.SelectOption(v.Reasons, f.Get("reason"))
	return k.Show(status, view.Reveal(v))
}

func leadLink(lead uuid.UUID) ui.Link {
	return ui.Link{Label: id.Format(id.Lead, lead), URL: web.LeadURL(lead)}
}

func readable(field models.ContactField, value string) string {
	var indented bytes.Buffer
	if field == models.ContactAnswers && json.Indent(&indented, []byte(value), "", "  ") == nil {
		return indented.String()
	}
	return value
}
