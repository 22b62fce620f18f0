// Package partners is the pages and forms of partners.
package partners

import (
	"log/slog"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/audit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Handlers answers the pages and forms of partners.
type Handlers struct {
	Audit          *audit.Log
	DefaultSigning models.SigningMode // of partners without their own
	Log            *slog.Logger
	Partners       *partners.Service
	Prices         *ratecard.Service
	PublicURL      string // origin of the base URLs handed to partners
	RefusalsKept   int    // for each partner
	Reporting      *reporting.Reader
	Staff          *staff.Service
}

// Routes are the pages and forms about partners.
func (h *Handlers) Routes() []web.Route {
	const get, post, one = http.MethodGet, http.MethodPost, "/partners/{id}"
	return []web.Route{
		{Method: get, Path: "/partners", Needs: web.ReadPartners, Handle: h.partnersList},
		{Method: get, Path: "/partners/new", Needs: web.CreatePartners, Handle: h.partnerNewPage},
		{Method: post, Path: "/partners/new", Needs: web.CreatePartners, Creates: "/partners/{object}", Form: "/partners/new", Handle: h.partnerNew},
		{Method: get, Path: one, Needs: web.ReadPartners, Handle: h.partnerPage},
		{Method: get, Path: one + "/onboarding", Needs: web.WritePartners, Handle: h.onboardingPage},
		{Method: get, Path: one + "/onboarding/live", Needs: web.WritePartners, Handle: h.onboardingLive},
		{Method: post, Path: one + "/details", Needs: web.WritePartners, Form: one + "?tab=details", Handle: h.setDetails},
		{Method: post, Path: one + "/approve", Needs: web.WritePartners, Handle: h.approve},
		{Method: get, Path: one + "/suspend", Needs: web.WritePartners, Handle: h.suspendPage},
		{Method: post, Path: one + "/suspend", Needs: web.WritePartners, Form: one + "/suspend", Handle: h.suspend},
		{Method: post, Path: one + "/signing", Needs: web.WritePartners, Form: one + "?tab=signing", Handle: h.setSigning},
		{Method: get, Path: one + "/accounts/new", Needs: web.WritePartners, Handle: h.accountNewPage},
		{Method: post, Path: one + "/accounts/new", Needs: web.WritePartners, Creates: one, Form: one + "/accounts/new", Handle: h.accountNew},
		{Method: get, Path: one + "/accounts/{account}", Needs: web.WritePartners, Handle: h.accountPage},
		{Method: post, Path: one + "/accounts/{account}", Needs: web.WritePartners, Form: one + "/accounts/{account}", Handle: h.changeAccount},
		{Method: get, Path: one + "/check", Needs: web.WritePartners, Handle: h.checkPage},
		{Method: post, Path: one + "/check", Needs: web.WritePartners, Handle: h.check},
		{Method: post, Path: one + "/prices", Needs: web.WritePricing, Form: one + "?tab=prices", Handle: h.setPrices},
		{Method: post, Path: one + "/prices/approve", Needs: web.PublishPricing, Handle: h.approvePrices},
		{Method: post, Path: one + "/prices/withdraw", Needs: web.WritePricing, Handle: h.withdrawPrices},
		{Method: post, Path: one + "/link", Needs: web.WritePartners, Creates: one + "?tab=documentation", ShownOnce: true, Handle: h.makeLink},
		{Method: post, Path: one + "/link/revoke", Needs: web.WritePartners, Handle: h.revokeLink},
		{Method: get, Path: one + "/secrets/new", Needs: web.WriteSecrets, Handle: h.secretNewPage},
		{
			Method:    post,
			Path:      one + "/secrets/new",
			Needs:     web.WriteSecrets,
			Creates:   one + "?tab=secrets",
			ShownOnce: true,
			Form:      one + "/secrets/new",
			Handle:    h.secretNew,
		},
		{Method: get, Path: one + "/secrets/rotate", Needs: web.WriteSecrets, Handle: h.secretRotatePage},
		{
			Method:    post,
			Path:      one + "/secrets/rotate",
			Needs:     web.WriteSecrets,
			Creates:   one + "?tab=secrets",
			ShownOnce: true,
			Form:      one + "/secrets/rotate",
			Handle:    h.secretRotate,
		},
		{Method: get, Path: one + "/secrets/{secret}/retire", Needs: web.WriteSecrets, Handle: h.retirePage},
		{Method: post, Path: one + "/secrets/{secret}/retire", Needs: web.WriteSecrets, Form: one + "/secrets/{secret}/retire", Handle: h.retire},
		{Method: get, Path: one + "/secrets/{secret}/revoke", Needs: web.WriteSecrets, Handle: h.revokePage},
		{Method: post, Path: one + "/secrets/{secret}/revoke", Needs: web.WriteSecrets, Handle: h.revoke},
	}
}
