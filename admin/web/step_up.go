package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// RequireProof leads whoever was not asked for long to a page that asks, and
// back. Somebody who is signing in was asked a moment ago.
func RequireProof(k *Request) error {
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
	return ErrAnswered
}

// StepUp says whether a form has to ask for the password or a code.
func StepUp(k *Request) ui.StepUp {
	return ui.StepUp{Needed: !k.Session.Confirmed(k.Now), Code: len(k.Session.Staff.TOTPSealed) > 0}
}

// checkProof checks the form's proof where one is needed; the mistake is the form's to show.
func checkProof(k *Request) (mistakes ui.Errors, err error) {
	if !StepUp(k).Needed {
		return nil, nil
	}
	if err := k.console.Staff.Confirm(k.R.Context(), k.By, k.Session, k.R.PostForm.Get("proof")); err != nil {
		_, message, other := formError(k, err)
		if other != nil {
			return nil, other
		}
		return ui.Errors{{Field: "proof", Message: message}}, nil
	}
	k.Session.ConfirmedAt = &k.Now
	return nil, nil
}
