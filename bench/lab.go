package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

// lab contains what all scenarios share.
type lab struct {
	server     *devpg.Server
	folder     string    // for logs and scripts
	root       *pgx.Conn // connection as the superuser
	postmaster int       // process ID of Postgres
	proc       procfs.FS

	size     size
	patience time.Duration
	progress io.Writer

	checks   []func(context.Context) error // of the current scenario
	cleanups []func() error
}

// size limits the size of a run.
type size struct {
	rounds         int           // at most, in each scenario
	length         time.Duration // at most, of a turn
	divisor        int           // of the numbers of rows
	postsPerSecond int           // number of posts to prepare for each second without a fixed rate
	shortJobs      bool          // a background job may end before the posts do; for tests on slow machines
}

var passwords = devpg.Passwords{Owner: "owner-of-benchmarks", App: "app-of-benchmarks"}

// open starts Postgres in a temporary folder.
func (l *lab) open(ctx context.Context) (err error) {
	if l.folder, err = os.MkdirTemp("", "pingpost-bench-"); err != nil {
		return err
	}
	l.cleanup(func() error { return os.RemoveAll(l.folder) })
	// Postgres may run as a different user, so its data is in a folder of its own.
	data, err := os.MkdirTemp("", "pingpost-bench-postgres-")
	if err != nil {
		return err
	}
	l.cleanup(func() error { return os.RemoveAll(data) })
	if l.server, err = devpg.Start(ctx, devpg.Options{DataDir: data, Durable: true, Temporary: true}); err != nil {
		return err
	}
	l.cleanup(l.server.Stop)
	if l.root, err = pgx.Connect(ctx, l.server.SuperuserURL("postgres")); err != nil {
		return err
	}
	l.cleanup(func() error { return l.root.Close(context.Background()) })
	if l.proc, err = procfs.NewDefaultFS(); err != nil {
		return err
	}
	const firstLine = `SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int`
	return l.root.QueryRow(ctx, firstLine).Scan(&l.postmaster)
}

func (l *lab) report(format string, args ...any) { fmt.Fprintf(l.progress, format+"\n", args...) }

// sized returns the number of rows to use instead of n.
func (l *lab) sized(n int) int { return max(n/l.size.divisor, 1) }

// check adds a check at the end of the scenario.
func (l *lab) check(f func(context.Context) error) { l.checks = append(l.checks, f) }

// cleanup adds a function that runs after the scenario. If no scenario is running, the function runs after the last
// scenario.
func (l *lab) cleanup(f func() error) { l.cleanups = append(l.cleanups, f) }

// cleanUp runs and removes the cleanup functions, in reverse order. It leaves the given number of functions that were
// added first.
func (l *lab) cleanUp(first int) (err error) {
	for _, f := range slices.Backward(l.cleanups[first:]) {
		err = errors.Join(err, f())
	}
	l.cleanups = l.cleanups[:first]
	return err
}

// settle keeps one turn from slowing down the next. It writes all data to disk and waits up to 5 seconds
// for autovacuum to finish.
func (l *lab) settle(ctx context.Context) error {
	if _, err := l.root.Exec(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	_, err := await(ctx, 5*time.Second, func() (bool, error) {
		var idle bool
		err := l.root.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
			WHERE backend_type = 'autovacuum worker')`).Scan(&idle)
		return idle, err
	})
	return err
}

// await calls a function repeatedly until it returns true or an error, or until the time limit has passed.
func await(ctx context.Context, limit time.Duration, ready func() (bool, error)) (bool, error) {
	for end := now().Add(limit); ; {
		if ok, err := ready(); ok || err != nil || now().After(end) {
			return ok, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// database is a database with the product's schema. Each contender has its own, so that its rows do not
// slow down the others.
type database struct {
	name string
	url  string       // for the role that the service uses
	root *pgx.Conn    // connection as the superuser
	db   *postgres.DB // connection with the role that the service uses

	platformKey, localKey []byte
	keys                  *keyring.Keys
	wrappers              *envelope.Wrappers // with the local key, unless a scenario changes it

	filledLeads          int64 // added by the benchmark itself
	acknowledged, denied int64 // posts; denied is the number of rejected posts
}

// newDatabase creates a database with the current migrations. It is closed after the scenario.
func (l *lab) newDatabase(ctx context.Context, name string) (*database, error) {
	if err := l.server.Provision(ctx, name, passwords); err != nil {
		return nil, fmt.Errorf("creating the database %s: %w", name, err)
	}
	owner, err := postgres.OpenOwner(l.server.URL(devpg.OwnerRole, passwords.Owner, name), 10*time.Second)
	if err != nil {
		return nil, err
	}
	defer owner.Close()
	if _, err := migrations.Up(ctx, owner); err != nil {
		return nil, err
	}
	d := &database{
		name: name, url: l.server.URL(devpg.AppRole, passwords.App, name), platformKey: newKey(), localKey: newKey(),
	}
	local, err := envelope.NewLocal(d.localKey)
	if err != nil {
		return nil, err
	}
	d.wrappers = envelope.NewWrappers(local)
	if d.keys, err = keyring.NewKeys([][]byte{d.platformKey}); err != nil {
		return nil, err
	}
	if d.root, err = pgx.Connect(ctx, l.server.SuperuserURL(name)); err != nil {
		return nil, err
	}
	l.cleanup(func() error { return d.root.Close(context.Background()) })
	d.db, err = postgres.Open(ctx, postgres.Options{URL: d.url, MaxConnections: 4, ConnectTimeout: 30 * time.Second})
	if err != nil {
		return nil, err
	}
	l.cleanup(func() error { d.db.Close(); return nil })
	for _, month := range []time.Time{now().AddDate(0, -1, 0), now()} {
		if err := d.db.EnsurePartitions(ctx, month, postgres.Monthly); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func newKey() []byte {
	key := make([]byte, keyring.KeySize)
	rand.Read(key)
	return key
}

// fill adds synthetic rows.
func (d *database) fill(ctx context.Context, l *lab, p fillPlan) error {
	l.report("filling tables with %d partners, %d leads and %d pings", p.partners, p.leads, p.pings)
	f := filler{db: d.db, keys: d.keys, wrappers: d.wrappers, progress: io.Discard}
	d.filledLeads = int64(p.leads)
	if err := f.fill(ctx, p); err != nil {
		return fmt.Errorf("filling tables: %w", err)
	}
	return d.exec(ctx, "VACUUM (ANALYZE)")
}

func (d *database) queue() *jobs.Queue {
	return jobs.NewQueue(d.db, clock.System{}, slog.New(slog.DiscardHandler))
}

// exec runs SQL statements as the superuser.
func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := d.root.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// checkLeads returns an error unless every acknowledged post is stored as a complete lead. A rejected post
// may be stored as well, because its rejection can be a timeout.
func (d *database) checkLeads(ctx context.Context) error {
	for _, from := range []string{
		"leads", "lead_keys", "consents", "ledger_entries WHERE kind = 'accrual'", "lead_events WHERE kind = 'delivered'",
		`leads l JOIN lead_keys k ON k.lead_id = l.id JOIN consents c ON c.lead_id = l.id
			JOIN lead_events e ON e.lead_id = l.id JOIN ledger_entries a
			ON a.lead_id = l.id AND a.kind = 'accrual' AND a.amount_minor = l.price_minor AND a.currency = l.currency`,
	} {
		least := d.filledLeads + d.acknowledged
		if err := d.checkRows(ctx, from, least, least+d.denied); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) checkRows(ctx context.Context, from string, least, most int64) error {
	var got int64
	if err := d.root.QueryRow(ctx, "SELECT count(*) FROM "+from).Scan(&got); err != nil {
		return err
	}
	if got < least || got > most {
		return fmt.Errorf("%d rows were acknowledged, but the database %s contains %d in %s", least, d.name, got, from)
	}
	return nil
}

// usage contains processor times since the machine started, in seconds.
type usage struct {
	all, busy float64 // of all processors
	ours      float64 // of this program, Postgres and their descendants
	process   float64 // of one process and its descendants
}

// othersSince returns the share of processor time that other programs have used since an earlier reading.
// Guests on the same host count as other programs if the host reports the time that they take away.
func (u usage) othersSince(before usage) float64 {
	others := (u.busy - before.busy) - (u.ours - before.ours)
	return max(0, others/max(u.all-before.all, 0.01))
}

// readUsage reads the processor times of the machine and of the process with the given ID.
func (l *lab) readUsage(pid int) (u usage, err error) {
	system, err := l.proc.Stat()
	if err != nil {
		return u, err
	}
	c := system.CPUTotal
	u.busy = c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal
	u.all = u.busy + c.Idle + c.Iowait
	all, err := l.proc.AllProcs()
	if err != nil {
		return u, err
	}
	processes := processTable{}
	for _, p := range all {
		if s, err := p.Stat(); err == nil { // otherwise it has ended
			// The two times for children cover only children that have ended.
			ticks := s.UTime + s.STime + uint(s.CUTime) + uint(s.CSTime)
			processes[p.PID] = process{s.PPID, float64(ticks) / 100}
		}
	}
	u.ours = processes.time(os.Getpid()) + processes.time(l.postmaster)
	u.process = processes.time(pid)
	return u, nil
}

// processTable contains all processes by their IDs.
type processTable map[int]process

type process struct {
	parent int
	time   float64
}

// time returns the processor time of a process and its descendants.
func (all processTable) time(pid int) (sum float64) {
	for id, p := range all {
		for id != pid && id != 0 {
			id = all[id].parent
		}
		if id != 0 {
			sum += p.time
		}
	}
	return sum
}

// residentMemory returns the resident memory of a process, in MB.
func residentMemory(pid int) (float64, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	s, err := p.Stat()
	return float64(s.ResidentMemory()) / (1 << 20), err
}

// describeMachine returns the properties of the machine that affect the figures, and nothing that identifies the
// machine. It returns an error if Postgres could lose committed data in a crash.
func (l *lab) describeMachine(ctx context.Context) ([][2]string, error) {
	var version string
	var durable bool
	err := l.root.QueryRow(ctx, `SELECT current_setting('server_version'), bool_and(setting = 'on') FROM pg_settings
		WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')`).Scan(&version, &durable)
	if err == nil && !durable {
		err = errors.New("the measured Postgres must be as durable as in production")
	}
	if err != nil {
		return nil, err
	}
	processor := "not known"
	if all, err := l.proc.CPUInfo(); err == nil && len(all) > 0 && all[0].ModelName != "" {
		processor = all[0].ModelName
	}
	const commits = 100
	start := now()
	for range commits {
		if _, err := l.root.Exec(ctx, `SELECT pg_logical_emit_message(true, '', '')`); err != nil {
			return nil, err
		}
	}
	commit := now().Sub(start) / commits
	return [][2]string{
		{"processor", processor},
		{"cores", strconv.Itoa(runtime.NumCPU())},
		{"Go", runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH},
		{"Postgres", version},
		{"commit of an empty transaction to the disk", commit.Round(time.Microsecond).String()},
	}, nil
}
