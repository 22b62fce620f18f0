// Command fill adds synthetic partners, leads and pings to a database until it contains the given
// numbers of them, to show the effects of growth. It reads the same settings as pingpost serve. Never
// run it on a database that contains real leads, because the synthetic rows cannot be removed. If it is
// interrupted, run it again to continue.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/pingpost/pingpost/bench/benchdata"
	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args, environ []string, progress io.Writer) error {
	plan := benchdata.Plan{}
	flags := flag.NewFlagSet("fill", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&plan.Partners, "partners", 10_000, "total number of synthetic partners")
	flags.IntVar(&plan.Leads, "leads", 10_000_000, "total number of leads, about 2 KB each")
	flags.IntVar(&plan.Months, "months", 1,
		"number of months over which the leads are spread, each with its own partition")
	flags.IntVar(&plan.Pings, "pings", 100_000_000, "total number of recorded pings, about 150 bytes each")
	database := flags.String("database", "", "confirm the `NAME` of the database to fill")
	file := flags.String("config", "", "YAML `FILE` with settings")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if plan.Partners < 0 || plan.Leads < 0 || plan.Pings < 0 || plan.Months < 1 {
		return fmt.Errorf("totals must be zero or more, and months at least 1")
	}
	cfg, err := config.Load(config.Source{
		File: *file, Environ: environ, Defaults: config.Serve,
		Need: []config.Section{config.SectionDatabase, config.SectionKeys, config.SectionVault},
	})
	if err != nil {
		return err
	}
	keys, err := keyring.NewKeys(cfg.Keys.PlatformKeys())
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, postgres.Options{
		URL:            cfg.Database.URL.Reveal(),
		MaxConnections: 2,
		ConnectTimeout: cfg.Database.ConnectTimeout,
	})
	if err != nil {
		return err
	}
	defer db.Close()
	var name string
	if err := db.Pool.QueryRow(ctx, `SELECT current_database()`).Scan(&name); err != nil {
		return err
	}
	if *database != name {
		return fmt.Errorf("this fills the database %q with synthetic leads that cannot be removed: confirm with -database %s",
			name, name)
	}
	wrappers, err := app.OpenKeysUnpooled(cfg, transit.NewAttempts(db, keys), clock.System{})
	if err != nil {
		return err
	}
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		return err
	}
	f := benchdata.Filler{
		DB: db, Keys: keys, Wrappers: wrappers.Wrappers, Taxonomy: taxonomy, Now: clock.System{}.Now(),
		OnProgress: func(what string, there, of int) { fmt.Fprintf(progress, "%d of %d %s\n", there, of, what) },
	}
	return f.Fill(ctx, plan)
}
