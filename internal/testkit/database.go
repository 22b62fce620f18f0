package testkit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/devpg"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/migrations"
)

// template is the migrated database that every test's own is cloned from. It is
// made once a test process; see postgres for why that is package state.
var template struct {
	once sync.Once
	err  error
	next atomic.Int64
}

const templateName = "pingpost_template"

const connectWithin = 5 * time.Second

var passwords = devpg.Passwords{Owner: "owner-of-tests", App: "app-of-tests"}

// Database is a test's own, migrated and empty.
type Database struct {
	*postgres.DB        // as pingpost_app
	AppURL       string // as pingpost_app
	OwnerURL     string // as pingpost_owner, which migrates
	RootURL      string // as the superuser, to break things
}

// NewDatabase clones a database for one test and drops it afterwards.
func NewDatabase(t testing.TB) *Database {
	t.Helper()
	d := NewDatabaseURLs(t)
	d.DB = Open(t, d.AppURL)
	return d
}

// NewDatabaseBehind is NewDatabase, reached as pingpost_app through a proxy
// that can take the network away.
func NewDatabaseBehind(t testing.TB) (*Database, *Proxy) {
	t.Helper()
	d := NewDatabaseURLs(t)
	proxy := NewProxy(t, d.AppURL)
	d.AppURL = proxy.URL
	d.DB = Open(t, d.AppURL)
	return d, proxy
}

// Open opens a pool of its own on a test's database: another node's.
func Open(t testing.TB, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgres.Options{URL: url, MaxConnections: 20, ConnectTimeout: connectWithin, StatementTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// NewDatabaseURLs is NewDatabase for a test that opens its own connections.
func NewDatabaseURLs(t testing.TB) *Database {
	t.Helper()
	server := prepared(t)
	d, name := create(t, server, templateName)
	// A clone has the template's tables but not its database's grants.
	statement(t, server.SuperuserURL("postgres"), "REVOKE ALL ON DATABASE "+name+" FROM PUBLIC; GRANT CONNECT, TEMPORARY ON DATABASE "+name+" TO "+devpg.AppRole)
	return d
}

// NewEmptyDatabase makes a database that no migration has been applied to, for
// one test. Both roles exist.
func NewEmptyDatabase(t testing.TB) *Database {
	t.Helper()
	d, _ := create(t, prepared(t), "template0")
	return d
}

// prepared is the Postgres with both roles and the template.
func prepared(t testing.TB) *devpg.Server {
	t.Helper()
	server := Postgres(t)
	template.once.Do(func() { template.err = makeTemplate(server) })
	if template.err != nil {
		t.Fatalf("making the template database: %v", template.err)
	}
	return server
}

func create(t testing.TB, server *devpg.Server, from string) (d *Database, name string) {
	t.Helper()
	name = fmt.Sprintf("pingpost_test_%d", template.next.Add(1))
	// Postgres's own choice, to write every page to its log, takes twice the time.
	statement(t, server.SuperuserURL("postgres"), "CREATE DATABASE "+name+" TEMPLATE "+from+" OWNER "+devpg.OwnerRole+" STRATEGY file_copy")
	t.Cleanup(func() {
		statement(t, server.SuperuserURL("postgres"), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return &Database{
		AppURL:   server.URL(devpg.AppRole, passwords.App, name),
		OwnerURL: server.URL(devpg.OwnerRole, passwords.Owner, name),
		RootURL:  server.SuperuserURL(name),
	}, name
}

func makeTemplate(server *devpg.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := server.Provision(ctx, templateName, passwords); err != nil {
		return err
	}
	owner, err := postgres.OpenOwner(server.URL(devpg.OwnerRole, passwords.Owner, templateName), connectWithin)
	if err != nil {
		return err
	}
	defer owner.Close()
	_, err = migrations.Up(ctx, owner)
	return err
}

// Exec runs a statement as the superuser, where a test needs to break something.
func (d *Database) Exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	statement(t, d.RootURL, sql, args...)
}

// Value reads one value as the superuser.
func Value[T any](t testing.TB, d *Database, sql string, args ...any) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, d.RootURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var v T
	if err := conn.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// AwaitLockOn returns when a statement waits for the table.
func (d *Database) AwaitLockOn(t testing.TB, table string) {
	t.Helper()
	Eventually(t, 30*time.Second, "a statement waits for "+table, func() bool {
		return Value[bool](t, d, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass)`, table)
	})
}

// Connect opens a plain connection for one test.
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

// statement uses a context of its own: cleanups run after the test's has ended.
func statement(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
