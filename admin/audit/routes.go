// Package audit is the pages of the audit trail.
package audit

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
)

// Handlers answers the pages of the audit trail.
type Handlers struct {
	Audit *audit.Log
}

// Routes are the pages and forms of the audit trail.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/audit", Needs: web.ReadAudit, Handle: h.auditList},
		{Method: post, Path: "/audit/verify", Needs: web.VerifyAudit, Handle: h.auditVerify},
	}
}
