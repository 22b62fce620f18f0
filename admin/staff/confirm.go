package staff

import (
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/templates/ui"
)

// confirmView returns the form that confirms a change to a user. The parameter version is the version
// that the user had when the form was opened.
type confirmView = func(k *web.Request, p staff.Member, version int, mistakes ui.Errors) *ui.ConfirmView

func (h *Handlers) confirmPageOf(k *web.Request, confirm confirmView) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	return k.Show(http.StatusOK, ui.Confirm(*confirm(k, p, p.RowVersion, nil)))
}

// confirmed handles a submitted confirmation form. If the step-up and the typed name, where required,
// are correct, it calls the function do to make the change. The function do has the same results as Do
// in [web.Form].
func (h *Handlers) confirmed(
	k *web.Request, confirm confirmView, do func(staff.Member) (next string, err error),
) error {
	p, err := h.member(k)
	if err != nil {
		return err
	}
	var mistakes ui.Errors
	if name := confirm(k, p, p.RowVersion, nil).TypeName; !strings.EqualFold(strings.TrimSpace(k.R.PostForm.Get("name")), name) && name != "" {
		mistakes = append(mistakes, ui.FieldError{
			Field:   "name",
			Message: "The text does not match. Type “" + p.Email + "” to confirm.",
		})
	}
	return k.Submit(web.Form{
		Errors: mistakes,
		StepUp: web.StepUpRequired,
		Do:     func() (string, error) { return do(p) },
		Show: func(r web.Rejected) error {
			if r.Err != nil {
				return h.showRejected(k, p, r.Err)
			}
			return k.Show(r.Status, ui.Confirm(*confirm(k, p, r.Version, r.Errors)))
		},
	})
}
