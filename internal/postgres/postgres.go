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
	"time"

	"github.com/jackc/pgx/v5"
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

	// Tracer observes all statements. Only tests set it.
	Tracer pgx.QueryTracer
}

// DB is the pool of database connections, for use with pgx and with GORM.
type DB struct {
	Pool *pgxpool.Pool
	Gorm *gorm.DB
	SQL  *sql.DB // used by GORM

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

// Open prepares the pool without connecting to the database.
func Open(ctx context.Context, o Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		// pgx's error quotes the URL, which contains the password.
		return nil, errors.New("invalid database URL: use postgres://user:password@host:port/database")
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
	if o.StatementTimeout > 0 {
		params["statement_timeout"] = fmt.Sprint(o.StatementTimeout.Milliseconds())
	}
	primaries := guard(cfg, o.Timelines)
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
		Pool: pool, Gorm: g, SQL: conn, primaries: primaries,
		downloads: make(chan struct{}, max(1, cfg.MaxConns/connectionsPerDownload)),
	}, nil
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
	err := db.Pool.QueryRow(ctx, `SELECT clock_timestamp(), current_user,
		EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public' AND pg_has_role(current_user, tableowner, 'MEMBER'))
		OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		current_setting('server_encoding'), current_setting('transaction_read_only')::boolean`).Scan(&s.Clock, &s.Role, &s.OwnsTables, &s.Encoding, &s.ReadOnly)
	if err != nil {
		return s, Translate(err)
	}
	s.Schema, err = migrations.ReadSchema(ctx, db.SQL)
	if isUnmigrated(err) {
		return s, nil
	}
	return s, Translate(err)
}

// Commit commits a transaction that changes no rows, to check that the database accepts commits. If
// there is a synchronous standby, Commit waits until the standby has confirmed the transaction.
func (db *DB) Commit(ctx context.Context) error {
	_, err := db.Pool.Exec(ctx, `SELECT pg_logical_emit_message(true, 'pingpost', '')`)
	return Translate(err)
}

// CheckWrites checks that the database can store data. It commits a write that needs several pages of
// new disk space. Commit does not detect a full disk, because it changes no rows.
func (db *DB) CheckWrites(ctx context.Context) error {
	return Translate(pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `TRUNCATE write_checks`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO write_checks (id, filler) VALUES (1, convert_to(repeat('x', $1), 'UTF8'))`, writeCheckSize)
		return err
	}))
}

// writeCheckSize is the number of bytes that CheckWrites stores.
const writeCheckSize = 64 << 10

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
		return nil, errors.New("invalid database URL: use postgres://user:password@host:port/database")
	}
	cfg.ConnectTimeout = timeout
	return stdlib.OpenDB(*cfg), nil
}
