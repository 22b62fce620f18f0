package testkit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// templateName is the migrated database that each test's database is cloned from.
const templateName = "pingpost_template"

const connectTimeout = 5 * time.Second

var passwords = devpg.Passwords{Owner: "owner-of-tests", App: "app-of-tests"}

// Database is a test's own database, migrated and empty.
type Database struct {
	*postgres.DB        // as pingpost_app
	AppURL       string // as pingpost_app
	OwnerURL     string // as pingpost_owner, which migrates
	RootURL      string // as the superuser, to break things

	root *rootPool
}

// rootPool keeps the superuser's connections to one database, because opening a connection takes
// longer than most queries in tests.
type rootPool struct {
	once sync.Once
	pool *pgxpool.Pool
	err  error
}

func newDatabase(t testing.TB, app, owner, root string) *Database {
	d := &Database{AppURL: app, OwnerURL: owner, RootURL: root, root: &rootPool{}}
	t.Cleanup(d.root.close)
	return d
}

func (r *rootPool) open(url string) (*pgxpool.Pool, error) {
	r.once.Do(func() {
		var config *pgxpool.Config
		if config, r.err = pgxpool.ParseConfig(url); r.err != nil {
			return
		}
		config.MaxConns = 8
		// Tests change tables between queries, so statements are not cached. They also change settings and stop the
		// server, so connections are reset before they are used again. If they were reset when they are released, this
		// would happen in the background, and the next query would open another connection.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
		config.PrepareConn = func(ctx context.Context, c *pgx.Conn) (bool, error) {
			_, err := c.Exec(ctx, "DISCARD ALL")
			return err == nil, nil
		}
		r.pool, r.err = pgxpool.NewWithConfig(context.Background(), config)
	})
	return r.pool, r.err
}

func (r *rootPool) close() {
	if r.pool != nil {
		r.pool.Close()
	}
}

func (r *rootPool) do(t testing.TB, url string, use func(context.Context, *pgxpool.Conn) error) {
	t.Helper()
	// The test's context has already ended when cleanups run.
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pool, err := r.open(url)
	if err == nil {
		err = pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
			if err := use(ctx, c); err != nil {
				return err
			}
			// Report statistics now, because tests read them.
			_, _ = c.Exec(ctx, "SELECT pg_stat_force_next_flush()") // the given function may have closed the connection
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rootPool) exec(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	r.do(t, url, func(ctx context.Context, c *pgxpool.Conn) error {
		if _, err := c.Exec(ctx, sql, args...); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		return nil
	})
}

// NewDatabase clones a database for one test and drops it when the test ends.
func NewDatabase(t testing.TB) *Database {
	t.Helper()
	d := NewDatabaseURLs(t)
	d.DB = Open(t, d.AppURL)
	return d
}

// NewDatabaseBehind is like NewDatabase, but pingpost_app connects through a proxy that can
// interrupt the network.
func NewDatabaseBehind(t testing.TB) (*Database, *Proxy) {
	t.Helper()
	d := NewDatabaseURLs(t)
	proxy := NewProxy(t, d.AppURL)
	d.AppURL = proxy.URL
	d.DB = Open(t, d.AppURL)
	return d, proxy
}

// Open opens another pool on a test's database, for example for a second node.
func Open(t testing.TB, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{
		URL:              url,
		MaxConnections:   20,
		ConnectTimeout:   connectTimeout,
		StatementTimeout: 10 * time.Second,
		Tracer:           newAuditLast(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// NewDatabaseURLs is like NewDatabase, but does not open a connection pool. It is meant for tests that
// open their own connections.
func NewDatabaseURLs(t testing.TB) *Database {
	t.Helper()
	return newDatabaseFrom(t, templateName)
}

// NewEmptyDatabase creates a database for one test, but applies no migrations to it. The roles of the
// database owner and of the service already exist.
func NewEmptyDatabase(t testing.TB) *Database {
	t.Helper()
	return newDatabaseFrom(t, "template0")
}

// newDatabaseFrom copies a database for one test and drops the copy when the test ends.
func newDatabaseFrom(t testing.TB, template string) *Database {
	t.Helper()
	name := createDatabase(t, template)
	t.Cleanup(func() { process.statement(t, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") })
	return databaseNamed(t, name)
}

func createDatabase(t testing.TB, template string) (name string) {
	t.Helper()
	Postgres(t)
	name = fmt.Sprintf("pingpost_test_%d", process.databases.Add(1))
	// Postgres's default strategy writes every page to its log and takes twice as long.
	process.statement(t, "CREATE DATABASE "+name+" TEMPLATE "+template+" OWNER "+devpg.OwnerRole+" STRATEGY file_copy")
	if template != "template0" {
		// A copy has the template's tables but not the grants on the database.
		process.statement(t,
			"REVOKE ALL ON DATABASE "+name+" FROM PUBLIC; GRANT CONNECT, TEMPORARY ON DATABASE "+name+" TO "+devpg.AppRole)
	}
	return name
}

func databaseNamed(t testing.TB, name string) *Database {
	t.Helper()
	server := Postgres(t)
	return newDatabase(t, server.URL(devpg.AppRole, passwords.App, name),
		server.URL(devpg.OwnerRole, passwords.Owner, name), server.SuperuserURL(name))
}

// Exec runs a statement as the superuser, for tests that need to break something.
func (d *Database) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	d.root.exec(t, d.RootURL, sql, args...)
}

// Value runs a query as the superuser and returns the single value in its result.
func Value[T any](t testing.TB, d *Database, sql string, args ...any) (v T) {
	t.Helper()
	d.root.do(t, d.RootURL, func(ctx context.Context, c *pgxpool.Conn) error {
		if err := c.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
		return nil
	})
	return v
}

// Columns returns the contents of each column of each table as text. The keys of the map are names such
// as "leads.postcode".
func (d *Database) Columns(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	d.root.do(t, d.RootURL, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, `SELECT ARRAY[c.table_schema, c.table_name, c.column_name]::text[]
			FROM information_schema.columns c JOIN pg_class k ON k.oid = format('%I.%I', c.table_schema, c.table_name)::regclass
			WHERE k.relkind IN ('r', 'p') AND NOT k.relispartition AND c.table_schema NOT IN ('pg_catalog', 'information_schema')`)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
		if err != nil || len(names) < 50 {
			return fmt.Errorf("reading the names of %d columns: %w", len(names), err)
		}
		for _, name := range names {
			var text string
			column, table := pgx.Identifier{name[2]}.Sanitize(), pgx.Identifier{name[0], name[1]}.Sanitize()
			if err := c.QueryRow(ctx, "SELECT coalesce(string_agg("+column+"::text, E'\n'), '') FROM "+table).Scan(&text); err != nil {
				return err
			}
			all[name[1]+"."+name[2]] = text
		}
		return nil
	})
	return all
}

// AwaitLockOn waits until a statement is waiting for a lock on the table.
func (d *Database) AwaitLockOn(t testing.TB, table string) {
	t.Helper()
	Eventually(t, time.Minute, "a statement waits for "+table, func() bool {
		return Value[bool](t, d, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`, table)
	})
}

// Connect opens a single connection for one test.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = conn.Close(ctx) // a test may have killed it
	})
	return conn
}

// PingPartitions returns the names of the partitions of the table pings, in ascending order.
func (d *Database) PingPartitions(t testing.TB) []string {
	t.Helper()
	return Value[[]string](t, d, `SELECT array_agg(inhrelid::regclass::text ORDER BY inhrelid::regclass::text)
		FROM pg_inherits WHERE inhparent = 'pings'::regclass`)
}

// ledgerTables are the ledger's tables that have a partition for each month, as an array in SQL.
const ledgerTables = "{ledger_entries,payout_run_entries}"

// CreateLedgerPartitions creates the ledger's partitions for the given times. Every database already has
// those for December 2025 to February 2026 and for the current time.
func (d *Database) CreateLedgerPartitions(t testing.TB, times ...time.Time) {
	t.Helper()
	for _, at := range times {
		d.Exec(t, `SELECT create_partitions('`+ledgerTables+`', 'month', $1::timestamptz, $1)`, at)
	}
}

// LockLedgerPartitions locks the ledger's partitions of a month until the test ends, so that no other
// statement can plan a query on them.
func (d *Database) LockLedgerPartitions(t testing.TB, month time.Time) {
	t.Helper()
	name := month.UTC().Format("_200601") + "01"
	tx, err := Connect(t, d.RootURL).Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(),
			`LOCK TABLE ledger_entries`+name+`, payout_run_entries`+name+` IN ACCESS EXCLUSIVE MODE`)
	}
	if err != nil {
		t.Fatal(err)
	}
}
