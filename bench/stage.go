package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

// stage contains the resources that all measurements share: a private Postgres server with the same
// durability settings as in production, and a folder for files.
type stage struct {
	server *devpg.Server
	folder string // for logs and scripts
	data   string // Postgres's data folder

	root       *pgx.Conn // connection as the superuser
	postmaster int       // the ID of Postgres's main process; 0 if unknown

	fastestPosts int // number of posts to prepare for each second of a round
}

var passwords = devpg.Passwords{Owner: "owner-of-benchmarks", App: "app-of-benchmarks"}

// openStage starts Postgres with its data in a temporary folder. Set TMPDIR to select the disk.
func openStage(ctx context.Context) (_ *stage, err error) {
	s := &stage{fastestPosts: fastestPosts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.folder, err = os.MkdirTemp("", "pingpost-bench-"); err != nil {
		return nil, err
	}
	// Postgres may run as a different user, so its data is in a folder of its own.
	if s.data, err = os.MkdirTemp("", "pingpost-bench-postgres-"); err != nil {
		return nil, err
	}
	if s.server, err = devpg.Start(ctx, devpg.Options{DataDir: s.data, Durable: true, Temporary: true}); err != nil {
		return nil, err
	}
	if s.root, err = pgx.Connect(ctx, s.server.SuperuserURL("postgres")); err != nil {
		return nil, err
	}
	// All other processes of Postgres are children of the postmaster.
	if session, err := readProcess(int(s.root.PgConn().PID())); err == nil {
		s.postmaster = session.parent
	}
	return s, nil
}

func (s *stage) close() error {
	if s.root != nil {
		_ = s.root.Close(context.Background()) // Postgres is stopped below anyway
	}
	var stopped error
	if s.server != nil {
		stopped = s.server.Stop()
	}
	return errors.Join(stopped, os.RemoveAll(s.folder), os.RemoveAll(s.data))
}

type database struct {
	name    string
	appURL  string // as the role that the service uses
	rootURL string // as the superuser
	root    *pgx.Conn
}

// newDatabase creates a database and runs the migrations. Each contender has its own database, so that
// its rows do not slow down other contenders.
func (s *stage) newDatabase(ctx context.Context, name string) (*database, error) {
	if err := s.server.Provision(ctx, name, passwords); err != nil {
		return nil, fmt.Errorf("creating the database %s: %w", name, err)
	}
	owner, err := postgres.OpenOwner(s.server.URL(devpg.OwnerRole, passwords.Owner, name), 10*time.Second)
	if err != nil {
		return nil, err
	}
	defer owner.Close()
	if _, err := migrations.Up(ctx, owner); err != nil {
		return nil, err
	}
	d := &database{
		name:    name,
		appURL:  s.server.URL(devpg.AppRole, passwords.App, name),
		rootURL: s.server.SuperuserURL(name),
	}
	if d.root, err = pgx.Connect(ctx, d.rootURL); err != nil {
		return nil, err
	}
	if err := d.createPartitions(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// createPartitions creates the partitions that contain the data of the benchmarks, including those of
// the previous month.
func (d *database) createPartitions(ctx context.Context) error {
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	now := clock.System{}.Now()
	return cmp.Or(db.EnsurePartitions(ctx, now.AddDate(0, -1, 0), postgres.Monthly),
		db.EnsurePartitions(ctx, now, postgres.Monthly))
}

// open connects to the database with the role that the service uses.
func (d *database) open(ctx context.Context) (*postgres.DB, error) {
	return postgres.Open(ctx, postgres.Options{URL: d.appURL, MaxConnections: 2, ConnectTimeout: 30 * time.Second})
}

func (d *database) close() error { return d.root.Close(context.Background()) }

// durable returns an error if Postgres could lose committed data in a crash. Figures that are measured
// with such a server would be meaningless.
func (d *database) durable(ctx context.Context) error {
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := d.root.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
			return err
		}
		if value != "on" {
			return fmt.Errorf("the measured Postgres must be as durable as in production, but has %s = %s", setting, value)
		}
	}
	return nil
}

// settle keeps one turn from slowing down the next. It writes all data to disk and waits up to 5
// seconds for autovacuum to finish.
func (s *stage) settle(ctx context.Context) error {
	if _, err := s.root.Exec(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	return await(ctx, 5*time.Second, func() (bool, error) {
		var vacuums int
		err := s.root.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'`).
			Scan(&vacuums)
		return vacuums == 0, err
	}, nil)
}

// await calls the function ask repeatedly until it returns true or an error. After the time limit, await
// gives up and returns the result of the function late, or nil if late is nil.
func await(ctx context.Context, within time.Duration, ask func() (bool, error), late func() error) error {
	end := clock.System{}.Now().Add(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		if !(clock.System{}).Now().Before(end) {
			if late == nil {
				return nil
			}
			return late()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
