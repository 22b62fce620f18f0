package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// fail shows an error page. For an error that is not an [apperr.Error], the status is 503, because such
// an error usually comes from the database.
func (k *Request) fail(err error) {
	if errors.Is(err, ErrResponseWritten) || k.responseWritten || errors.Is(k.submitted(), ErrResponseWritten) {
		return
	}
	f := apperr.As(err)
	if f == nil {
		f = apperr.Wrap(err, apperr.Unavailable, "database", "The database is unavailable. Try again.").
			WithRetryAfter(time.Second)
	}
	if errors.Is(f, errSignIn) {
		k.signIn()
		return
	}
	status := f.Status()
	if errors.Is(f, errMethod) {
		status = http.StatusMethodNotAllowed
	}
	k.logError(f)
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
