package testkit

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/migrations"
)

// Server is a separate Postgres for a test that stops it or changes its settings. It can have
// standbys.
type Server struct {
	*devpg.Server
	options devpg.Options
	archive string // the folder with the archived WAL, or ""
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

// NewArchivingServer starts a Postgres that archives its WAL, until the test ends.
func NewArchivingServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{options: serverOptions(t), archive: serverOptions(t).DataDir}
	if err := os.Chmod(s.archive, 0o777); err != nil { // for the user that runs Postgres
		t.Fatal(err)
	}
	maps.Copy(s.options.ExtraSettings, map[string]string{"archive_mode": "on", "archive_command": "cp %p " + s.archive + "/%f", "full_page_writes": "on"})
	s.Start(t)
	return s
}

// BaseBackup takes a base backup. The returned function starts a server from the backup, until the test
// ends. If it is called with the name of a restore point, the server first applies the archived WAL up to
// this point.
func (s *Server) BaseBackup(t testing.TB, pointInTime bool) (restore func(t testing.TB, point string) *Server) {
	t.Helper()
	restored := &Server{options: serverOptions(t)}
	if err := s.Server.BaseBackup(t.Context(), restored.options.DataDir, pointInTime); err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, point string) *Server {
		t.Helper()
		if pointInTime {
			maps.Copy(restored.options.ExtraSettings, map[string]string{
				"restore_command": "cp " + s.archive + "/%f %p", "recovery_target_name": point, "recovery_target_action": "promote",
			})
		}
		restored.Start(t)
		Eventually(t, time.Minute, "the recovery has ended", func() bool {
			conn := Connect(t, restored.SuperuserURL("postgres"))
			var recovering bool
			return conn.QueryRow(t.Context(), "SELECT pg_is_in_recovery()").Scan(&recovering) == nil && !recovering
		})
		return restored
	}
}

// RestorePoint creates a named restore point, and waits until the WAL before it has been archived.
func (s *Server) RestorePoint(t testing.TB, name string) {
	t.Helper()
	conn := Connect(t, s.SuperuserURL("postgres"))
	var file string
	err := conn.QueryRow(t.Context(), `SELECT pg_walfile_name(pg_create_restore_point($1))`, name).Scan(&file)
	if err == nil {
		_, err = conn.Exec(t.Context(), `SELECT pg_switch_wal()`)
	}
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, time.Minute, "the WAL is archived", func() bool {
		_, err := os.Stat(filepath.Join(s.archive, file))
		return err == nil
	})
}

const serverDatabase = "pingpost"

// NewDatabase creates the server's database for the platform, migrated and empty.
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

// NewEmptyDatabase creates another database, without tables.
func (s *Server) NewEmptyDatabase(t testing.TB, name string) *Database {
	t.Helper()
	if err := s.Provision(t.Context(), name, passwords); err != nil {
		t.Fatal(err)
	}
	return s.urls(t, name)
}

// URLs returns the URLs of the database from NewDatabase. A standby or a restored backup has the same database.
func (s *Server) URLs(t testing.TB) *Database { return s.urls(t, serverDatabase) }

func (s *Server) urls(t testing.TB, database string) *Database {
	return newDatabase(t, s.URL(devpg.AppRole, passwords.App, database),
		s.URL(devpg.OwnerRole, passwords.Owner, database), s.SuperuserURL(database))
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
