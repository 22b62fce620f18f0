package web

import (
	"strings"
	"time"

	"github.com/pingpost/pingpost/internal/authz"
	"github.com/pingpost/pingpost/models"
)

// Route is an address of the console. What is neither open, nor a step of signing
// in, nor one's own, needs a permission of the policy.
type Route struct {
	Method, Path string
	Needs        authz.Permission
	Open         bool                // for everybody, signed in or not
	Own          bool                // for everybody who is signed in: about themselves
	Login        models.SessionStage // for whoever is at this step of signing in
	Limit        int64               // of a request's bytes, where it is not that of a form
	Long         bool                // a file on its way in or out: may take longer than a page
	Creates      string              // the page of what the form creates, see [created]; a form sent twice leads there
	Form         string              // the page that shows the form, where it can be restored; see [saveForm]
	ShownOnce    bool                // the form's answer shows a secret that is not shown again
	Handle       func(*Request) error
}

// pattern is the path as the router has it: /staff/:id for /staff/{id}.
func (r Route) pattern() string {
	return strings.TrimSuffix(placeholder.ReplaceAllString(r.Path, ":$1"), "{$}")
}

// stage is how far a session must have come.
func (r Route) stage() models.SessionStage {
	if r.Login != "" {
		return r.Login
	}
	return models.StageOpen
}

// live reports whether the route is a part of a page that the page requests by itself,
// every two seconds. Such requests do not count as use of the session.
func (r Route) live() bool { return strings.HasSuffix(r.Path, "/live") }

// within bounds how long the route may take.
func (r Route) within() time.Duration {
	if r.Long {
		return transferTimeout
	}
	return requestTimeout
}

// action names the route in the audit trail.
func (r Route) action() string {
	if r.Needs == (authz.Permission{}) {
		return "console.deny"
	}
	return r.Needs.Object + "." + r.Needs.Action
}
