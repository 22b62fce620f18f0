// Package login contains the pages for signing in and out, for accepting invitations and for
// setting up a second factor.
package login

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	Staff *staff.Service
}

// Routes returns the routes of this package.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/login", Open: true, Handle: h.loginPage},
		{Method: post, Path: "/login", Open: true, Handle: h.login},
		{Method: get, Path: "/login/code", Login: models.StageCode, Handle: h.codePage},
		{Method: post, Path: "/login/code", Login: models.StageCode, Handle: h.code},
		{Method: get, Path: "/login/second-factor", Login: models.StageEnrol, Handle: h.enrolPage},
		{Method: post, Path: "/login/second-factor", Login: models.StageEnrol, Handle: h.enrol},
		{Method: get, Path: "/invite/{token}", Open: true, Handle: h.invitePage},
		{Method: post, Path: "/invite/{token}", Open: true, Handle: h.acceptInvite},
		{Method: post, Path: "/logout", Own: true, Handle: h.logout},
		{Method: get, Path: "/account/second-factor", Own: true, Handle: h.enrolPage},
		{Method: post, Path: "/account/second-factor", Own: true, Handle: h.enrol},
		{Method: post, Path: "/account/recovery-codes/kept", Own: true, Handle: h.confirmRecoveryCodes},
	}
}
