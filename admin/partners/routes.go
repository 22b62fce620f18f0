// Package partners serves the console's pages about partners.
package partners

import (
	"log/slog"
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Handlers serves the pages and forms about partners.
type Handlers struct {
	Audit          *audit.Log
	Checker        *intake.Checker
	DefaultSigning models.SigningMode // signing mode of partners that do not set one
	Log            *slog.Logger
	Partners       *partners.Service
	Prices         *ratecard.Service
	PublicURL      string // origin of base URLs and documentation links
	RequestLogDays int    // for how many days the request log is kept
	Reporting      *reporting.Reader
	Staff          *staff.Service
}

// Routes returns the routes of the pages and forms about partners.
func (h *Handlers) Routes() []web.Route {
	const get, post = http.MethodGet, http.MethodPost
	return []web.Route{
		{Method: get, Path: "/partners", Page: "Partners", Needs: web.ReadPartners, Handle: h.partnersList},
		{Method: get, Path: "/partners/new", Page: "New partner", Needs: web.CreatePartners, Handle: h.newPartnerPage},
		{
			Method:  post,
			Path:    "/partners/new",
			Needs:   web.CreatePartners,
			Creates: "/partners/{object}",
			Form:    "/partners/new",
			Saves:   []string{"name", "slug", "signing"},
			Handle:  h.createPartner,
		},
		{Method: get, Path: "/partners/{id}", Needs: web.ReadPartners, Handle: h.partnerPage},
		{Method: get, Path: "/partners/{id}/onboarding", Needs: web.WritePartners, Handle: h.onboardingPage},
		{Method: get, Path: "/partners/{id}/onboarding/live", Needs: web.WritePartners, Handle: h.onboardingLive},
		{
			Method: post,
			Path:   "/partners/{id}/details",
			Needs:  web.WritePartners,
			Form:   "/partners/{id}?tab=details",
			Saves:  []string{"name", "payment_terms"},
			Handle: h.setDetails,
		},
		{Method: post, Path: "/partners/{id}/approve", Needs: web.WritePartners, Handle: h.approve},
		{Method: get, Path: "/partners/{id}/suspend", Needs: web.WritePartners, Handle: h.suspendPage},
		{Method: post, Path: "/partners/{id}/suspend", Needs: web.WritePartners, Form: "/partners/{id}/suspend",
			Handle: h.suspend},
		{
			Method: post,
			Path:   "/partners/{id}/signing",
			Needs:  web.WritePartners,
			Form:   "/partners/{id}?tab=signing",
			Saves:  []string{"signing", "shared_base_url"},
			Handle: h.setSigning,
		},
		{Method: get, Path: "/partners/{id}/accounts/new", Needs: web.WritePartners, Handle: h.newAccountPage},
		{
			Method:  post,
			Path:    "/partners/{id}/accounts/new",
			Needs:   web.WritePartners,
			Creates: "/partners/{id}",
			Form:    "/partners/{id}/accounts/new",
			Saves:   []string{"identifier", "name", "signing", "sandbox", "default"},
			Handle:  h.createAccount,
		},
		{Method: get, Path: "/partners/{id}/accounts/{account}", Needs: web.WritePartners, Handle: h.accountPage},
		{
			Method: post,
			Path:   "/partners/{id}/accounts/{account}",
			Needs:  web.WritePartners,
			Form:   "/partners/{id}/accounts/{account}",
			Saves:  []string{"name", "signing", "status", "default"},
			Handle: h.changeAccount,
		},
		{Method: get, Path: requestsPath, Needs: web.ReadPartners, Handle: h.allRequests},
		{Method: get, Path: requestsPath + "/{request}", Needs: web.ReadPartners, Handle: h.requestPage},
		{Method: get, Path: "/partners/{id}/requests/{request}", Needs: web.ReadPartners, Handle: h.requestPage},
		{Method: get, Path: "/partners/{id}/check", Needs: web.WritePartners, Handle: h.checkPage},
		{Method: post, Path: "/partners/{id}/check", Needs: web.WritePartners, Handle: h.check},
		{
			Method: post,
			Path:   "/partners/{id}/prices",
			Needs:  web.WritePricing,
			Form:   "/partners/{id}?tab=prices",
			Saves:  []string{"adjustment", "cap", "exclusions"},
			Handle: h.setPrices,
		},
		{Method: post, Path: "/partners/{id}/prices/approve", Needs: web.PublishPricing, Handle: h.approvePrices},
		{Method: post, Path: "/partners/{id}/prices/withdraw", Needs: web.WritePricing, Handle: h.withdrawPrices},
		{
			Method:    post,
			Path:      "/partners/{id}/link",
			Needs:     web.WritePartners,
			Creates:   "/partners/{id}?tab=documentation",
			ShownOnce: true,
			Handle:    h.createLink,
		},
		{Method: post, Path: "/partners/{id}/link/revoke", Needs: web.WritePartners, Handle: h.revokeLink},
		{Method: get, Path: "/partners/{id}/secrets/new", Needs: web.WriteSecrets, Handle: h.newSecretPage},
		{
			Method:    post,
			Path:      "/partners/{id}/secrets/new",
			Needs:     web.WriteSecrets,
			Creates:   "/partners/{id}?tab=secrets",
			ShownOnce: true,
			Form:      "/partners/{id}/secrets/new",
			Saves:     []string{"label"},
			Handle:    h.createSecret,
		},
		{Method: get, Path: "/partners/{id}/secrets/rotate", Needs: web.WriteSecrets, Handle: h.rotateSecretPage},
		{
			Method:    post,
			Path:      "/partners/{id}/secrets/rotate",
			Needs:     web.WriteSecrets,
			Creates:   "/partners/{id}?tab=secrets",
			ShownOnce: true,
			Form:      "/partners/{id}/secrets/rotate",
			Saves:     []string{"label", "overlap", "force"},
			Handle:    h.rotateSecret,
		},
		{Method: get, Path: "/partners/{id}/secrets/{secret}/expire", Needs: web.WriteSecrets, Handle: h.expireSecretPage},
		{
			Method: post,
			Path:   "/partners/{id}/secrets/{secret}/expire",
			Needs:  web.WriteSecrets,
			Form:   "/partners/{id}/secrets/{secret}/expire",
			Saves:  []string{"when"},
			Handle: h.expireSecret,
		},
		{Method: get, Path: "/partners/{id}/secrets/{secret}/revoke", Needs: web.WriteSecrets, Handle: h.revokeSecretPage},
		{Method: post, Path: "/partners/{id}/secrets/{secret}/revoke", Needs: web.WriteSecrets, Handle: h.revokeSecret},
	}
}
