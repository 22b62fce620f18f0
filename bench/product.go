package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/models"
)

// partnerSlug is the slug of the partner that sends the requests.
const partnerSlug = "harbour-leads"

// product is the whole service. It runs in its own process and has its own database.
type product struct {
	*database
	process  *child
	address  string // of its API
	started  time.Time
	poster   poster
	answered int64 // pings

	postsPerSecond int // number of posts to prepare without a fixed rate
}

// productJob contains the settings of the product that differ between scenarios.
type productJob struct {
	DatabaseURL, PlatformKey, LocalKey string
	Log                                string // file for its log, which includes the access log
	SinglePosts                        bool   // store each post in its own transaction
	VaultAddress                       string // "" to use the local key
	VaultLogin                         devvault.Identity
	TraceEndpoint                      string // "" for no traces
}

// newProduct starts the service with a database that contains one partner. The service is stopped after the
// scenario, which fails if an acknowledged request is not stored.
func (l *lab) newProduct(ctx context.Context, name string, job productJob) (p *product, err error) {
	p = &product{started: now(), postsPerSecond: l.size.postsPerSecond}
	if p.database, err = l.newDatabase(ctx, name); err != nil {
		return nil, err
	}
	if err := p.createPartner(ctx); err != nil {
		return nil, fmt.Errorf("creating the partner: %w", err)
	}
	job.DatabaseURL, job.Log = p.url, filepath.Join(l.folder, name+".log")
	job.PlatformKey = base64.StdEncoding.EncodeToString(p.platformKey)
	job.LocalKey = base64.StdEncoding.EncodeToString(p.localKey)
	l.check(p.checkLeads)
	p.process, p.address, err = l.startServer(ctx, "product", job)
	return p, err
}

// createPartner creates the approved partner that sends the requests. Its disclosure texts have been in
// the database since the day before.
func (p *product) createPartner(ctx context.Context) error {
	service := partners.NewService(p.db, p.keys, clock.System{})
	row, err := service.Create(ctx, partners.NewPartner{
		Slug: partnerSlug, Name: "Harbour Leads", Signing: models.SigningRequired,
	})
	if err != nil {
		return err
	}
	_, err = service.CreateAccount(ctx, scope.System, row, partners.NewAccount{Identifier: partnerSlug})
	if err != nil {
		return err
	}
	secret, err := service.CreateSecret(ctx, scope.System, row, "")
	if err != nil {
		return err
	}
	p.poster = poster{Partner: row.ID, Secret: secret.Plain, QuoteKeys: p.keys.QuoteKeys()}
	for _, text := range disclosures {
		_, err := p.root.Exec(ctx, `INSERT INTO disclosures (digest, text, partner_id, first_used_at, standard)
			VALUES (sha256(convert_to($1, 'UTF8')), $1, $2, $3, true)`, text, row.ID, now().AddDate(0, 0, -1))
		if err != nil {
			return err
		}
	}
	return service.SetStatus(ctx, scope.System, row.ID, models.PartnerApproved)
}

// serveProduct is the role of the product. It runs the service with the production settings.
func serveProduct(parent *link) error {
	var job productJob
	if err := parent.Decode(&job); err != nil {
		return err
	}
	log, err := os.OpenFile(job.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cfg, listeners, err := job.configure()
	if err != nil {
		return err
	}
	app.TuneGC()
	node, err := app.Start(context.Background(), app.Options{
		Config: cfg, Environment: "production", Clock: clock.System{}, Log: log, Listeners: listeners,
		SinglePosts: job.SinglePosts,
	})
	if err != nil {
		return err
	}
	err = parent.Encode(node.APIAddr())
	parent.wait()
	return errors.Join(err, node.Stop(context.Background()))
}

func (j productJob) configure() (*config.Config, *app.Listeners, error) {
	cfg := config.Defaults(config.Serve)
	cfg.HTTP.APIAddr, cfg.HTTP.AdminAddr, cfg.HTTP.OpsAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.HTTP.DrainDelay = 0 // there is no load balancer
	// All requests come from one address and one partner. These limits are checked, but reject no request.
	const noLimit = 100_000
	cfg.Limits.PingsPerAddress, cfg.Limits.SharedPingsPerAddress = noLimit, noLimit
	cfg.Limits.PostsPerPartner, cfg.Limits.PingLogMiBPerDay = noLimit, noLimit
	cfg.Database.URL = config.Secret(j.DatabaseURL)
	cfg.Database.SnapshotFile = "" // leave no file on the machine
	cfg.Keys.Platform = []config.Secret{config.Secret(j.PlatformKey)}
	if j.VaultAddress == "" {
		cfg.Keys.Local = []config.Secret{config.Secret(j.LocalKey)}
	} else {
		cfg.Vault.Address, cfg.Vault.RoleID = j.VaultAddress, j.VaultLogin.RoleID
		cfg.Vault.SecretID = config.Secret(j.VaultLogin.SecretID)
	}
	cfg.Tracing.Endpoint = j.TraceEndpoint
	listeners, err := app.Listen(cfg.HTTP)
	if err != nil {
		return nil, nil, err
	}
	cfg.HTTP.PublicURL = "http://" + listeners.API.Addr().String()
	cfg.HTTP.AdminURL = "http://" + listeners.Admin.Addr().String()
	err = cfg.Validate()
	return cfg, listeners, err
}

// contender returns a contender whose processor time is that of the product.
func (p *product) contender(name string, run func(context.Context, time.Duration) (turn, error)) contender {
	return contender{name: name, pid: p.process.cmd.Process.Pid, run: run}
}

// sendsPings returns a contender that sends pings to the product. A turn's quantity extra is the product's resident
// memory in MB, if the product has answered half a million pings.
func (p *product) sendsPings(name string, j loadJob) contender {
	return p.contender(name, func(ctx context.Context, length time.Duration) (turn, error) {
		j.Address = p.address
		t, err := j.run(ctx, length)
		if err != nil {
			return t, err
		}
		if p.answered += t.count; p.answered >= 500_000 {
			t.extra, err = residentMemory(p.process.cmd.Process.Pid)
		}
		return t, errors.Join(err, p.awaitRecorded(ctx))
	})
}

// sendsPosts returns a contender that sends posts to the product.
func (p *product) sendsPosts(name string, j loadJob) contender {
	j.Address = p.address
	if j.Posts == nil {
		j.Posts = &p.poster
	}
	return p.contender(name, func(ctx context.Context, length time.Duration) (turn, error) {
		// The load generator cannot send more than some ten thousand posts per second.
		perSecond := min(cmp.Or(j.Rate, p.postsPerSecond), 4*p.postsPerSecond)
		j.Count = int(float64(perSecond) * length.Seconds())
		t, err := j.run(ctx, length)
		p.acknowledged += t.count - t.replays
		p.denied += t.rejected
		return t, err
	})
}

// awaitRecorded waits until exactly the answered pings are recorded.
func (p *product) awaitRecorded(ctx context.Context) error {
	var recorded int64
	done, err := await(ctx, grace, func() (bool, error) {
		err := p.root.QueryRow(ctx, `SELECT count(*) FROM pings WHERE issued_at >= $1 AND outcome = 'priced'`,
			p.started).Scan(&recorded)
		return recorded == p.answered, err
	})
	if err == nil && !done {
		err = fmt.Errorf("%d pings were answered, but %d were recorded", p.answered, recorded)
	}
	return err
}

// newVaultProduct starts the service with a Vault server on the same machine. The function as returns a key wrapper
// that logs in to Vault with the given role.
func (l *lab) newVaultProduct(ctx context.Context, name string) (
	p *product, as func(role string) (*transit.Wrapper, error), err error,
) {
	program, err := devvault.Find(ctx, func(text string) { l.report("%s", text) })
	if err != nil {
		return nil, nil, err
	}
	v, err := devvault.Start(ctx, program, io.Discard)
	if err != nil {
		return nil, nil, err
	}
	l.cleanup(v.Stop)
	roles, err := v.Provision(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	as = func(role string) (*transit.Wrapper, error) {
		return transit.New(transit.Options{
			Address: v.Address, Mount: devvault.Mount, Key: devvault.Key, Timeout: 5 * time.Second, Clock: clock.System{},
			Login: transit.Login{
				Method: transit.AppRole, Mount: devvault.AuthMount, RoleID: roles[role].RoleID, SecretID: roles[role].SecretID,
			},
		})
	}
	p, err = l.newProduct(ctx, name, productJob{VaultAddress: v.Address, VaultLogin: roles[devvault.Serve]})
	return p, as, err
}
