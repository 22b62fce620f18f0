// Package postgres opens the database and translates what it refuses.
//
// There is one pool. GORM works on it through database/sql; COPY, the posts'
// statement and LISTEN use its pgx connections directly.
package postgres

import (
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

// Options say which database and how hard it may be used.
type Options struct {
	URL              string
	MaxConnections   int
	ConnectTimeout   time.Duration
	StatementTimeout time.Duration
	Timelines        []Timeline // seen before: primaries on lower ones are refused
}

// DB is the one pool, seen as pgx and as GORM.
type DB struct {
	Pool *pgxpool.Pool
	Gorm *gorm.DB
	SQL  *sql.DB // what GORM works on

	primaries   *primaries
	downloads   chan struct{}
	constraints Constraints
}

// WithConstraints is the same pool, whose transactions translate violations with
// these errors.
func (db *DB) WithConstraints(c Constraints) *DB {
	own := *db
	own.constraints = c
	return &own
}

// Open prepares the pool. It does not connect: whoever opens it says in its own
// words what a database that does not answer means.
func Open(ctx context.Context, o Options) (*DB, error) {
	cfg, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		// pgx quotes the URL, which holds the password.
		return nil, errors.New("the database URL cannot be read: write postgres://user:password@host:port/database")
	}
	cfg.MaxConns = int32(max(o.MaxConnections, 2)) //nolint:gosec // the settings bound it
	cfg.ConnConfig.ConnectTimeout = o.ConnectTimeout
	cfg.PingTimeout = time.Second // an idle connection whose other end is gone is not waited for
	params := cfg.ConnConfig.RuntimeParams
	params["timezone"] = "UTC"
	if params["application_name"] == "" {
		params["application_name"] = "pingpost"
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
	conn := stdlib.OpenDBFromPool(pool)
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: conn}), &gorm.Config{
		// Only slow or failing statements would be logged, with their values in
		// clear: errors are returned and logged, redacted, where they are handled.
		Logger:                 logger.Discard,
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

// Close ends all connections and waits for those in use.
func (db *DB) Close() {
	db.SQL.Close() //nolint:errcheck // it has nothing to write, and the pool is closed next
	db.Pool.Close()
}

// Transaction runs fn in a database transaction. No network call belongs in it.
func (db *DB) Transaction(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return db.constraints.Translate(db.Gorm.WithContext(ctx).Transaction(fn))
}

// State is what /readyz and `serve` ask of the database.
type State struct {
	Clock      time.Time // the database's
	Schema     int64     // the newest migration applied
	Role       string
	OwnsTables bool // the role could undo what its grants forbid
	Encoding   string
	ReadOnly   bool
}

// Inspect reads the state. A member of the tables' owner counts as the owner,
// which it can become with SET ROLE.
func (db *DB) Inspect(ctx context.Context) (State, error) {
	var s State
	err := db.Pool.QueryRow(ctx, `SELECT clock_timestamp(), current_user,
		EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public' AND pg_has_role(current_user, tableowner, 'MEMBER'))
		OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		current_setting('server_encoding'), current_setting('transaction_read_only')::boolean`).Scan(&s.Clock, &s.Role, &s.OwnsTables, &s.Encoding, &s.ReadOnly)
	if err != nil {
		return s, Translate(err)
	}
	s.Schema, err = schemaVersion(ctx, db.Pool)
	return s, err
}

// Commit commits a transaction that changes no row. Postgres confirms it as it
// confirms a lead's, after a synchronous standby has it.
func (db *DB) Commit(ctx context.Context) error {
	_, err := db.Pool.Exec(ctx, `SELECT pg_logical_emit_message(true, 'pingpost', '')`)
	return Translate(err)
}

func schemaVersion(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	var v int64
	err := pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&v)
	if isUnmigrated(err) {
		return 0, nil
	}
	return v, Translate(err)
}

// CheckSchema says in plain words whether this program can work with the
// database's schema.
func (s State) CheckSchema() error {
	want, err := migrations.Latest()
	if err != nil {
		return err
	}
	if s.Encoding != "" && s.Encoding != migrations.Encoding {
		return migrations.ErrEncoding
	}
	if s.Schema < want {
		return fmt.Errorf("the schema is at version %d and this program needs %d: run `pingpost migrate up` with the owner's URL",
			s.Schema, want)
	}
	return nil
}

// OpenOwner opens a plain connection for migrations, outside the pool.
func OpenOwner(url string, timeout time.Duration) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the database URL cannot be read: write postgres://user:password@host:port/database")
	}
	cfg.ConnectTimeout = timeout
	return stdlib.OpenDB(*cfg), nil
}
