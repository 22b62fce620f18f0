package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/staff"
)

type devFlags struct {
	dataDir, readyFile, config string
	api, admin, ops            string
	ephemeral, vault           bool
	ahead                      time.Duration
}

func devCommand(unhook func()) *cobra.Command {
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine, with a private Postgres and demo partners",
		Args:  noArgs,
	}
	var f devFlags
	flags := c.Flags()
	flags.StringVar(&f.dataDir, "data-dir", os.Getenv("PINGPOST_DATA_DIR"),
		"store the data in the folder `DIR` (default $PINGPOST_DATA_DIR, or .pingpost)")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "use a temporary folder and delete it on exit")
	flags.BoolVar(&f.vault, "vault", false,
		"wrap lead keys with a private HashiCorp Vault; the program is $PINGPOST_VAULT_BIN, vault on PATH, or built from the repository")
	flags.StringVar(&f.api, "api-addr", "",
		"`HOST:PORT` of the partner API (default 127.0.0.1:8080; port 0 picks a free one)")
	flags.StringVar(&f.admin, "admin-addr", "", "`HOST:PORT` of the console (default 127.0.0.1:8081)")
	flags.StringVar(&f.ops, "ops-addr", "", "`HOST:PORT` of health and metrics (default 127.0.0.1:8082)")
	flags.DurationVar(&f.ahead, "clock-offset", 0,
		"set the service's clock, also for commands with --data-dir, ahead by `DURATION`, such as 16m")
	flags.StringVar(&f.readyFile, "ready-file", "",
		"when the platform is ready, write its URLs, users and partners to `FILE` as JSON")
	configVar(c, &f.config)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if f.ephemeral && flags.Changed("data-dir") {
			return usageError{errors.New("--ephemeral and --data-dir cannot be used together")}
		}
		return dev(c.Context(), unhook, f)
	}
	return c
}

// dev starts Postgres, Vault if requested, and the service. It prints how to use them and runs
// until ctx ends or Postgres fails.
func dev(ctx context.Context, unhook func(), f devFlags) (err error) {
	if err := readyFileWritable(f.readyFile); err != nil {
		return err
	}
	cfg, err := devConfig(f)
	if err != nil {
		return err
	}
	// Bind the ports first, so that a port in use is reported before Postgres starts.
	listeners, err := app.Listen(cfg.HTTP)
	if err != nil {
		return err
	}
	defer listeners.Close()
	if f.readyFile != "" {
		if err := os.Remove(f.readyFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the ready file of an earlier run: %w", err)
		}
	}
	if f.dataDir, err = dataDir(f); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "starting in %s …\n", f.dataDir)
	stack, err := devstack.Start(ctx, devstack.Options{
		DataDir: f.dataDir, Ephemeral: f.ephemeral, Vault: f.vault, Retention: cfg.Retention,
		PricingApproval: cfg.Pricing.RequireApproval, PrivacyApproval: cfg.Privacy.RequireApproval, PrivacyLaw: cfg.Privacy.Law,
		ClockOffset: f.ahead,
		OnProgress:  func(text string) { fmt.Fprintln(os.Stderr, text) },
	})
	if err != nil {
		return err
	}
	stopping := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, stack.Stop(stopping)) }()

	fill(cfg, stack, origin(listeners.API.Addr().String()), origin(listeners.Admin.Addr().String()))
	if err := cfg.Validate(); err != nil {
		return err
	}
	service := clock.System{Offset: f.ahead}
	// Create the demo data with a clock that is not ahead of the machine's clock. Otherwise, the dates
	// in the data would be in the future if dev were restarted without --clock-offset.
	demo, err := createDemo(ctx, cfg, stack, clock.System{Offset: min(f.ahead, 0)})
	if err != nil {
		return err
	}
	app.TuneGC()
	node, err := app.Start(ctx, app.Options{
		Config: cfg, Environment: "development", Version: releaseOf(buildInfo()), Clock: service, Log: os.Stderr, Listeners: listeners,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { // ends when Postgres or ctx ends
		select {
		case <-stack.Postgres.Done():
			cancel(stack.Postgres.Err())
		case <-ctx.Done():
		}
	}()
	if err = announce(node, stack, demo, cfg.HTTP.PublicURL, f); err == nil {
		err = node.Wait(ctx)
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	unhook()
	fmt.Fprintln(os.Stderr, "stopping …")
	if f.readyFile != "" {
		if removed := os.Remove(f.readyFile); !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return errors.Join(err, node.Stop(context.WithoutCancel(ctx)))
}

func devConfig(f devFlags) (*config.Config, error) {
	cfg, err := config.Load(source(f.config, config.Dev))
	if err != nil {
		return nil, err
	}
	for _, addr := range []struct{ flag, setting *string }{
		{&f.api, &cfg.HTTP.APIAddr}, {&f.admin, &cfg.HTTP.AdminAddr}, {&f.ops, &cfg.HTTP.OpsAddr},
	} {
		if *addr.flag != "" {
			*addr.setting = *addr.flag
		}
	}
	if cfg.HTTP.APIAddr == "" || cfg.HTTP.AdminAddr == "" {
		return nil, errors.New("pingpost dev serves both the partner API and the console: set http.api_addr and http.admin_addr, or remove both settings")
	}
	return cfg, nil
}

// readyFileWritable checks that the ready file can be written. It does not create the file, because
// other programs wait until the file exists.
func readyFileWritable(path string) error {
	if path == "" {
		return nil
	}
	rejected := func(reason any) error {
		return fmt.Errorf("cannot write the ready file %s: %v. Set --ready-file to a file in an existing folder that you can write to",
			path, reason)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return rejected("it is a folder")
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".pingpost-ready-*")
	if err != nil {
		return rejected(errors.Unwrap(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// origin returns the URL at which a listener can be reached from this machine. If the listener accepts
// connections on all addresses, the host in the URL is localhost.
func origin(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		addr = net.JoinHostPort("localhost", port)
	}
	return "http://" + addr
}

// fill sets the settings that `pingpost dev` generates. It replaces any configured database and keys
// with dev's own, so that demo data is never written to another database.
func fill(cfg *config.Config, s *devstack.Stack, api, admin string) {
	cfg.Database.URL = config.Secret(s.DatabaseURL)
	cfg.Keys.Platform = []config.Secret{config.Secret(s.Keys.PlatformKey)}
	cfg.Keys.Local = []config.Secret{config.Secret(s.Keys.LeadVaultKEK)}
	cfg.Privacy.ErasureJournal = s.ErasureJournal
	useVault(cfg, s.Vault, devvault.Serve)
	cfg.HTTP.PublicURL = cmp.Or(cfg.HTTP.PublicURL, api)
	cfg.HTTP.AdminURL = cmp.Or(cfg.HTTP.AdminURL, admin)
}

// useKeysOf sets the lead keys of a running `pingpost dev`, and the credentials that the given role has in its Vault.
func useKeysOf(running *devstack.Running, cfg *config.Config, role string) {
	cfg.Keys.Local = []config.Secret{config.Secret(running.LeadVaultKEK)}
	useVault(cfg, running.Vault, role)
}

// useVault makes Vault the key wrapper for new leads, and sets the credentials of the given role. If v
// is nil, it makes the local key the key wrapper instead.
func useVault(cfg *config.Config, v *devstack.Vault, role string) {
	cfg.Keys.WriteWith = config.WrapperLocal
	if v == nil {
		cfg.Vault = config.Defaults(config.Dev).Vault
		return
	}
	cfg.Keys.WriteWith = config.WrapperVault
	cfg.Vault.Address, cfg.Vault.Mount, cfg.Vault.Key = v.Address, devvault.Mount, devvault.Key
	cfg.Vault.Auth, cfg.Vault.AuthMount = config.LoginAppRole, devvault.AuthMount
	cfg.Vault.RoleID, cfg.Vault.SecretID = v.Roles[role].RoleID, config.Secret(v.Roles[role].SecretID)
	cfg.Vault.ReadRoleID, cfg.Vault.ReadSecretID = v.Roles[devvault.Read].RoleID, config.Secret(v.Roles[devvault.Read].SecretID)
}

func dataDir(f devFlags) (string, error) {
	switch {
	case f.ephemeral:
		dir, err := os.MkdirTemp("", "pingpost-")
		if err != nil {
			return "", fmt.Errorf("creating a temporary folder: %w", err)
		}
		return dir, os.Chmod(dir, 0o711) // because Postgres may run as another user
	case f.dataDir != "":
		return filepath.Abs(f.dataDir) // the printed commands must work in any folder
	}
	return devstack.DefaultDataDir()
}

type demoData struct {
	partners []devstack.Partner
	staff    []devstack.User
}

func createDemo(ctx context.Context, cfg *config.Config, s *devstack.Stack, c clock.Clock) (d demoData, err error) {
	db, keys, err := open(ctx, cfg)
	if err != nil {
		return d, err
	}
	defer db.Close()
	if d.partners, err = s.SeedPartners(ctx, partners.NewService(db, keys, c), keys); err != nil {
		return d, err
	}
	if d.staff, err = s.Staff(ctx, staff.NewService(db, keys, c, staff.Settings{})); err != nil {
		return d, err
	}
	// A data folder can change between the local key and Vault at each start.
	wrappers, err := app.OpenKeysUnpooled(cfg, nil, c)
	if err != nil {
		return d, err
	}
	_, err = leads.NewStore(db.Pool).RegisterKeys(ctx, wrappers.Wrappers.Keys())
	return d, err
}

// open opens the database and the platform keys, for commands other than serve.
func open(ctx context.Context, cfg *config.Config) (*postgres.DB, *keyring.Keys, error) {
	keys, err := keyring.NewKeys(cfg.Keys.PlatformKeys())
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{
		URL: cfg.Database.URL.Reveal(), MaxConnections: 2,
		ConnectTimeout: cfg.Database.ConnectTimeout, StatementTimeout: cfg.Database.StatementTimeout,
	})
	if err != nil {
		return nil, nil, err
	}
	state, err := db.Inspect(ctx)
	if err == nil {
		err = state.CheckSchema()
	}
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, keys, nil
}

// ready is the content of the ready file, which tests and scripts read.
type ready struct {
	APIURL      string             `json:"api_url"`
	AdminURL    string             `json:"admin_url"`
	OpsURL      string             `json:"ops_url"`
	DatabaseURL string             `json:"database_url"`
	KeyWrapper  string             `json:"key_wrapper"`
	Staff       []devstack.User    `json:"staff"`
	Partners    []devstack.Partner `json:"partners"`
}

func announce(node *app.App, s *devstack.Stack, demo demoData, publicURL string, f devFlags) error {
	r := ready{
		APIURL: origin(node.APIAddr()), AdminURL: origin(node.AdminAddr()), OpsURL: origin(node.OpsAddr()),
		DatabaseURL: s.DatabaseURL, KeyWrapper: node.KeyWrapper(), Staff: demo.staff, Partners: demo.partners,
	}
	if err := printWelcome(os.Stdout, r, publicURL, f); err != nil || f.readyFile == "" {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return devstack.WriteFile(f.readyFile, append(text, '\n'))
}
