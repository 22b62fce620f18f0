// Package audit contains the audit log page.
package audit

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

// Handlers has a method for each route of this area, and the services that they use.
type Handlers struct {
	Audit *audit.Log
}

// Routes returns the routes of the audit log.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/audit", Page: "Audit log", Needs: web.ReadAudit, Handle: h.auditList},
		{Method: post, Path: "/audit/find", Needs: web.ReadAudit, Handle: h.auditFind},
		{Method: get, Path: "/audit.csv", Needs: web.ReadAudit, Long: true, Handle: h.auditCSV},
		{Method: post, Path: "/audit.csv", Needs: web.ReadAudit, Long: true, Handle: h.auditCSV},
		{Method: post, Path: "/audit/verify", Needs: web.VerifyAudit, Handle: h.auditVerify},
	}
}
