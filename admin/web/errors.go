package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// Errors of the console itself.
var (
	errSignIn    = apperr.New(apperr.Unauthorized, "sign_in", "Sign in to continue.")
	ErrForbidden = apperr.New(apperr.Forbidden, "role", "Your roles do not allow this.")
	errCrossSite = apperr.New(apperr.Forbidden, "cross_site", "The request came from another site.")
	ErrNotFound  = apperr.New(apperr.NotFound, "page", "Page not found.")
	ErrForm      = apperr.New(apperr.Invalid, "form",
		"The form is not valid. Open the page again, then fill in and submit the form.")
	errTooLarge = apperr.New(apperr.TooLarge, "form", "The form is larger than 256 KB. Shorten it and submit it again.")
	errMethod   = apperr.New(apperr.Invalid, "method", "This page does not accept this kind of request.")
	errBroken   = apperr.New(apperr.Internal, "panic", "An unexpected error occurred.")
)

// fail shows an error page. For an error that is not an [apperr.Error], the status is 503, because such
// an error usually comes from the database.
func (k *Request) fail(err error) {
	if errors.Is(err, ErrResponseWritten) || k.responseWritten || errors.Is(k.submitted(), ErrResponseWritten) {
		return
	}
	f := apperr.As(err)
	if f == nil {
		f = apperr.Wrap(err, apperr.Unavailable, "database", "The database is unavailable. Try again.").Retry(time.Second)
	}
	if errors.Is(f, errSignIn) {
		k.signIn()
		return
	}
	status := f.Status()
	if errors.Is(f, errMethod) {
		status = http.StatusMethodNotAllowed
	}
	k.logged.Outcome, k.logged.Cause = f.Reason, errors.Unwrap(f)
	if status < http.StatusInternalServerError && errors.Unwrap(f) != nil {
		k.console.Log.Error("page failed", "request_id", k.By.RequestID, "route", k.Route.Path, "error", err.Error())
	}
	k.Notices = slices.DeleteFunc(k.Notices, func(n Notice) bool { return n.Code == savedCode })
	v := ui.ErrorView{Shell: k.Shell(""), Status: status}
	// All error pages with the same status are identical, so that a 404 does not reveal whether
	// the page exists for other users.
	v.Shell.Path, v.Shell.HelpURL = "/", documentation+helpPages["/"]
	for i := range v.Shell.Nav {
		v.Shell.Nav[i].Current = false
	}
	switch f.Code {
	case apperr.Forbidden:
		k.AuditRejection(f)
		if errors.Is(f, ErrForbidden) {
			v.Permission = PermissionLabel(k.Route.Needs)
			for _, r := range k.Access.RolesGranting(k.Route.Needs) {
				v.Roles = append(v.Roles, string(r))
			}
			_, v.Everywhere = k.ScopeOf(k.Route.Needs)
		}
	case apperr.TooMany, apperr.Unavailable:
		if f.RetryAfter == 0 { // a user or an operator must do something first
			v.Message = f.Message
		}
		v.RetryAfter = k.setRetryAfter(f)
	default:
	}
	if status >= http.StatusInternalServerError {
		v.RequestID = k.By.RequestID
	}
	if k.R.Method == http.MethodGet && status >= http.StatusTooManyRequests {
		v.RetryURL = k.R.URL.RequestURI()
	}
	_ = k.Show(status, ui.ErrorPage(v))
}

// logError records an error in the access log, for pages that show the error themselves.
func (k *Request) logError(f *apperr.Error) {
	k.logged.Outcome, k.logged.Cause = f.Reason, errors.Unwrap(f)
}

// AuditRejection records in the audit log that a signed-in user's request was rejected.
func (k *Request) AuditRejection(f *apperr.Error) {
	if !k.SignedIn() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.R.Context()), requestTimeout)
	defer cancel()
	e := audit.Event{
		Action: k.Route.action(),
		Kind:   "route",
		Object: k.Route.Method + " " + k.Route.Path,
		Reason: f.Reason,
	}
	if k.Route.Needs != (authz.Permission{}) {
		e.Reason += ": " + k.Route.Needs.String()
	}
	if err := k.console.Audit.LogRejectedRequest(ctx, k.By, e); err != nil {
		k.console.Log.Error("cannot record a rejection in the audit log", "request_id", k.By.RequestID, "error",
			err.Error())
	}
}

// signIn redirects to the next step of signing in. The query parameter "next" contains the page to
// return to. If the user submitted a form, this is the page that restores the form's values.
func (k *Request) signIn() {
	path, back := StepAfter(k.Session.Stage), k.R.URL.RequestURI()
	if k.R.Method != http.MethodGet {
		back = k.saveForm()
	}
	if back != "" && back != "/" && path != "/" {
		path += "?next=" + Escape(back)
	}
	_ = k.Redirect(path)
}

// StepAfter returns the page for the next step of signing in. The parameter stage is the current stage
// of the session.
func StepAfter(stage models.SessionStage) string {
	switch stage {
	case models.StageCode:
		return "/login/code"
	case models.StageEnrol:
		return "/login/second-factor"
	case models.StageOpen:
		return "/"
	}
	return "/login"
}

// setRetryAfter sets the Retry-After header and returns its value in seconds.
func (k *Request) setRetryAfter(f *apperr.Error) (seconds int) {
	seconds = max(1, int(f.RetryAfter.Seconds()+0.999))
	k.W.Header().Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}

func badForm(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errTooLarge
	}
	if _, ok := errors.AsType[url.EscapeError](err); ok { // it quotes the form, which must not be logged
		return ErrForm
	}
	return ErrForm.WithCause(err)
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

// objectURL returns the URL of the object that an error refers to. It returns "" if the object is
// not a payout run or if the user cannot see it.
func (k *Request) objectURL(object string) string {
	if run, err := id.Parse(id.Payout, object); err == nil && k.MayForAllPartners(ReadPayouts) {
		return RunURL(run)
	}
	return ""
}

// FormErrors returns the status and the field errors that a form shows for an error. If the user cannot
// fix the error, FormErrors returns it in the result other.
func (k *Request) FormErrors(err error) (status int, all ui.Errors, other error) {
	status, message, other := k.formError(err)
	if other != nil {
		return 0, nil, other
	}
	return status, k.fieldErrors(err, message), nil
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

// OrNotFound returns ErrNotFound if err has the code apperr.NotFound, and err otherwise.
func OrNotFound(err error) error {
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return ErrNotFound
	}
	return err
}
