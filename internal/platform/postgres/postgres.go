// Package postgres opens the database and translates its errors.
//
// All code shares one pool. GORM uses it through database/sql. COPY, LISTEN and the statement that
// stores a post use its pgx connections directly.
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/pingpost/pingpost/migrations"
)

// Options configures Open.
type Options struct {
	URL              string
	Application      string // application_name, unless the URL sets it; "" for pingpost
	MaxConnections   int
	ConnectTimeout   time.Duration
	StatementTimeout time.Duration
	Timelines        []Timeline // from DB.Timelines before a restart; a primary on a lower timeline is rejected

	// Tracer observes all statements; nil for none.
	Tracer pgx.QueryTracer
}

// DB is the pool of database connections, for use with pgx and with GORM.
type DB struct {
	Pool *pgxpool.Pool
	Gorm *gorm.DB
	SQL  *sql.DB // used by GORM

	options     Options
	primaries   *primaries
	downloads   chan struct{}
	constraints Constraints
}

// WithConstraints returns a DB with the same pool. If one of its transactions violates a constraint
// that is in c, Transaction returns the error that c contains for this constraint.
func (db *DB) WithConstraints(c Constraints) *DB {
	own := *db
	own.constraints = c
	return &own
}

// parse returns the settings of the pool.
func parse(o Options) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, invalidURL(o.URL)
	}
	cfg.MaxConns = int32(max(o.MaxConnections, 2)) //nolint:gosec // limited by the configuration
	cfg.ConnConfig.ConnectTimeout = o.ConnectTimeout
	cfg.PingTimeout = time.Second // do not wait for an idle connection that is dead
	cfg.ConnConfig.Tracer = o.Tracer
	params := cfg.ConnConfig.RuntimeParams
	params["timezone"] = "UTC"
	if params["application_name"] == "" {
		params["application_name"] = cmp.Or(o.Application, "pingpost")
	}
	// PgBouncer rejects connections that set statement_timeout when they start.
	if o.StatementTimeout > 0 {
		delete(params, "statement_timeout")
	}
	return cfg, nil
}

// Open prepares the pool without connecting to the database.
func Open(ctx context.Context, o Options) (*DB, error) {
	cfg, err := parse(o)
	if err != nil {
		return nil, err
	}
	primaries := guard(cfg, o.Timelines, o.StatementTimeout)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing the database pool: %w", redact(err))
	}
	primaries.pool.Store(pool)
	conn := openSQL(pool)
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), &gorm.Config{
		// GORM would log slow and failing statements with their values. Callers log errors
		// after Translate has redacted them.
		Logger:                 logger.Discard,
		QueryFields:            true, // see Columns
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("preparing GORM: %w", redact(err))
	}
	return &DB{
		Pool: pool, Gorm: g, SQL: conn, options: o, primaries: primaries,
		downloads: make(chan struct{}, max(1, cfg.MaxConns/connectionsPerDownload)),
	}, nil
}

// ReplaceURL uses the user, the password and the TLS files of another URL for new connections. It returns an error if
// the URL names other hosts or another database. Other parameters need a restart.
func (db *DB) ReplaceURL(url string) error {
	o := db.options
	o.URL = url
	cfg, err := parse(o)
	if err != nil {
		return err
	}
	return db.primaries.replaceHosts(hostsOf(cfg.ConnConfig.Config))
}

// Close closes all connections. It waits until connections that are in use are released.
func (db *DB) Close() {
	db.SQL.Close() //nolint:errcheck // there is nothing to write, and the pool is closed next
	db.Pool.Close()
}

// State is the state of the database. `serve` checks it at startup, and /readyz checks it after that.
type State struct {
	Clock      time.Time // time of the database's clock
	Schema     migrations.Schema
	Role       string
	OwnsTables bool // whether the role can bypass its grants
	Encoding   string
	ReadOnly   bool
}

// Inspect reads the state of the database. OwnsTables is also true for a member of the role that owns
// the tables, because a member can become the owner with SET ROLE.
func (db *DB) Inspect(ctx context.Context) (State, error) {
	var s State
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return s, db.explainAcquire(err)
	}
	err = conn.QueryRow(ctx, `SELECT clock_timestamp(), current_user,
		EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public' AND pg_has_role(current_user, tableowner, 'MEMBER'))
		OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		current_setting('server_encoding'), current_setting('transaction_read_only')::boolean`).Scan(&s.Clock, &s.Role, &s.OwnsTables, &s.Encoding, &s.ReadOnly)
	conn.Release() // before ReadSchema, which takes a connection too
	if err != nil {
		return s, Translate(err)
	}
	s.Schema, err = migrations.ReadSchema(ctx, db.SQL)
	if isUnmigrated(err) {
		return s, nil
	}
	return s, Translate(err)
}

// explainAcquire translates the error of an attempt to get a connection. If the time limit passes before
// the attempt to connect fails, the error does not contain the hosts, so explainAcquire adds them.
func (db *DB) explainAcquire(err error) error {
	var connect *pgconn.ConnectError
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &connect) {
		return Translate(err)
	}
	if stat := db.Pool.Stat(); stat.AcquiredConns() == stat.MaxConns() {
		return &Err{kind: "all connections of this node are in use", cause: err}
	}
	var hosts []string
	for _, h := range db.primaries.hosts() {
		hosts = append(hosts, hostOf(err, &h)+": timed out")
	}
	return &Err{kind: "cannot connect to " + strings.Join(hosts, "; "), cause: err}
}

// ErrNotConfirmed means that a commit was not confirmed in time.
var ErrNotConfirmed = &Err{kind: "the commit was not confirmed in time"}

// Commit commits a transaction that changes no rows, to check that the database accepts commits. If
// there is a synchronous standby, Commit waits until the standby has confirmed the transaction.
func (db *DB) Commit(ctx context.Context) error {
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return db.explainAcquire(err)
	}
	defer conn.Release()
	var standby bool
	// On a standby, pg_logical_emit_message fails with an internal error.
	err = conn.QueryRow(ctx, `SELECT pg_is_in_recovery(),
		CASE WHEN NOT pg_is_in_recovery() THEN pg_logical_emit_message(true, 'pingpost', '') END`).Scan(&standby, nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ErrNotConfirmed
	case standby:
		return &Err{SQLState: "25006", kind: "the server is a standby: check the hosts in database.url, or promote it"}
	}
	return Translate(err)
}

// CheckWrites checks that the database can store data. It commits a write that needs several pages of
// new disk space. Commit does not detect a full disk, because it changes no rows.
func (db *DB) CheckWrites(ctx context.Context) error {
	var size int64
	// The row needs new disk space, because earlier rows are not deleted one by one.
	err := db.Pool.QueryRow(ctx, `INSERT INTO write_checks (filler) VALUES (convert_to(repeat('x', $1), 'UTF8'))
		RETURNING pg_table_size('write_checks')`, writeCheckSize).Scan(&size)
	if err == nil && size > maxWriteChecks {
		db.deleteWriteChecks(ctx)
	}
	return Translate(err)
}

const (
	// writeCheckSize is the number of bytes that CheckWrites stores.
	writeCheckSize = 64 << 10
	// maxWriteChecks is the size in bytes at which the table write_checks is emptied.
	maxWriteChecks = 4 << 20
)

// deleteWriteChecks empties the table write_checks. If a backup is reading the table, this fails, and is tried again
// after the next check.
func (db *DB) deleteWriteChecks(ctx context.Context) {
	_ = pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '200ms'`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `TRUNCATE write_checks`)
		return err
	})
}

// CheckSchema returns an error if this program cannot work with the database's schema. The error tells
// operators what to do.
func (s State) CheckSchema() error {
	if s.Encoding != "" && s.Encoding != migrations.Encoding {
		return migrations.ErrEncoding
	}
	return s.Schema.Check()
}

// OpenOwner opens a single connection for migrations, outside the pool.
func OpenOwner(url string, timeout time.Duration) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, invalidURL(url)
	}
	cfg.ConnectTimeout = timeout
	hosts := hostsOf(cfg.Config)
	pooler := &poolerCheck{hosts: func() []pgconn.Config { return hosts }}
	validate := cfg.ValidateConnect
	cfg.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if validate != nil {
			if err := validate(ctx, conn); err != nil {
				return err
			}
		}
		session, err := sessionOf(ctx, conn)
		if err != nil {
			return err
		}
		return pooler.run(ctx, conn, session)
	}
	return stdlib.OpenDB(*cfg), nil
}
