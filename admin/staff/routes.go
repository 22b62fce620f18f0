// Package staff contains the pages for managing users and their roles.
package staff

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/staff"
)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	AdminURL string // origin of the console
	Audit    *audit.Log
	Staff    *staff.Service
}

// Routes returns the routes for managing users.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/staff", Page: "Staff", Needs: web.ReadStaff, Handle: h.listPage},
		{Method: get, Path: "/staff/invite", Page: "Invite user", Needs: web.WriteStaff, Handle: h.invitePage},
		{
			Method:    post,
			Path:      "/staff/invite",
			Needs:     web.WriteStaff,
			Creates:   "/staff/{object}",
			ShownOnce: true,
			Form:      "/staff/invite",
			Saves:     roleFields(),
			Handle:    h.invite,
		},
		{Method: get, Path: "/staff/{id}", Needs: web.ReadStaff, Handle: h.memberPage},
		{Method: get, Path: "/staff/{id}/access", Needs: web.ReadStaff, Handle: h.accessPage},
		{
			Method: post,
			Path:   "/staff/{id}/roles",
			Needs:  web.WriteStaff,
			Form:   "/staff/{id}",
			Saves:  roleFields(),
			Handle: h.setRoles,
		},
		{Method: get, Path: "/staff/{id}/deactivate", Needs: web.WriteStaff, Handle: h.deactivatePage},
		{Method: post, Path: "/staff/{id}/deactivate", Needs: web.WriteStaff, Handle: h.deactivate},
		{Method: get, Path: "/staff/{id}/reactivate", Needs: web.WriteStaff, Handle: h.reactivatePage},
		{Method: post, Path: "/staff/{id}/reactivate", Needs: web.WriteStaff, Handle: h.reactivate},
		{Method: get, Path: "/staff/{id}/reset-second-factor", Needs: web.WriteStaff, Handle: h.resetPage},
		{Method: post, Path: "/staff/{id}/reset-second-factor", Needs: web.WriteStaff, Handle: h.reset},
		{Method: get, Path: "/staff/{id}/invite", Needs: web.WriteStaff, Handle: h.inviteAgainPage},
		{Method: post, Path: "/staff/{id}/invite", Needs: web.WriteStaff, Creates: "/staff/{object}", ShownOnce: true,
			Handle: h.inviteAgain},
		{Method: post, Path: "/staff/{id}/sessions/{session}/end", Needs: web.WriteStaff, Handle: h.endSession},
		{Method: get, Path: "/staff/{id}/sessions/end", Needs: web.WriteStaff, Handle: h.endSessionsPage},
		{Method: post, Path: "/staff/{id}/sessions/end", Needs: web.WriteStaff, Handle: h.endSessions},
	}
}
