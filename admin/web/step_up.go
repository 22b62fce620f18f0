package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// StepUpRule determines when a form requires a step-up.
type StepUpRule int

const (
	NoStepUp       StepUpRule = iota
	StepUpRequired            // unless the user has recently confirmed their identity; the form has a field for the proof
	StepUpOnSubmit            // the submitted values require it; the form is shown again with the field
	StepUpAlways              // always; the proof is checked only if the form has no errors, because a code works only once
)

// StepUpWhen returns StepUpOnSubmit if the submitted values require a step-up, and NoStepUp otherwise.
func StepUpWhen(needed bool) StepUpRule {
	if needed {
		return StepUpOnSubmit
	}
	return NoStepUp
}

// applyStepUp checks the step-up of a form, which may have errors in other fields. It returns the step-up to show if
// the form is shown again.
func (k *Request) applyStepUp(rule StepUpRule, hasErrors bool) (s ui.StepUp, mistakes ui.Errors, err error) {
	switch rule {
	case NoStepUp:
		return s, nil, nil
	case StepUpOnSubmit:
		s = k.StepUp()
		if s.Needed && !k.R.PostForm.Has("proof") {
			return s, ui.Errors{{Field: "proof", Message: "Confirm this change with your password or a code."}}, nil
		}
		mistakes, err = k.checkStepUp()
		return s, mistakes, err
	case StepUpRequired:
		mistakes, err = k.checkStepUp()
		return k.StepUp(), mistakes, err
	case StepUpAlways:
		s = k.StepUpAgain()
		if !hasErrors {
			mistakes, err = k.confirm()
		}
		return s, mistakes, err
	}
	panic("unknown step-up rule")
}

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
