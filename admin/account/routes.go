// Package account contains the pages for the user's own account.
package account

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/staff"
)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	Staff *staff.Service
}

// Routes returns the routes of this package.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/account", Page: "Your account", Own: true, Handle: h.account},
		{Method: post, Path: "/account/password", Own: true, Handle: h.changePassword},
		{Method: post, Path: "/account/recovery-codes", Own: true, Creates: "/account", ShownOnce: true,
			Handle: h.newRecoveryCodes},
		{Method: get, Path: "/account/confirm", Own: true, Handle: h.confirmPage},
		{Method: post, Path: "/account/confirm", Own: true, Handle: h.confirm},
		{Method: post, Path: "/account/sessions/{session}/end", Own: true, Handle: h.revokeOwnSession},
		{Method: get, Path: otherSessions, Own: true, Handle: h.revokeOtherSessionsPage},
		{Method: post, Path: otherSessions, Own: true, Handle: h.revokeOtherSessions},
	}
}
