package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/config"
	"github.com/pingpost/pingpost/internal/devstack"
	"github.com/pingpost/pingpost/internal/partners"
)

// reach is how an operator's command finds the database: --data-dir of a
// running dev, else the configuration.
type reach struct{ dataDir, config string }

func reachFlags(c *cobra.Command) *reach {
	r := &reach{}
	c.Flags().StringVar(&r.dataDir, "data-dir", "", "work on the `pingpost dev` that runs on this folder (default $PINGPOST_DATA_DIR)")
	c.Flags().StringVar(&r.config, "config", "", "the YAML file (default $PINGPOST_CONFIG, or none)")
	return r
}

// load reads the named sections. An explicit database wins over a data folder
// that is merely in the environment.
func (r *reach) load(need ...config.Section) (*config.Config, *devstack.Running, error) {
	dir := r.dataDir
	if dir == "" && os.Getenv("PINGPOST_DATABASE_URL") == "" && r.config == "" {
		dir = os.Getenv("PINGPOST_DATA_DIR")
	}
	if dir == "" {
		cfg, err := config.Load(source(r.config, config.Serve, need...))
		return cfg, nil, err
	}
	running, err := devstack.ReadRunning(dir)
	if err != nil {
		return nil, nil, err
	}
	cfg := config.Defaults(config.Dev)
	cfg.Database.URL = config.Secret(running.DatabaseURL)
	cfg.Keys.Platform = []config.Secret{config.Secret(running.PlatformKeys)}
	return cfg, &running, nil
}

func (r *reach) ownerURL() (string, time.Duration, error) {
	cfg, running, err := r.load(config.SectionDatabase)
	if err != nil {
		return "", 0, err
	}
	if running != nil {
		return running.OwnerURL, cfg.Database.ConnectTimeout, nil
	}
	return cfg.Database.URL.Reveal(), cfg.Database.ConnectTimeout, nil
}

// partners opens the service that the operator's commands use.
func (r *reach) partners(ctx context.Context, use func(*partners.Service) error) error {
	cfg, _, err := r.load(config.SectionDatabase, config.SectionKeys)
	if err != nil {
		return err
	}
	db, keys, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	return use(partners.NewService(db, keys, clock.System{}))
}
