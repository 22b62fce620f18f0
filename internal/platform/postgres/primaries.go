package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	surveyEvery  = time.Second
	probeTimeout = 2 * time.Second

	// connectsAtOnce is how many connections to an address the pool establishes at the same time. After an outage, all
	// requests need new ones. If there were more, a slow server might finish none of them in time, and would keep
	// working on abandoned ones.
	connectsAtOnce = 4
)

// Timeline is the timeline of a server in a cluster. Each promotion of a standby starts a new
// timeline with a higher ID.
type Timeline struct {
	System int64 // the cluster's system identifier
	ID     uint32
}

// errReplaced means that a server still accepts writes even though a standby was promoted in its
// place.
var errReplaced = errors.New("replaced by a newer primary")

// primaries keeps the pool connected to the newest primary. An old primary that comes back also accepts
// writes, but these writes would be lost.
type primaries struct {
	current        atomic.Pointer[[]pgconn.Config] // see hosts
	connectTimeout time.Duration                   // 0 for none
	pool           atomic.Pointer[pgxpool.Pool]

	surveying sync.Mutex // locked while surveyOnce runs
	surveyed  bool

	mu      sync.Mutex
	slots   map[string]chan struct{} // by address: an element for each connection that is being established
	highest map[int64]uint32         // highest timeline seen in each cluster
	newest  int                      // index of the first host that is not replaced
	open    map[*link]Timeline

	replaced atomic.Int64 // number of replaced primaries that accepted writes at the last survey
}

// link is the network connection that a database connection uses.
type link struct {
	net.Conn
	primaries   *primaries
	releaseSlot func()
	closed      atomic.Bool
}

// established ends the time limit for connecting, and lets the pool establish another connection.
func (l *link) established() {
	l.SetDeadline(time.Time{}) //nolint:errcheck // the statements that follow would fail
	l.releaseSlot()
}

// Close implements net.Conn.
func (l *link) Close() error {
	l.primaries.mu.Lock()
	delete(l.primaries.open, l)
	l.primaries.mu.Unlock()
	l.closed.Store(true)
	l.releaseSlot()
	return l.Conn.Close()
}

// guard makes the pool reject connections to a primary that has been replaced by a newer one, and connections through a
// pooler that does not keep sessions. The parameter seen contains the timelines that were known before a restart. In
// the same round trip, guard sets the connections' statement timeout, unless statementTimeout is 0.
func guard(cfg *pgxpool.Config, seen []Timeline, statementTimeout time.Duration) *primaries {
	p := &primaries{highest: map[int64]uint32{}, open: map[*link]Timeline{}, slots: map[string]chan struct{}{}}
	hosts := hostsOf(cfg.ConnConfig.Config)
	p.current.Store(&hosts)
	for _, t := range seen {
		p.highest[t.System] = max(p.highest[t.System], t.ID)
	}
	pooler := &poolerCheck{hosts: p.hosts}
	settings := ""
	if statementTimeout > 0 {
		settings = fmt.Sprintf("SET statement_timeout = %d;", statementTimeout.Milliseconds())
	}
	p.connectTimeout, cfg.ConnConfig.ConnectTimeout = cfg.ConnConfig.ConnectTimeout, 0 // see dialer
	lookup := cfg.ConnConfig.LookupFunc
	cfg.ConnConfig.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		ctx, cancel := p.bound(ctx)
		defer cancel()
		return lookup(ctx, host)
	}
	dial, validate := cfg.ConnConfig.DialFunc, cfg.ConnConfig.ValidateConnect
	// A connection that does not belong to the pool takes no slot.
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &link{Conn: conn, primaries: p, releaseSlot: func() {}}, nil
	}
	cfg.ConnConfig.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		defer linkOf(conn).established()
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		s, err := serverOf(ctx, conn, settings)
		if err == nil {
			err = pooler.run(ctx, conn, s.session)
		}
		if err != nil || !s.primary {
			return err
		}
		return p.admit(s.Timeline, linkOf(conn))
	}
	cfg.BeforeConnect = func(ctx context.Context, cfg *pgx.ConnConfig) error {
		if len(p.hosts()) > 1 {
			p.surveyOnce(ctx)
		}
		p.useHosts(cfg)
		cfg.DialFunc = p.dialer(dial)
		return nil
	}
	return p
}

// bound returns a context that ends when an attempt to connect has taken too long.
func (p *primaries) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.connectTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, p.connectTimeout)
}

// dialer returns the dial function of one database connection. The function waits for a slot, and only then starts the
// time limit for connecting. Otherwise, a connection that had to wait would have too little time on a slow server. The
// request to cancel a statement of this connection is sent on a second network connection, without a slot.
func (p *primaries) dialer(dial pgconn.DialFunc) pgconn.DialFunc {
	var last atomic.Pointer[link]
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if l := last.Load(); l != nil && !l.closed.Load() {
			return dial(ctx, network, address)
		}
		slots := p.slotsOf(address)
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		releaseSlot := sync.OnceFunc(func() { <-slots })
		ctx, cancel := p.bound(ctx)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			releaseSlot()
			return nil, err
		}
		if until, limited := ctx.Deadline(); limited {
			conn.SetDeadline(until) //nolint:errcheck // without it, the statements that follow would fail
		}
		l := &link{Conn: conn, primaries: p, releaseSlot: releaseSlot}
		last.Store(l)
		return l, nil
	}
}

// slotsOf returns the slots of an address. Each address has its own, so that a host that is down does not delay
// connections to others.
func (p *primaries) slotsOf(address string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots[address] == nil {
		p.slots[address] = make(chan struct{}, connectsAtOnce)
	}
	return p.slots[address]
}

// hostsOf splits a configuration by host. A host has several entries if pgx tries it both with and
// without TLS.
func hostsOf(cfg pgconn.Config) (hosts []pgconn.Config) {
	entries := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}},
		cfg.Fallbacks...)
	for _, e := range entries {
		i := slices.IndexFunc(hosts, func(h pgconn.Config) bool { return h.Host == e.Host && h.Port == e.Port })
		if i >= 0 {
			hosts[i].Fallbacks = append(hosts[i].Fallbacks, e)
			continue
		}
		host := *cfg.Copy()
		host.Host, host.Port, host.TLSConfig, host.Fallbacks, host.ValidateConnect = e.Host, e.Port, e.TLSConfig, nil, nil
		hosts = append(hosts, host)
	}
	return hosts
}

// hosts returns the hosts in the order of the URL, each with the user and the password.
func (p *primaries) hosts() []pgconn.Config { return *p.current.Load() }

// replaceHosts uses another user, password or TLS setting for the same hosts.
func (p *primaries) replaceHosts(hosts []pgconn.Config) error {
	if !slices.EqualFunc(p.hosts(), hosts, func(a, b pgconn.Config) bool {
		return a.Host == b.Host && a.Port == b.Port && a.Database == b.Database
	}) {
		return errors.New("database.url names other hosts or another database: restart the node to use it")
	}
	p.current.Store(&hosts)
	return nil
}

// useHosts sets the user, the password and the hosts in cfg. It puts the newest primary first, so that connecting does
// not wait for a host that is down or that would be rejected.
func (p *primaries) useHosts(cfg *pgx.ConnConfig) {
	p.mu.Lock()
	newest := p.newest
	p.mu.Unlock()
	hosts := p.hosts()
	first := hosts[newest]
	entries := slices.Clone(first.Fallbacks)
	for i, h := range hosts {
		if i != newest {
			entries = append(append(entries, &pgconn.FallbackConfig{
				Host:      h.Host,
				Port:      h.Port,
				TLSConfig: h.TLSConfig,
			}), h.Fallbacks...)
		}
	}
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks = first.Host, first.Port, first.TLSConfig, entries
	cfg.User, cfg.Password = first.User, first.Password
}

func linkOf(conn *pgconn.PgConn) *link {
	c := conn.Conn()
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	return c.(*link)
}

// server describes the server of a connection.
type server struct {
	Timeline        // only for a primary
	primary  bool   // false for a standby
	session  string // process ID of the connection's session
}

// serverOf reads the timeline and the session of a connection. The timeline comes from the name of the WAL
// file, because pg_control_checkpoint() still shows the old timeline for some time after a promotion. The
// parameter settings contains statements that are executed first, or "".
func serverOf(ctx context.Context, conn *pgconn.PgConn, settings string) (s server, err error) {
	results, err := conn.Exec(ctx, settings+`SELECT system_identifier,
		CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END, pg_backend_pid()
		FROM pg_control_system()`).ReadAll()
	if err != nil {
		return s, err
	}
	row := results[len(results)-1].Rows[0]
	s.session = string(row[2])
	if row[1] == nil {
		return s, nil
	}
	if s.System, err = strconv.ParseInt(string(row[0]), 10, 64); err != nil {
		return s, fmt.Errorf("reading the system identifier: %w", err)
	}
	id, err := strconv.ParseUint(string(row[1]), 16, 32)
	if err != nil {
		return s, fmt.Errorf("reading the timeline: %w", err)
	}
	s.ID, s.primary = uint32(id), true
	return s, nil
}

// admit returns errReplaced for a primary whose timeline is lower than the highest one seen in its
// cluster. Otherwise, it closes the connections to servers of the same cluster that are on lower
// timelines. The parameter l is nil if the connection does not belong to the pool.
func (p *primaries) admit(at Timeline, l *link) error {
	p.mu.Lock()
	highest := p.highest[at.System]
	if at.ID < highest {
		p.mu.Unlock()
		return errReplaced
	}
	p.highest[at.System] = at.ID
	cut := false
	for other, on := range p.open {
		if on.System == at.System && on.ID < at.ID {
			other.Conn.Close() //nolint:errcheck // its server was replaced
			cut = true
		}
	}
	if l != nil {
		p.open[l] = at
	}
	p.mu.Unlock()
	if pool := p.pool.Load(); cut && pool != nil {
		pool.Reset() // so that the pool drops the closed connections
	}
	return nil
}

func (p *primaries) seen() (list []Timeline) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, system := range slices.Sorted(maps.Keys(p.highest)) {
		list = append(list, Timeline{system, p.highest[system]})
	}
	return list
}

// surveyOnce finds the newest primary before the pool opens its first connection. Otherwise, the pool
// would use the first primary in the URL, which may have been replaced.
func (p *primaries) surveyOnce(ctx context.Context) {
	p.surveying.Lock()
	defer p.surveying.Unlock()
	if p.surveyed {
		return
	}
	s := newHostProbe(p)
	defer s.close(ctx)
	p.surveyed = len(s.run(ctx)) > 0
}

// hostProbe reads the timelines of all hosts. It keeps a connection to each host open.
type hostProbe struct {
	primaries *primaries
	conns     []*pgconn.PgConn // nil while a host is down
}

type primaryStatus struct {
	host     int
	at       Timeline
	replaced bool
}

func newHostProbe(p *primaries) *hostProbe {
	return &hostProbe{primaries: p, conns: make([]*pgconn.PgConn, len(p.hosts()))}
}

// run returns the hosts that accept writes, in the order of the URL. It also records which host is the
// newest primary.
func (s *hostProbe) run(ctx context.Context) (found []primaryStatus) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	p := s.primaries
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range p.hosts() {
		all.Go(func() {
			at, primary, err := s.runHost(ctx, i)
			if err != nil || !primary {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, primaryStatus{host: i, at: at})
		})
	}
	all.Wait()
	// Admit the highest timeline first, so that lower ones are rejected. The hosts are sorted in
	// the order of the URL again below.
	slices.SortFunc(found, func(a, b primaryStatus) int { return cmp.Compare(b.at.ID, a.at.ID) })
	for i := range found {
		found[i].replaced = p.admit(found[i].at, nil) != nil
	}
	slices.SortFunc(found, func(a, b primaryStatus) int { return cmp.Compare(a.host, b.host) })
	if i := slices.IndexFunc(found, func(f primaryStatus) bool { return !f.replaced }); i >= 0 {
		p.mu.Lock()
		p.newest = found[i].host
		p.mu.Unlock()
	}
	return found
}

func (s *hostProbe) runHost(ctx context.Context, i int) (at Timeline, primary bool, err error) {
	if s.conns[i] == nil {
		if s.conns[i], err = pgconn.ConnectConfig(ctx, s.primaries.hosts()[i].Copy()); err != nil {
			return at, false, err
		}
	}
	found, err := serverOf(ctx, s.conns[i], "")
	if err != nil {
		s.conns[i].Close(ctx) //nolint:errcheck // err is already set
		s.conns[i] = nil
	}
	return found.Timeline, found.primary, err
}

func (s *hostProbe) close(ctx context.Context) {
	for _, conn := range s.conns {
		if conn != nil {
			conn.Close(ctx) //nolint:errcheck // the connection was only used for reading
		}
	}
}

// FollowPrimaries checks every second whether another host in the URL has been promoted. If so, it
// moves the pool to that host. It runs until ctx ends. Without FollowPrimaries, the pool would notice a
// promotion only when it opens its next connection.
func (db *DB) FollowPrimaries(ctx context.Context, log *slog.Logger) {
	if len(db.primaries.hosts()) == 1 {
		return
	}
	s := newHostProbe(db.primaries)
	defer s.close(ctx)
	logged := map[int]bool{}
	tick := time.NewTicker(surveyEvery)
	defer tick.Stop()
	for {
		replaced := map[int]bool{}
		for _, f := range s.run(ctx) {
			if !f.replaced {
				continue
			}
			replaced[f.host] = true
			if !logged[f.host] {
				log.Error("a replaced primary still accepts writes, but is not used; shut it down", "host_in_url",
					f.host+1, "timeline", f.at.ID)
			}
		}
		db.primaries.replaced.Store(int64(len(replaced)))
		logged = replaced
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ReplacedPrimaries returns the number of hosts in the URL that still accept writes although a standby was
// promoted in their place. FollowPrimaries counts them.
func (db *DB) ReplacedPrimaries() int { return int(db.primaries.replaced.Load()) }

// Timelines returns the highest timeline seen in each cluster. Pass the result to Open after a restart.
func (db *DB) Timelines() []Timeline { return db.primaries.seen() }
