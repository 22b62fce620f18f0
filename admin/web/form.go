package web

import (
	"net/http"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/templates/ui"
)

// Form is a submitted form. Each area of the console defines how its forms make changes and how they are
// shown. [Request.Submit] handles errors, step-ups, conflicts and redirects in the same way for all forms.
type Form struct {
	Errors ui.Errors // errors in the submitted values; if there are any, Do is not called
	StepUp StepUpRule
	// Do makes the change. It returns the page to redirect to, or "" if it has written the
	// response.
	Do func() (next string, err error)
	// Reload reads the object again after a concurrent change. It returns the new version and the
	// change. Reload is nil if the object has no version.
	Reload func() (version int, conflict *ui.Conflict, err error)
	// FieldOf returns the field at which an error is shown. If FieldOf is nil, the error is shown
	// at the fields that the error lists, or above the form.
	FieldOf func(*apperr.Error) string
	// Show shows the form again.
	Show func(Rejected) error
}

// Field returns a function for [Form.FieldOf] that shows all errors at one field.
func Field(name string) func(*apperr.Error) string {
	return func(*apperr.Error) string { return name }
}

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

// Rejected contains the reason why a form is shown again.
type Rejected struct {
	Status   int
	Errors   ui.Errors
	Version  int          // the submitted version or, after a conflict, the current one
	Conflict *ui.Conflict // the concurrent change, or nil; if it is set, Errors is empty
	StepUp   ui.StepUp
	Err      error // from Do; nil if Do was not called
	message  string
}

// Message returns the text of Err or of the first error in Errors. It is for forms that show only
// one error.
func (r Rejected) Message() string {
	if r.Err == nil && len(r.Errors) > 0 {
		return r.Errors[0].Message
	}
	return r.message
}

// Submit checks a form, makes its change and redirects. If there are errors, it shows the form
// again.
func (k *Request) Submit(f Form) error {
	r := Rejected{Status: http.StatusUnprocessableEntity, Errors: f.Errors, Version: k.FormRowVersion()}
	proof, err := k.applyStepUp(f.StepUp, &r)
	if err != nil {
		return err
	}
	if r.Errors = append(r.Errors, proof...); len(r.Errors) > 0 {
		return f.Show(r)
	}
	next, err := f.Do()
	switch {
	case err != nil:
		return f.reject(k, err, r)
	case next != "":
		return k.Redirect(next)
	}
	return nil
}

// Failure returns err if the platform caused it, and nil if the user did.
func Failure(err error) *apperr.Error {
	if f := apperr.As(err); f != nil && (f.Code == apperr.Unavailable || f.Code == apperr.Internal) {
		return f
	}
	return nil
}

// ShowFailure logs an error and shows it in a form, which can then be submitted again.
func (k *Request) ShowFailure(f *apperr.Error, show func(Rejected) error) error {
	k.logError(f)
	k.By.Form = audit.Submission{}
	return show(Rejected{
		Status: f.Status(), StepUp: k.StepUpAgain(), Errors: ui.Errors{{Message: f.Message, Code: f.Reason}},
	})
}

// Reject shows a form again with an error. If the user cannot fix the error, Reject returns it.
func (k *Request) Reject(err error, f Form) error {
	return f.reject(k, err, Rejected{Version: k.FormRowVersion()})
}

func (f Form) reject(k *Request, err error, r Rejected) error {
	status, message, other := k.formError(err)
	if other != nil {
		return other
	}
	r.Status, r.Errors, r.Err, r.message = status, k.fieldErrors(err, message), err, message
	if f.FieldOf != nil {
		r.Errors = ui.Errors{{Field: f.FieldOf(apperr.As(err)), Message: message, Code: apperr.As(err).Reason}}
	}
	if f.Reload != nil && IsStale(r.Err) {
		r.Errors = nil
		if r.Version, r.Conflict, err = f.Reload(); err != nil {
			return err
		}
	}
	return f.Show(r)
}

// applyStepUp checks the step-up of a form and sets r.StepUp.
func (k *Request) applyStepUp(p StepUpRule, r *Rejected) (ui.Errors, error) {
	switch p {
	case NoStepUp:
		return nil, nil
	case StepUpOnSubmit:
		r.StepUp = k.StepUp()
		if r.StepUp.Needed && !k.R.PostForm.Has("proof") {
			return ui.Errors{{Field: "proof", Message: "Confirm this change with your password or a code."}}, nil
		}
		return k.checkStepUp()
	case StepUpRequired:
		mistakes, err := k.checkStepUp()
		r.StepUp = k.StepUp()
		return mistakes, err
	case StepUpAlways:
		r.StepUp = k.StepUpAgain()
		if len(r.Errors) > 0 {
			return nil, nil
		}
		return k.confirm()
	}
	panic("unknown step-up rule")
}
