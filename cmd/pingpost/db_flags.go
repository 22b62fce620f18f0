package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// dbFlags are the flags that select the database for a command: --data-dir for a running
// `pingpost dev`, or --config.
type dbFlags struct {
	dataDir, config string
	clock           clock.System // the service's clock; set by load
}

func newDBFlags(c *cobra.Command) *dbFlags {
	r := &dbFlags{}
	c.Flags().StringVar(&r.dataDir, "data-dir", "",
		"use the database of the pingpost dev instance that is running in the folder `DIR` (default $PINGPOST_DATA_DIR)")
	configVar(c, &r.config)
	return r
}

// args formats the flags that were set, so that they can be appended to a suggested command.
func (r *dbFlags) args() (flags string) {
	if r.dataDir != "" {
		flags += " --data-dir " + shellQuote(r.dataDir)
	}
	if r.config != "" {
		flags += " --config " + shellQuote(r.config)
	}
	return flags
}

// load reads the given sections of the configuration. If the flags or $PINGPOST_DATA_DIR select a
// running `pingpost dev`, load also returns its settings, and sets the clock to that of the service. A
// database URL or --config takes precedence over $PINGPOST_DATA_DIR.
func (r *dbFlags) load(need ...config.Section) (*config.Config, *devstack.Running, error) {
	dir := r.dataDir
	if dir == "" && os.Getenv("PINGPOST_DATABASE_URL") == "" && r.config == "" {
		dir = os.Getenv("PINGPOST_DATA_DIR")
	}
	if dir == "" {
		cfg, err := config.Load(source(r.config, config.Serve, need...))
		return cfg, nil, suggestDataDir(err)
	}
	running, err := devstack.ReadRunning(dir)
	if err != nil {
		return nil, nil, err
	}
	r.clock.Offset = running.ClockOffset
	cfg := config.Defaults(config.Dev)
	cfg.Database.URL = config.Secret(running.DatabaseURL)
	cfg.Keys.Platform = []config.Secret{config.Secret(running.PlatformKeys)}
	cfg.Pricing.RequireApproval, cfg.Privacy.RequireApproval = running.PricingApproval, running.PrivacyApproval
	cfg.Retention = running.Retention
	cfg.Privacy.ErasureJournal, cfg.Privacy.Law = running.ErasureJournal, cmp.Or(running.PrivacyLaw, cfg.Privacy.Law)
	return cfg, &running, nil
}

// suggestDataDir adds a hint about --data-dir to err if the database URL is missing.
func suggestDataDir(err error) error {
	problems, _ := errors.AsType[config.Problems](err)
	for _, p := range problems {
		if p.Path == "database.url" && p.Origin == "" {
			return fmt.Errorf("%w\nTo use a running `pingpost dev` instead, add --data-dir with its folder, such as --data-dir .pingpost", err)
		}
	}
	return err
}

// ownerURL returns the database URL for migrations, and the timeout for connecting.
func (r *dbFlags) ownerURL() (string, time.Duration, error) {
	cfg, running, err := r.load(config.SectionDatabase)
	if err != nil {
		return "", 0, err
	}
	if running != nil {
		return running.OwnerURL, cfg.Database.ConnectTimeout, nil
	}
	return cfg.Database.URL.Reveal(), cfg.Database.ConnectTimeout, nil
}

func (r *dbFlags) partners(ctx context.Context, use func(*partners.Service) error) error {
	return r.open(ctx, func(db *postgres.DB, keys *keyring.Keys) error {
		return use(partners.NewService(db, keys, r.clock).By(audit.Operator))
	})
}

// open passes the database and the platform keys to the given function, and then closes the database.
func (r *dbFlags) open(ctx context.Context, use func(*postgres.DB, *keyring.Keys) error) error {
	cfg, _, err := r.load(config.SectionDatabase, config.SectionKeys)
	if err != nil {
		return err
	}
	db, keys, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	return use(db, keys)
}

// newQueue returns a queue of jobs that logs nothing, because a command prints its errors.
func newQueue(db *postgres.DB, c clock.Clock) *jobs.Queue {
	return jobs.NewQueue(db, c, slog.New(slog.DiscardHandler))
}
