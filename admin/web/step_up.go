package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// RequireProof leads whoever was not asked for long to a page that asks, and
// back. Somebody who is signing in was asked a moment ago.
func (k *Request) RequireProof() error {
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
func (k *Request) StepUp() ui.StepUp {
	return ui.StepUp{Needed: !k.Session.Confirmed(k.Now), Code: len(k.Session.Staff.TOTPSealed) > 0}
}

// Prove checks the form's proof where one is needed; the mistake is the form's to show.
func (k *Request) Prove() (mistakes ui.Errors, err error) {
	if !k.StepUp().Needed {
		return nil, nil
	}
	if err := k.console.Staff.Confirm(k.R.Context(), k.By, k.Session, k.R.PostForm.Get("proof")); err != nil {
		_, message, other := k.FormError(err)
		if other != nil {
			return nil, other
		}
		return ui.Errors{{Field: "proof", Message: message}}, nil
	}
	k.Session.ConfirmedAt = &k.Now
	return nil, nil
}

// ProveIf checks the step-up proof of a form that needs one only for some choices.
// The form shows the proof field once it has been submitted without it.
func (k *Request) ProveIf(needed bool) (s ui.StepUp, mistakes ui.Errors, err error) {
	if s = k.StepUp(); !needed || !s.Needed {
		return ui.StepUp{}, nil, nil
	}
	if !k.R.PostForm.Has("proof") {
		return s, ui.Errors{{Field: "proof", Message: "Confirm this change with your password or a code."}}, nil
	}
	mistakes, err = k.Prove()
	return s, mistakes, err
}
