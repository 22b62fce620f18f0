package web

import (
	"net/http"
	"strings"

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
	// KeepAfterFailure shows the form again if the platform fails or the user may not make this change, so that it
	// can be submitted again. Otherwise an error page is shown.
	KeepAfterFailure bool
	// Show shows the form again.
	Show func(Rejected) error
}

// Field returns a function for [Form.FieldOf] that shows all errors at one field.
func Field(name string) func(*apperr.Error) string {
	return func(*apperr.Error) string { return name }
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
	stepUp, proof, err := k.applyStepUp(f.StepUp, len(f.Errors) > 0)
	if err != nil {
		return err
	}
	r.StepUp = stepUp
	if r.Errors = append(r.Errors, proof...); len(r.Errors) > 0 {
		return f.Show(r)
	}
	next, err := f.Do()
	switch {
	case err != nil && f.keeps(err):
		return f.showFailure(k, apperr.As(err))
	case err != nil:
		return f.reject(k, err, r)
	case next != "":
		return k.Redirect(next)
	}
	return nil
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

// Reject shows a form again with an error. If the user cannot fix the error, Reject returns it.
func (k *Request) Reject(err error, f Form) error {
	return f.reject(k, err, Rejected{Version: k.FormRowVersion()})
}

func (f Form) keeps(err error) bool {
	if !f.KeepAfterFailure {
		return false
	}
	e := apperr.As(err)
	return Failure(err) != nil || e != nil && e.Code == apperr.Forbidden
}

func (f Form) showFailure(k *Request, failure *apperr.Error) error {
	k.logError(failure)
	k.By.Form = audit.Submission{}
	return f.Show(Rejected{
		Status: failure.Status(),
		StepUp: k.StepUpAgain(),
		Errors: ui.Errors{{Message: failure.Message, Code: failure.Reason}},
	})
}

// CheckTypedName checks that the user typed the name of the object to confirm a change.
func (k *Request) CheckTypedName(name string) ui.Errors {
	if strings.TrimSpace(k.R.PostForm.Get("name")) != name {
		return ui.Errors{{Field: "name", Message: "The text does not match. Type “" + name + "” to confirm."}}
	}
	return nil
}
