package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// FormErrors returns the status and the field errors that a form shows for an error. If the user cannot
// fix the error, FormErrors returns it in the result other.
func (k *Request) FormErrors(err error) (status int, all ui.Errors, other error) {
	status, message, other := k.formError(err)
	if other != nil {
		return 0, nil, other
	}
	return status, k.fieldErrors(err, message), nil
}

// formError returns the status and the message for an error that a form shows. If the user cannot fix
// the error, formError returns it in the result other.
func (k *Request) formError(err error) (status int, message string, other error) {
	f := apperr.As(err)
	if f == nil || f.Code == apperr.Internal || f.Code == apperr.Unavailable && f.RetryAfter == 0 {
		return 0, "", err
	}
	if err := k.submitted(); err != nil {
		return 0, "", err
	}
	if f.RetryAfter > 0 {
		message = " Try again in " + ui.RetryDelayText(k.setRetryAfter(f)) + "."
	}
	status = f.Status()
	if f.Code == apperr.Invalid {
		status = http.StatusUnprocessableEntity
	}
	return status, f.Message + message, nil
}

// fieldErrors returns one error for each field that err lists. If err lists no fields, it returns
// one error for the whole form.
func (k *Request) fieldErrors(err error, message string) (all ui.Errors) {
	for _, field := range apperr.As(err).Fields {
		all = append(all, ui.FieldError{
			Field:   strings.Join(field.Path, "-"),
			Message: field.Message,
			Code:    string(field.Code),
		})
	}
	if len(all) == 0 {
		e := ui.FieldError{Message: message, Code: apperr.As(err).Reason}
		if object := apperr.As(err).Object; object != "" {
			e.URL = k.objectURL(object)
		}
		all = ui.Errors{e}
	}
	return all
}

// objectURL returns the URL of the object that an error refers to. It returns "" if the object is
// not a payout run or if the user cannot see it.
func (k *Request) objectURL(object string) string {
	if run, err := id.Parse(id.Payout, object); err == nil && k.MayForAllPartners(ReadPayouts) {
		return RunURL(run)
	}
	return ""
}

// FormRowVersion returns the version that the object had when the form was opened. If the form
// contains no version, it returns 0, which is always stale.
func (k *Request) FormRowVersion() int {
	n, _ := strconv.Atoi(k.R.PostForm.Get("version"))
	return max(n, 0)
}

// Conflict describes the last change to an object that was changed while the form was open.
func (k *Request) Conflict(kind, object string, at time.Time) (*ui.Conflict, error) {
	return k.ConflictOf(audit.Filter{Kind: kind, Object: object}, at)
}

// ConflictOf is like [Request.Conflict], but an audit filter identifies the object.
func (k *Request) ConflictOf(f audit.Filter, at time.Time) (*ui.Conflict, error) {
	last, err := k.LastChange(f)
	if err != nil {
		return nil, err
	}
	if last.ID == 0 {
		return &ui.Conflict{Actor: "Another user", At: at}, nil
	}
	return &ui.Conflict{Actor: last.Actor, At: last.At, Changes: Changes(last.Before, last.After)}, nil
}

// LastChange returns the audit event for the last change, or a zero event if there have been no
// changes.
func (k *Request) LastChange(f audit.Filter) (last models.AuditEvent, err error) {
	f.Outcome = models.AuditDone
	found, err := k.console.Audit.List(k.R.Context(), k.Scope, k.EventReader(), f, audit.Page{Size: 1})
	if err == nil && len(found.Events) > 0 {
		last = found.Events[0]
	}
	return last, err
}
