package admin

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/internal/fault"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

// The console's own refusals.
var (
	errSignIn    = fault.New(fault.Unauthorized, "sign_in", "Sign in first.")
	errForbidden = fault.New(fault.Forbidden, "role", "None of your roles allows this.")
	errForeign   = fault.New(fault.Forbidden, "cross_site", "The request came from another site.")
	errNoPage    = fault.New(fault.NotFound, "page", "There is nothing here.")
	errForm      = fault.New(fault.Invalid, "form", "The form could not be read.")
	errTooLarge  = fault.New(fault.TooLarge, "form", "The form is larger than 256 KB.")
	errMethod    = fault.New(fault.Invalid, "method", "This page does not take this kind of request.")
	errBroken    = fault.New(fault.Internal, "panic", "Something went wrong on our side.")
)

var statuses = map[fault.Code]int{
	fault.Invalid:      http.StatusBadRequest,
	fault.Unauthorized: http.StatusUnauthorized,
	fault.Forbidden:    http.StatusForbidden,
	fault.NotFound:     http.StatusNotFound,
	fault.TooLarge:     http.StatusRequestEntityTooLarge,
	fault.TooMany:      http.StatusTooManyRequests,
	fault.Conflict:     http.StatusConflict,
	fault.Unavailable:  http.StatusServiceUnavailable,
	fault.Internal:     http.StatusInternalServerError,
}

// fail answers an error with a page. What is not a fault is logged, and told as a
// service that is not ready: nearly always it is the database.
func (k *call) fail(err error) {
	if errors.Is(err, errHandled) || k.answered || errors.Is(k.submitted(), errHandled) {
		return
	}
	f := fault.As(err)
	if f == nil {
		f = fault.Wrap(err, fault.Unavailable, "database", "The database cannot be reached just now.")
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
	case fault.Forbidden:
		k.tellRefusal(f)
		if errors.Is(f, errForbidden) {
			v.Permission, v.GivenBy = permissionWords(k.route.needs), k.whoGives()
		}
	case fault.TooMany, fault.Unavailable:
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
func (k *call) tellRefusal(f *fault.Error) {
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
func (k *call) comeBack(f *fault.Error) (seconds int) {
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
