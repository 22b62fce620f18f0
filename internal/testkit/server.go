package testkit

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/devpg"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/migrations"
)

// Server is a separate Postgres for a test that stops it or changes its settings. It can have
// standbys.
type Server struct {
	*devpg.Server
	options devpg.Options
}

// NewServer starts a Postgres that stops when the test ends.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{options: serverOptions(t)}
	s.Start(t)
	return s
}

func serverOptions(t testing.TB) devpg.Options {
	t.Helper()
	folder, err := os.MkdirTemp(serverParent(), "pingpost-test-server-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return devpg.Options{
		DataDir: folder,
		ExtraSettings: map[string]string{
			"shared_buffers":     "16MB",
			"max_connections":    "60",
			"jit":                "off",
			"synchronous_commit": "on",
		},
	}
}

// Start starts the server. If it has run before, it gets the same port again.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.started(t, func() (*devpg.Server, error) { return devpg.Start(t.Context(), s.options) })
}

func (s *Server) started(t testing.TB, start func() (*devpg.Server, error)) {
	t.Helper()
	server, err := start()
	if err != nil {
		t.Fatal(err)
	}
	s.Server, s.options.Port = server, server.Port()
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error("stopping Postgres:", err)
		}
	})
}

// Halt stops the server. Start starts it again.
func (s *Server) Halt(t testing.TB) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// Standby starts a standby of the server.
func (s *Server) Standby(t testing.TB) *Server {
	t.Helper()
	standby := &Server{options: serverOptions(t)}
	standby.started(t, func() (*devpg.Server, error) { return s.Server.Standby(t.Context(), standby.options) })
	return standby
}

const serverDatabase = "pingpost"

// NewDatabase creates the server's only database, migrated and empty.
func (s *Server) NewDatabase(t testing.TB) *Database {
	t.Helper()
	if err := s.Provision(t.Context(), serverDatabase, passwords); err != nil {
		t.Fatal(err)
	}
	d := s.URLs(t)
	owner, err := postgres.OpenOwner(d.OwnerURL, connectTimeout)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	if _, err := migrations.Up(context.WithoutCancel(t.Context()), owner); err != nil {
		t.Fatal(err)
	}
	d.DB = Open(t, d.AppURL)
	return d
}

// URLs returns the URLs of the server's only database. A standby has the same database.
func (s *Server) URLs(t testing.TB) *Database {
	return newDatabase(t, s.URL(devpg.AppRole, passwords.App, serverDatabase),
		s.URL(devpg.OwnerRole, passwords.Owner, serverDatabase), s.SuperuserURL(serverDatabase))
}

// Set changes a setting for the whole server immediately; "" resets it.
func (s *Server) Set(t testing.TB, name, value string) {
	t.Helper()
	change := "ALTER SYSTEM SET " + name + " = '" + value + "'"
	if value == "" {
		change = "ALTER SYSTEM RESET " + name
	}
	// Whatever the setting is, this session can write and does not wait for a standby.
	url := s.SuperuserURL("postgres") + "&default_transaction_read_only=off&synchronous_commit=local"
	statement(t, url, change)
	statement(t, url, "SELECT pg_reload_conf()")
}

// statement runs a statement on a new connection. The URL can contain settings for the connection.
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
