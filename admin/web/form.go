package web

import (
	"net/http"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/templates/ui"
)

// Form is how a form is submitted. What it changes and what it shows is the area's; the
// order of the checks, mistakes, step-up, conflicts and the page that follows are the same
// for all.
type Form struct {
	Errors ui.Errors // found in the values; the change is not made then
	StepUp StepUpRule
	// Do makes the change. It returns the address of the page that follows, or "" when it
	// has written the response itself.
	Do func() (next string, err error)
	// Reload reads the object again after somebody else changed it, and returns its version
	// and what they changed. It is nil for a form whose object has no version.
	Reload func() (version int, conflict *ui.Conflict, err error)
	// FieldOf returns the field at which an error is shown. If it is nil, the error is shown at
	// the fields that it names, or above the form.
	FieldOf func(*apperr.Error) string
	// Show shows the form again.
	Show func(Rejected) error
}

// Field is [Form.FieldOf] for a form whose errors all belong to one field.
func Field(name string) func(*apperr.Error) string {
	return func(*apperr.Error) string { return name }
}

// StepUpRule is when a form requires a step-up.
type StepUpRule int

const (
	NoStepUp       StepUpRule = iota
	StepUpRequired            // the form has a field for it
	StepUpOnSubmit            // only what was chosen needs it: the form gets the field once it was submitted without
)

// StepUpWhen returns StepUpOnSubmit if the chosen values need a step-up.
func StepUpWhen(needed bool) StepUpRule {
	if needed {
		return StepUpOnSubmit
	}
	return NoStepUp
}

// Rejected is why a form is shown again.
type Rejected struct {
	Status   int
	Errors   ui.Errors
	Version  int          // of the object, as the form was sent; the newest one after a conflict
	Conflict *ui.Conflict // what somebody else changed meanwhile; Errors is empty then
	StepUp   ui.StepUp
	Err      error // of Do; nil when it was not called
	message  string
}

// Message returns the text of Err, or of the first mistake, for a form that shows one.
func (r Rejected) Message() string {
	if r.Err == nil && len(r.Errors) > 0 {
		return r.Errors[0].Message
	}
	return r.message
}

// Submit submits a form.
func Submit(k *Request, f Form) error {
	r := Rejected{Status: http.StatusUnprocessableEntity, Errors: f.Errors, Version: FormRowVersion(k)}
	proof, err := applyStepUp(k, f.StepUp, &r)
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

// Reject shows a form again because of an error. An error that no form shows is returned.
func Reject(k *Request, err error, f Form) error {
	return f.reject(k, err, Rejected{Version: FormRowVersion(k)})
}

func (f Form) reject(k *Request, err error, r Rejected) error {
	status, message, other := formError(k, err)
	if other != nil {
		return other
	}
	r.Status, r.Errors, r.Err, r.message = status, fieldErrors(k, err, message), err, message
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

// applyStepUp checks a form's step-up and sets what the form shows of it.
func applyStepUp(k *Request, p StepUpRule, r *Rejected) (ui.Errors, error) {
	switch p {
	case NoStepUp:
		return nil, nil
	case StepUpOnSubmit:
		r.StepUp = StepUp(k)
		if r.StepUp.Needed && !k.R.PostForm.Has("proof") {
			return ui.Errors{{Field: "proof", Message: "Confirm this change with your password or a code."}}, nil
		}
		return checkStepUp(k)
	case StepUpRequired:
		mistakes, err := checkStepUp(k)
		r.StepUp = StepUp(k)
		return mistakes, err
	}
	panic("unknown step-up rule")
}
