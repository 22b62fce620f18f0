package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// RequireStepUp redirects to the step-up page, unless the user has recently signed in or
// confirmed their identity. It returns ErrResponseWritten if it redirects.
func (k *Request) RequireStepUp() error {
	if !k.SignedIn() || k.Session.Confirmed(k.Now) {
		return nil
	}
	next := k.R.URL.RequestURI()
	if k.R.Method != http.MethodGet {
		next = "/account"
	}
	if err := k.Redirect("/account/confirm?next=" + Escape(next)); err != nil {
		return err
	}
	return ErrResponseWritten
}

// StepUp reports whether a form requires a step-up, and whether the user can enter a code instead
// of the password.
func (k *Request) StepUp() ui.StepUp {
	return ui.StepUp{Needed: !k.Session.Confirmed(k.Now), Code: len(k.Session.Staff.TOTPSealed) > 0}
}

// StepUpAgain is like StepUp, but requires the step-up even if the user has just confirmed their
// identity.
func (k *Request) StepUpAgain() ui.StepUp {
	s := k.StepUp()
	s.Needed = true
	return s
}

func (k *Request) checkStepUp() (mistakes ui.Errors, err error) {
	if !k.StepUp().Needed {
		return nil, nil
	}
	return k.confirm()
}

// confirm checks the password or code in a form.
func (k *Request) confirm() (mistakes ui.Errors, err error) {
	if err := k.console.Staff.By(k.By).Confirm(k.R.Context(), k.Session, k.R.PostForm.Get("proof")); err != nil {
		_, message, other := k.formError(err)
		if other != nil {
			return nil, other
		}
		return ui.Errors{{Field: "proof", Message: message}}, nil
	}
	k.Session.ConfirmedAt = &k.Now
	return nil, nil
}
