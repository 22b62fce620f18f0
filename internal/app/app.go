// Package app builds a node from its configuration. It starts the parts of the node in order, and stops
// them in reverse order.
package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/admin"
	retentionpages "github.com/pingpost/pingpost/admin/retention"
	"github.com/pingpost/pingpost/api"
	"github.com/pingpost/pingpost/api/docs"
	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/platform/tracing"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
)

// Options configures Start.
type Options struct {
	Config      *config.Config
	Environment string      // "production" or "development"; shown in the console
	Version     string      // of the program; logged and shown in the metrics
	Revision    string      // of the program's source, or ""
	Clock       clock.Clock // the service's clock
	Log         io.Writer
	Listeners   *Listeners // nil to open the configured addresses
	// ReadConfig reads the configuration again, for its secrets. If it is nil, the secrets are never replaced.
	ReadConfig  func() (*config.Config, error)
	Hangup      <-chan os.Signal // receives SIGHUP, after which the node reads its secrets again
	SinglePosts bool             // store each post in its own database transaction; for benchmarks
}

// App is a running node.
type App struct {
	cfg     *config.Config
	version string
	clock   clock.Clock
	log     *slog.Logger
	lines   *lineBuffer

	secrets      *secrets        // nil if secrets are never replaced
	tracer       *tracing.Tracer // nil without traces
	db           *postgres.DB
	platformKeys *keyring.Keys
	keys         *Keys
	journal      journal.Store // nil if there is no erasure journal
	directory    *snapshot.Holder[partners.Directory]
	card         *snapshot.Holder[ratecard.CompiledVersion]
	prices       *ratecard.Service
	access       *snapshot.Holder[authz.Access]
	// ensureEvidenceKey creates the first key that signs evidence packs.
	ensureEvidenceKey func(context.Context) error
	// evidenceKeys are the public keys that verify evidence packs.
	evidenceKeys *snapshot.Holder[evidence.PublicKeys]
	staff        *staff.Service
	audit        *audit.Log
	watcher      *snapshot.Watcher
	caps         *partners.Caps
	rollup       *reporting.Rollup
	leads        *leads.Store
	recorder     *intake.Recorder
	traffic      *intake.Traffic
	queue        *jobs.Queue
	files        *blobstore.Store
	payouts      *payouts.Service
	reconcile    *reconcile.Service
	privacy      privacy.Services
	erasures     *erasures
	evidence     *evidence.Service
	registry     *prometheus.Registry
	readiness    *readiness
	platform     *platformMetrics
	intake       *intake.Intake
	snapshots    *snapshots
	// incomplete is the number of leads with missing rows that checkLeads has found.
	incomplete atomic.Int64
	// wrappingKeys contains the result of the last check of the platform's wrapping keys.
	wrappingKeys wrappingKeys

	loaded          atomic.Bool // whether load has succeeded
	api, admin, ops *httpserver.Server
	profiles        *httpserver.Server
	draining        atomic.Bool
	background      sync.WaitGroup
	stopBackground  context.CancelFunc
	failed          chan error // receives errors from the listeners and from awaitDatabase
}

// Start builds a node and returns as soon as it serves requests. The messages of its errors tell
// operators what to do.
func Start(ctx context.Context, o Options) (_ *App, err error) {
	a := &App{
		cfg: o.Config, version: o.Version, clock: o.Clock, registry: prometheus.NewRegistry(), failed: make(chan error, 5),
	}
	a.secrets = newSecrets(o)
	a.wrappingKeys.last.Store(&wrappingKeysState{own: stateUnknown})
	a.log, a.lines = newLogger(o.Config.Log, o.Log)
	if o.Listeners == nil {
		if o.Listeners, err = Listen(o.Config.HTTP); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			o.Listeners.Close()
			a.lines.flushWithin(logGrace)
		}
	}()
	if err := a.build(ctx, o); err != nil {
		return nil, err
	}
	err = a.load(ctx)
	switch {
	case isRetryable(err):
		a.serveFromSnapshot(err)
	case err != nil:
		a.db.Close()
		return nil, err
	}
	a.snapshots.found = pingState{}
	a.run(context.WithoutCancel(ctx))
	return a, nil
}

// build creates the parts of a node. It does not use the database.
func (a *App) build(ctx context.Context, o Options) (err error) {
	keys, err := keyring.NewKeys(a.cfg.Keys.PlatformKeys())
	if err != nil {
		return err
	}
	a.platformKeys = keys
	quotes, err := quote.NewSealer(keys.QuoteKeys())
	if err != nil {
		return err
	}
	a.snapshots = newSnapshots(a.cfg.Database.SnapshotFile, keys)
	a.tracer = newTracer(a.cfg, o.Environment, o.Version, a.log)
	var queries pgx.QueryTracer
	if a.tracer != nil {
		queries = tracing.Queries{}
	}
	d := a.cfg.Database
	a.db, err = postgres.Open(ctx, postgres.Options{
		URL:              d.URL.Reveal(),
		Application:      strings.TrimSpace("pingpost " + a.cfg.Node.Name),
		MaxConnections:   d.MaxConnections,
		ConnectTimeout:   d.ConnectTimeout,
		StatementTimeout: d.StatementTimeout,
		Timelines:        a.readSnapshot(),
		Tracer:           queries,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			a.db.Close()
		}
	}()
	openKeys := OpenKeys
	if o.Listeners.API == nil {
		openKeys = OpenKeysUnpooled // no posts need data keys
	}
	if a.keys, err = openKeys(a.cfg, transit.NewAttempts(a.db, keys), a.clock); err != nil {
		return err
	}
	a.newJobServices(keys)
	prices, err := ratecard.NewService(a.db, a.queue, a.clock)
	if err != nil {
		return err
	}
	a.prices = prices.WithPolicy(ratecard.Policy{RequireApproval: a.cfg.Pricing.RequireApproval})
	a.directory = snapshot.New("directory", a.warnUnreadable(partners.NewService(a.db, keys, a.clock).LoadDirectory))
	a.card = snapshot.New("rate_card", a.prices.LoadCurrent)
	a.access = snapshot.New("access", func(ctx context.Context) (*authz.Access, error) { return authz.Load(ctx, a.db) })
	evidenceKeys := evidence.NewKeys(a.db, keys, a.clock)
	a.ensureEvidenceKey = evidenceKeys.Ensure
	a.evidenceKeys = snapshot.New("evidence_keys", evidenceKeys.LoadPublicKeys)
	a.watcher = snapshot.NewWatcher(a.db.Pool, a.log, a.directory, a.card, a.access, a.evidenceKeys)
	a.caps = partners.NewCaps(a.db, a.clock, a.log)
	a.rollup = reporting.NewRollup(a.db, a.clock, a.log)
	a.leads = leads.NewStore(a.db.Pool)
	if o.SinglePosts {
		a.leads = leads.NewUnbatchedStore(a.db.Pool)
	}
	a.audit = audit.New(a.db, a.clock)
	a.staff = staff.NewService(a.db, keys, a.clock, staffSettings(a.cfg.Console))
	a.recorder = intake.NewRecorder(a.db.Pool, a.log, int64(a.cfg.Limits.PingLogMiBPerDay)<<20, a.ensurePingPartitions)
	a.traffic = intake.NewTraffic(a.db.Pool, a.log, a.cfg.Retention.RequestLogRows)
	if err := a.newPrivacy(keys); err != nil {
		return err
	}
	reader := leads.NewReader(a.db, keys, a.clock)
	a.evidence = evidence.NewService(evidence.Deps{
		DB: a.db, Clock: a.clock, Keys: evidenceKeys, Audit: a.audit, Leads: reader, Payouts: a.payouts,
		Erasures: a.privacy.Erasures, Reveals: a.privacy.Reveals, URL: a.cfg.HTTP.PublicURL,
	})
	a.readiness, a.platform = newReadiness(a.registry), newPlatformMetrics(a.registry)
	a.intake = a.newIntake(intake.Deps{
		Directory: a.directory,
		Card:      a.card,
		Caps:      a.caps,
		Quotes:    quotes,
		Keys:      keys,
		Wrappers:  a.keys.Wrappers,
		Leads:     a.leads,
		Recorder:  a.recorder,
		Traffic:   a.traffic,
		Clock:     a.clock,
	})
	if err := a.registerMetrics(o); err != nil {
		return err
	}
	policy := partners.PricePolicy{RequireApproval: a.cfg.Pricing.RequireApproval}
	return a.handlers(o, a.prices, partners.NewService(a.db, keys, a.clock).WithPolicy(policy))
}

func (a *App) newIntake(parts intake.Deps) *intake.Intake {
	l := a.cfg.Limits
	return intake.New(parts, intake.Settings{
		DefaultMode:      models.SigningMode(a.cfg.Signing.DefaultMode),
		MatchConcurrency: l.MatchConcurrency, MatchWait: l.MatchWait, MatchFailures: l.MatchFailuresPerMinute,
		WrongSignatures: l.SignatureFailuresPerMinute,
		PingRate:        l.PingsPerAddress, SharedPingRate: l.SharedPingsPerAddress,
		PostRate: l.PostsPerPartner, UnsignedRate: l.UnsignedPostsPerAddress,
		PostConcurrency: l.PostConcurrency, PostWait: l.PostWait,
	})
}

func staffSettings(c config.Console) staff.Settings {
	s := staff.Settings{Idle: c.SessionIdle, Lifetime: c.SessionLifetime}
	for _, role := range c.SecondFactorRoles {
		s.SecondFactor = append(s.SecondFactor, models.Role(role))
	}
	return s
}

// warnUnreadable returns a function that calls the function load and logs which signing secrets and
// which partner pricing cannot be read. The returned function logs each of these lists only when the list
// changes.
func (a *App) warnUnreadable(
	load func(context.Context) (*partners.Directory, error),
) func(context.Context) (*partners.Directory, error) {
	var loggedSecrets, loggedDamaged, loggedPrices string
	return func(ctx context.Context) (*partners.Directory, error) {
		d, err := load(ctx)
		if err != nil {
			return d, err
		}
		secrets, damaged, prices := firstFew(d.UnreadableSecrets()), firstFew(d.DamagedSecrets()), firstFew(d.UnreadablePrices())
		if secrets != "" && secrets != loggedSecrets {
			a.log.Error("cannot decrypt with the configured platform keys", "what", secrets)
		}
		if damaged != "" && damaged != loggedDamaged {
			a.log.Error("signing secrets are damaged", "what", damaged+damageAdvice)
		}
		if prices != "" && prices != loggedPrices {
			a.log.Error("cannot read partner pricing, so these partners get no prices: save it again on the partner's Pricing tab",
				"what", prices)
		}
		loggedSecrets, loggedDamaged, loggedPrices = secrets, damaged, prices
		return d, nil
	}
}

func (a *App) handlers(o Options, prices *ratecard.Service, directory *partners.Service) error {
	var proxies []netip.Prefix
	for _, p := range a.cfg.HTTP.TrustedProxies {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			return err
		}
		proxies = append(proxies, prefix)
	}
	clients := httpserver.NewClients(proxies, a.registry, a.log)
	partnerAPI, err := api.New(api.Options{
		Intake:      a.intake,
		Partners:    directory,
		Taxonomy:    prices.Taxonomy(),
		DefaultMode: models.SigningMode(a.cfg.Signing.DefaultMode),
		Settings: docs.Settings{
			HTTP: a.cfg.HTTP, Limits: a.cfg.Limits,
			ReturnDays: a.cfg.Payouts.ReturnDays, SandboxDays: a.cfg.Retention.SandboxDays,
		},
		EvidenceKeys: a.evidenceKeys,
		Clock:        a.clock,
		Log:          a.log,
		AccessLog:    a.accessLog(),
		Metrics:      httpserver.NewMetrics(a.registry, "pingpost", "the partner API"),
		Clients:      clients,
		Tracer:       a.tracer,
	})
	if err != nil {
		return err
	}
	console, err := admin.New(admin.Options{
		Environment:  o.Environment,
		Clock:        a.clock,
		Log:          a.log,
		Access:       a.access,
		Staff:        a.staff,
		Audit:        a.audit,
		Partners:     directory,
		Checker:      intake.NewChecker(a.intake.Deps, models.SigningMode(a.cfg.Signing.DefaultMode)),
		Prices:       prices,
		Quotes:       a.intake.Quotes,
		Leads:        a.evidence.Leads,
		Payouts:      a.payouts,
		Erasures:     a.privacy.Erasures,
		Reveals:      a.privacy.Reveals,
		Retention:    a.privacy.Retention,
		Consents:     a.privacy.Consents,
		Notes:        a.privacy.Notes,
		Requests:     a.privacy.Requests,
		Evidence:     a.evidence,
		EvidenceKeys: a.evidenceKeys,
		RetentionDays: retentionpages.Days{
			Sandbox: a.cfg.Retention.SandboxDays, Exports: a.cfg.Retention.ExportsDays, Requests: a.cfg.Retention.RequestsDays,
		},
		Reconcile:      a.reconcile,
		Jobs:           a.queue,
		Reporting:      reporting.NewReader(a.db),
		PublicURL:      a.cfg.HTTP.PublicURL,
		AdminURL:       a.cfg.HTTP.AdminURL,
		DefaultSigning: models.SigningMode(a.cfg.Signing.DefaultMode),
		RequestLogDays: a.cfg.Retention.RequestLogDays,
		AccessLog:      a.accessLog(),
		Metrics:        httpserver.NewAreaMetrics(a.registry, "pingpost_console", "the console"),
		Clients:        clients,
		Tracer:         a.tracer,
	})
	if err != nil {
		return err
	}
	if err := a.useTLS(o.Listeners); err != nil {
		return err
	}
	ops, profiles := a.operations()
	if o.Listeners.API != nil {
		a.api = httpserver.NewServer("api", o.Listeners.API, a.closeWhileDraining(partnerAPI), a.cfg.HTTP, a.log)
	}
	if o.Listeners.Admin != nil {
		a.admin = httpserver.NewServer("admin", o.Listeners.Admin, a.onceLoaded(console), a.cfg.HTTP, a.log)
	}
	a.ops = httpserver.NewServer("ops", o.Listeners.Ops, ops, a.cfg.HTTP, a.log)
	if o.Listeners.Profile != nil {
		a.profiles = httpserver.NewServer("profile", o.Listeners.Profile, profiles, a.cfg.HTTP, a.log)
	}
	return nil
}

// run starts the background work and then the listeners.
func (a *App) run(ctx context.Context) {
	ctx, a.stopBackground = context.WithCancel(ctx)
	go a.lines.run(ctx) // not in a.background, because Stop must not wait for a blocked log
	start := func(all ...func(context.Context)) {
		for _, work := range all {
			a.background.Go(func() { work(ctx) })
		}
	}
	start(a.followPrimaries, a.keys.Run, a.reportVaultRights, a.recorder.Run, a.traffic.Run, a.followReadiness,
		a.followSecrets, func(ctx context.Context) {
			if a.awaitDatabase(ctx) {
				start(a.watcher.Run, a.caps.Run, a.maintainHourly, a.keepSnapshot, a.publishDue, a.queue.Run, a.rollup.Run,
					a.followPlatform, a.finishErasures, a.enqueueRetentionRuns, a.markDisclosures, a.recordRejections)
			}
		})
	for _, s := range a.servers() {
		a.background.Go(func() {
			if err := s.Serve(); err != nil {
				a.failed <- err
			}
		})
	}
	a.log.Info("started", "version", a.version, "node", a.cfg.Node.Name, "api", a.APIAddr(), "admin", a.AdminAddr(), "ops",
		a.OpsAddr(), "key_wrapper", a.keys.Wrappers.Writer())
}

// servers returns the servers that the node runs. The servers for health checks and profiles are the last
// to be shut down.
func (a *App) servers() []*httpserver.Server {
	all := []*httpserver.Server{a.api, a.admin, a.ops, a.profiles}
	return slices.DeleteFunc(all, func(s *httpserver.Server) bool { return s == nil })
}

// APIAddr returns the host and port of the partner API, or "" if the node does not serve it.
func (a *App) APIAddr() string { return addrOf(a.api) }

// AdminAddr returns the host and port of the console, or "" if the node does not serve it.
func (a *App) AdminAddr() string { return addrOf(a.admin) }

func addrOf(s *httpserver.Server) string {
	if s == nil {
		return ""
	}
	return s.Addr()
}

// OpsAddr returns the host and port of the listener for health checks and metrics.
func (a *App) OpsAddr() string { return a.ops.Addr() }

// ProfileAddr returns the host and port of the listener for profiles, or "" if there is none.
func (a *App) ProfileAddr() string { return addrOf(a.profiles) }

// Wait returns when ctx ends or the node fails, whichever happens first.
func (a *App) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.failed:
		return err
	}
}

// Stop shuts the node down. It reports "not ready" during the drain delay, and then waits for requests
// in progress, up to the shutdown grace. Finally, it writes queued records and closes the database.
func (a *App) Stop(ctx context.Context) error {
	a.draining.Store(true)
	a.log.Info("stopping")
	select {
	case <-time.After(a.cfg.HTTP.DrainDelay):
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(ctx, a.cfg.HTTP.ShutdownGrace)
	defer cancel()
	var err error
	for _, s := range a.servers() {
		err = errors.Join(err, s.Shutdown(grace))
	}
	a.stopBackground()
	a.background.Wait()
	a.sendLastTraces(ctx)
	a.db.Close()
	a.log.Info("stopped")
	a.lines.flushWithin(logGrace)
	return err
}

// StopTimeout returns the longest time that Stop takes: the drain delay, the shutdown grace, and 5 s to write queued
// records and the log.
func (a *App) StopTimeout() time.Duration {
	return a.cfg.HTTP.DrainDelay + a.cfg.HTTP.ShutdownGrace + 5*time.Second
}

// KeyWrapper returns the name of the key wrapper for new leads, or "" if there is none.
func (a *App) KeyWrapper() string { return a.keys.Wrappers.Writer() }
