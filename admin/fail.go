package admin

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// The console's own refusals.
var (
	errSignIn    = apperr.New(apperr.Unauthorized, "sign_in", "Sign in first.")
	errForbidden = apperr.New(apperr.Forbidden, "role", "None of your roles allows this.")
	errForeign   = apperr.New(apperr.Forbidden, "cross_site", "The request came from another site.")
	errNoPage    = apperr.New(apperr.NotFound, "page", "There is nothing here.")
	errForm      = apperr.New(apperr.Invalid, "form", "The form could not be read.")
	errTooLarge  = apperr.New(apperr.TooLarge, "form", "The form is larger than 256 KB.")
	errMethod    = apperr.New(apperr.Invalid, "method", "This page does not take this kind of request.")
	errBroken    = apperr.New(apperr.Internal, "panic", "Something went wrong on our side.")
)

var statuses = map[apperr.Code]int{
	apperr.Invalid:      http.StatusBadRequest,
	apperr.Unauthorized: http.StatusUnauthorized,
	apperr.Forbidden:    http.StatusForbidden,
	apperr.NotFound:     http.StatusNotFound,
	apperr.TooLarge:     http.StatusRequestEntityTooLarge,
	apperr.TooMany:      http.StatusTooManyRequests,
	apperr.Conflict:     http.StatusConflict,
	apperr.Unavailable:  http.StatusServiceUnavailable,
	apperr.Internal:     http.StatusInternalServerError,
}

// fail answers an error with a page. What is not a fault is logged, and told as a
// service that is not ready: nearly always it is the database.
func (k *call) fail(err error) {
	if errors.Is(err, errHandled) || k.answered || errors.Is(k.submitted(), errHandled) {
		return
	}
	f := apperr.As(err)
	if f == nil {
		f = apperr.Wrap(err, apperr.Unavailable, "database", "The database cannot be reached just now.")
	}
	if errors.Is(f, errSignIn) {
		k.signIn()
		return
	}
	status := statuses[f.Code]
	if errors.Is(f, errMethod) {
		status = http.StatusMethodNotAllowed
	}
	if status >= http.StatusInternalServerError || errors.Unwrap(f) != nil {
		k.Log.Error("a page failed", "request_id", k.by.RequestID, "route", k.route.path, "error", err.Error())
	}
	v := templates.ErrorView{Shell: k.shell(""), Status: status}
	// The same to the byte, wherever it is: a page that is not there must not tell
	// whether it is there for somebody else.
	v.Shell.Path = "/"
	for i := range v.Shell.Nav {
		v.Shell.Nav[i].Current = false
	}
	switch f.Code {
	case apperr.Forbidden:
		k.auditRefusal(f)
		if errors.Is(f, errForbidden) {
			v.Permission, v.GivenBy = permissionWords(k.route.needs), k.whoGives()
		}
	case apperr.TooMany, apperr.Unavailable:
		v.RetryAfter = k.comeBack(f)
	}
	if status >= http.StatusInternalServerError {
		v.RequestID = k.by.RequestID
	}
	if k.r.Method == http.MethodGet && status >= http.StatusTooManyRequests {
		v.RetryURL = k.r.URL.RequestURI()
	}
	_ = k.show(status, templates.ErrorPage(v))
}

// tellRefusal writes to the audit trail that a person was refused.
func (k *call) auditRefusal(f *apperr.Error) {
	if !k.signedIn() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.r.Context()), requestWithin)
	defer cancel()
	e := audit.Event{Action: k.route.action(), Kind: "route", Object: k.route.method + " " + k.route.path, Reason: f.Reason}
	if k.route.needs != (authz.Permission{}) {
		e.Reason += ": " + k.route.needs.String()
	}
	if err := k.Audit.Refused(ctx, k.by, e); err != nil {
		k.Log.Error("a refusal is not in the audit trail", "request_id", k.by.RequestID, "error", err.Error())
	}
}

// signIn leads to the step of signing in that is missing, and from there back: to the
// page, or to the page of a form that was sent.
func (k *call) signIn() {
	path, back := stepAfter(k.session.Stage), k.r.URL.RequestURI()
	if k.r.Method != http.MethodGet {
		back = k.keepForm()
	}
	if back != "" && back != "/" && path != "/" {
		path += "?next=" + escape(back)
	}
	_ = k.to(path)
}

// stepAfter is the page of what is missing to be signed in.
func stepAfter(stage models.SessionStage) string {
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

// comeBack tells a program when to try again, and returns the seconds for a person.
func (k *call) comeBack(f *apperr.Error) (seconds int) {
	seconds = max(1, int(f.RetryAfter.Seconds()+0.999))
	k.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return seconds
}

// whoGives names the roles that would allow the route, and who gives roles.
func (k *call) whoGives() string {
	roles := k.rolesThat(k.route.needs)
	if roles == "" {
		return ""
	}
	if _, somewhere := k.access.Scope(k.session.Staff.ID, k.route.needs); somewhere {
		roles += ", for all partners"
	}
	return "This needs the role " + roles + ". An administrator"
}

func badForm(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errTooLarge
	}
	return errForm.WithCause(err)
}

// validText refuses what Postgres cannot hold.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
