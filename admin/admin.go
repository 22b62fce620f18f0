// Package admin implements the console by combining the routes of all areas.
//
// Each area has a package that handles its requests and fills the view models of its templates.
// The business rules are in the packages under internal. Package authz decides what a user may
// do.
package admin

import (
	"log/slog"
	"net/http"
	"slices"

	"github.com/pingpost/pingpost/admin/account"
	auditpages "github.com/pingpost/pingpost/admin/audit"
	"github.com/pingpost/pingpost/admin/disclosures"
	jobpages "github.com/pingpost/pingpost/admin/jobs"
	leadpages "github.com/pingpost/pingpost/admin/leads"
	"github.com/pingpost/pingpost/admin/login"
	notepages "github.com/pingpost/pingpost/admin/notes"
	"github.com/pingpost/pingpost/admin/overview"
	partnerpages "github.com/pingpost/pingpost/admin/partners"
	payoutpages "github.com/pingpost/pingpost/admin/payouts"
	pricingpages "github.com/pingpost/pingpost/admin/pricing"
	reconciliationpages "github.com/pingpost/pingpost/admin/reconciliation"
	requestpages "github.com/pingpost/pingpost/admin/requests"
	retentionpages "github.com/pingpost/pingpost/admin/retention"
	"github.com/pingpost/pingpost/admin/search"
	staffpages "github.com/pingpost/pingpost/admin/staff"
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/notes"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/platform/tracing"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Options contains the dependencies of the console. All fields except AccessLog are required.
type Options struct {
	Environment    string // "production" or "development"
	Clock          clock.Clock
	Log            *slog.Logger
	Access         *snapshot.Holder[authz.Access]
	Staff          *staff.Service
	Audit          *audit.Log
	Partners       *partners.Service
	Checker        *intake.Checker
	Prices         *ratecard.Service
	Reporting      *reporting.Reader
	Leads          *leads.Reader
	Payouts        *payouts.Service
	Erasures       *erasure.Service
	Reveals        *reveal.Service
	Retention      *retention.Service
	Consents       *consents.Service
	Notes          *notes.Service
	Requests       *requests.Service
	Evidence       *evidence.Service
	EvidenceKeys   *snapshot.Holder[evidence.PublicKeys]
	Quotes         *quote.Sealer
	RetentionDays  retentionpages.Days
	Reconcile      *reconcile.Service
	Jobs           *jobs.Queue
	PublicURL      string                // start of the partners' base URLs
	AdminURL       string                // origin of the console, for links to it
	DefaultSigning models.SigningMode    // for partners without their own signing mode
	RequestLogDays int                   // for how many days the request log is kept
	AccessLog      *httpserver.AccessLog // nil disables it
	Metrics        *httpserver.Metrics
	Clients        *httpserver.Clients
	Tracer         *tracing.Tracer // nil without traces
}

// New returns the handler of the console.
func New(o Options) (http.Handler, error) {
	return web.New(web.Options{
		Environment: o.Environment, Clock: o.Clock, Log: o.Log, Access: o.Access,
		Staff: o.Staff, Audit: o.Audit, Partners: o.Partners, Prices: o.Prices, Readable: o.Erasures.CheckReadable,
		AccessLog: o.AccessLog, Metrics: o.Metrics, Clients: o.Clients, Tracer: o.Tracer,
	}, Routes(o))
}

// unlessHidden rejects requests while erasable data is hidden.
func unlessHidden(handle func(*web.Request) error) func(*web.Request) error {
	return func(k *web.Request) error {
		if err := k.CheckErasable(); err != nil {
			return err
		}
		return handle(k)
	}
}

// evidenceKeys returns the handler that responds with the public keys for verifying evidence packs.
func evidenceKeys(keys *snapshot.Holder[evidence.PublicKeys]) func(*web.Request) error {
	return func(k *web.Request) error {
		h := k.W.Header()
		h.Set("Content-Type", evidence.ContentType)
		h.Set("Cache-Control", "public, max-age=300")
		_, err := k.W.Write(keys.Get().JSON)
		return err
	}
}

// Routes returns the routes of all areas.
func Routes(o Options) []web.Route {
	partner := &partnerpages.Handlers{
		Audit: o.Audit, Checker: o.Checker, DefaultSigning: o.DefaultSigning, Log: o.Log, Partners: o.Partners, Prices: o.Prices,
		PublicURL: o.PublicURL, RequestLogDays: o.RequestLogDays, Reporting: o.Reporting, Staff: o.Staff,
	}
	pricing := pricingpages.New(o.Audit, o.Partners, o.Prices)
	lead := &leadpages.Handlers{
		Audit: o.Audit, Erasures: o.Erasures, Evidence: o.Evidence, Leads: o.Leads, Partners: o.Partners,
		Payouts: o.Payouts, Prices: o.Prices, Quotes: o.Quotes, Reporting: o.Reporting, Reveals: o.Reveals,
	}
	request := &requestpages.Handlers{
		Erasures: o.Erasures, Partners: o.Partners, Payouts: o.Payouts, Prices: o.Prices, Requests: o.Requests,
	}
	disclosure := &disclosures.Handlers{Consents: o.Consents}
	payout := &payoutpages.Handlers{
		Audit: o.Audit, Jobs: o.Jobs, Partners: o.Partners, Payouts: o.Payouts, ExportDays: o.RetentionDays.Exports,
	}
	reconciliation := &reconciliationpages.Handlers{Jobs: o.Jobs, Partners: o.Partners, Reconcile: o.Reconcile}
	event := &auditpages.Handlers{Audit: o.Audit}
	finder := &search.Handlers{Partners: o.Partners, Staff: o.Staff, HasReference: lead.HasReference, Find: []search.Find{
		partner.URLForID, pricing.URLForID, reconciliation.URLForID, payout.URLForID, request.URLForID, disclosure.URLForID,
		lead.URLForID, event.URLForID,
	}}
	all := slices.Concat(
		(&login.Handlers{Staff: o.Staff}).Routes(),
		(&account.Handlers{Staff: o.Staff}).Routes(),
		(&overview.Handlers{
			DefaultSigning: o.DefaultSigning, Jobs: o.Jobs, Log: o.Log, Partners: o.Partners,
			Payouts: o.Payouts, Prices: o.Prices, Reporting: o.Reporting, Requests: o.Requests,
		}).Routes(),
		finder.Routes(),
		event.Routes(),
		(&staffpages.Handlers{AdminURL: o.AdminURL, Audit: o.Audit, Staff: o.Staff}).Routes(),
		partner.Routes(), pricing.Routes(), lead.Routes(), request.Routes(), disclosure.Routes(),
		(&notepages.Handlers{Notes: o.Notes}).Routes(), payout.Routes(), reconciliation.Routes(),
		(&jobpages.Handlers{Jobs: o.Jobs}).Routes(),
		(&retentionpages.Handlers{Erasures: o.Erasures, Retention: o.Retention, Days: o.RetentionDays}).Routes(),
		[]web.Route{
			{Method: http.MethodPost, Path: "/theme", Open: true, Handle: web.SetTheme},
			{Method: http.MethodGet, Path: pack.KeyPath, Open: true, Handle: evidenceKeys(o.EvidenceKeys)},
		},
	)
	for i, r := range all {
		if r.Page != "" {
			finder.Pages = append(finder.Pages, r)
		}
		if r.Erasable {
			all[i].Handle = unlessHidden(r.Handle)
		}
	}
	if o.Environment != "production" {
		all = append(all, web.Route{Method: http.MethodGet, Path: "/design", Open: true, Handle: design})
	}
	return all
}
