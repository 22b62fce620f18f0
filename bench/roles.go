package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"

	"github.com/pingpost/pingpost/bench/child"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/config"
)

// The roles that a child process can have.
const (
	roleProduct  = "product"
	roleBare     = "bare"
	roleGormPing = "gorm ping"
	roleGormPost = "gorm post"
	rolePings    = "pings"
	rolePosts    = "posts"
	roleExport   = "export"
)

func roles() map[string]child.Role {
	return map[string]child.Role{
		roleProduct:  playProduct,
		roleBare:     playBare,
		roleGormPing: playGormPing,
		roleGormPost: playGormPost,
		rolePings:    playPings,
		rolePosts:    playPosts,
		roleExport:   playExport,
	}
}

// listening contains the addresses of a server. The server sends them to the parent when it is ready.
type listening struct {
	Address string
	Ops     string // the address of the product's health checks and metrics
	Profile string // the address of the product's profiles
}

type productJob struct {
	DatabaseURL, PlatformKey, LocalKEK string
	Vault                              vaultLogin // the zero value selects the local key
	Log                                string     // file for its log, including the access log
	SinglePosts                        bool
}

type vaultLogin struct{ Address, RoleID, SecretID string }

// playProduct runs the whole service with the default settings for production.
func playProduct(ctx context.Context, l *child.Link) error {
	var job productJob
	if err := l.Next(&job); err != nil {
		return err
	}
	log, err := os.OpenFile(job.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	app.TuneGC()
	cfg, listeners, err := job.configure()
	if err != nil {
		return err
	}
	node, err := app.Start(ctx, app.Options{
		Config:      cfg,
		Environment: "production",
		Clock:       clock.System{},
		Log:         log,
		Listeners:   listeners,
		SinglePosts: job.SinglePosts,
	})
	if err != nil {
		return err
	}
	err = l.Say(listening{Address: node.APIAddr(), Ops: node.OpsAddr(), Profile: node.ProfileAddr()})
	if err == nil {
		err = l.ServeUsage()
	}
	return errors.Join(err, node.Stop(context.WithoutCancel(ctx)))
}

func (j productJob) configure() (*config.Config, *app.Listeners, error) {
	cfg := config.Defaults(config.Serve)
	cfg.HTTP.APIAddr, cfg.HTTP.AdminAddr, cfg.HTTP.OpsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.HTTP.ProfileAddr = "127.0.0.1:0"
	cfg.HTTP.DrainDelay = 0 // there is no load balancer
	// All requests come from one address and one partner. The limits are too high to reject any
	// request, but the service still checks them.
	cfg.Limits.PingsPerAddress, cfg.Limits.SharedPingsPerAddress, cfg.Limits.PostsPerPartner, cfg.Limits.PingLogMiBPerDay = 100_000, 100_000, 100_000, 100_000
	cfg.Database.URL = config.Secret(j.DatabaseURL)
	cfg.Database.SnapshotFile = "" // do not leave a file on the machine
	cfg.Keys.Platform, cfg.Keys.Local = []config.Secret{config.Secret(j.PlatformKey)}, []config.Secret{
		config.Secret(j.LocalKEK),
	}
	if v := j.Vault; v.Address != "" {
		cfg.Keys.Local = nil
		cfg.Vault.Address, cfg.Vault.RoleID, cfg.Vault.SecretID = v.Address, v.RoleID, config.Secret(v.SecretID)
	}
	listeners, err := app.Listen(cfg.HTTP)
	if err != nil {
		return nil, nil, err
	}
	cfg.HTTP.PublicURL = "http://" + listeners.API.Addr().String()
	cfg.HTTP.AdminURL = "http://" + listeners.Admin.Addr().String()
	if err := cfg.Validate(); err != nil {
		listeners.Close()
		return nil, nil, err
	}
	return cfg, listeners, nil
}

// serve runs a baseline's server until the parent process closes the link.
func serve(ctx context.Context, l *child.Link, handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler} //nolint:gosec // time limits would slow it down
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	err = l.Say(listening{Address: listener.Addr().String()})
	if err == nil {
		err = l.ServeUsage()
	}
	err = errors.Join(err, server.Shutdown(context.WithoutCancel(ctx)))
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
