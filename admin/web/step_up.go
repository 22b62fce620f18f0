package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// RequireStepUp redirects to the step-up page, unless the user has recently signed in or
// confirmed their identity. It returns ErrResponseWritten if it redirects.
func RequireStepUp(k *Request) error {
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
func StepUp(k *Request) ui.StepUp {
	return ui.StepUp{Needed: !k.Session.Confirmed(k.Now), Code: len(k.Session.Staff.TOTPSealed) > 0}
}

// StepUpAgain is like StepUp, but requires the step-up even if the user has just confirmed their
// identity.
func StepUpAgain(k *Request) ui.StepUp {
	s := StepUp(k)
	s.Needed = true
	return s
}

func checkStepUp(k *Request) (mistakes ui.Errors, err error) {
	if !StepUp(k).Needed {
		return nil, nil
	}
	return confirm(k)
}

// confirm checks the password or code in a form.
func confirm(k *Request) (mistakes ui.Errors, err error) {
	if err := k.console.Staff.By(k.By).Confirm(k.R.Context(), k.Session, k.R.PostForm.Get("proof")); err != nil {
		_, message, other := formError(k, err)
		if other != nil {
			return nil, other
		}
		return ui.Errors{{Field: "proof", Message: message}}, nil
	}
	k.Session.ConfirmedAt = &k.Now
	return nil, nil
}
