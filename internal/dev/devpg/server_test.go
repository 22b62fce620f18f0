package devpg

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestServer runs the tests that only need a running server.
func TestServer(t *testing.T) {
	t.Setenv("PINGPOST_PLATFORM_KEYS", canary)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		DataDir:       newFolder(t),
		Port:          port,
		ExtraSettings: map[string]string{"work_mem": "3MB", "max_connections": "20"},
	}
	s := mustStart(t, o)
	if s.Port() != port {
		t.Errorf("got port %[2]d, want %[1]d", port, s.Port())
	}
	t.Run("settings", func(t *testing.T) { testSettings(t, s) })
	t.Run("socket", func(t *testing.T) { testSocket(t, s, layout(o.DataDir)) })
	t.Run("folder", func(t *testing.T) { testModes(t, o.DataDir) })
	t.Run("secrets", func(t *testing.T) { testSecrets(t, s, layout(o.DataDir)) })
	t.Run("signals", func(t *testing.T) { testSignals(t, s) })
	t.Run("folder in use", func(t *testing.T) { testFolderInUse(t, s, o) })
	t.Run("log", func(t *testing.T) { testLog(t, s, layout(o.DataDir)) })
	mustStop(t, s)
	mustStop(t, s) // can be called again
	select {
	case <-s.Done():
		t.Error("Done is closed after Stop")
	default:
	}
	if s.Err() != nil {
		t.Errorf("Err after Stop: %v", s.Err())
	}
}

const canary = "canary@example.org"

func testSettings(t *testing.T, s *Server) {
	for name, want := range map[string]string{
		"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
		"TimeZone": "UTC", "server_encoding": "UTF8",
		"listen_addresses": "127.0.0.1", "port": fmt.Sprint(s.Port()),
		"log_statement": "none", "log_parameter_max_length_on_error": "0",
		"work_mem": "3MB", "max_connections": "20",
	} {
		if got := show(t, s, "SHOW "+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := show(t, s, "SELECT datcollate FROM pg_database WHERE datname = 'postgres'"); got != locale() {
		t.Errorf("collation %q, want %q", got, locale())
	}
}

func testSocket(t *testing.T, s *Server, l layout) {
	u, err := url.Parse(s.SuperuserURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = "", url.Values{"host": {l.socket()}, "port": {fmt.Sprint(s.Port())}}.Encode()
	c, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close(t.Context())
}

func testModes(t *testing.T, folder string) {
	for name, mode := range map[string]os.FileMode{
		"":           0o700,
		"password":   0o600,
		"lock":       0o600,
		"cluster":    0o700,
		"run/socket": 0o700,
	} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

// Other users cannot see secrets in the processes of Postgres and its supervisor.
func testSecrets(t *testing.T, s *Server, l layout) {
	password, err := l.passwordFor(oldest)
	if err != nil || len(password) < 20 {
		t.Fatalf("got a password with %d characters (%v)", len(password), err)
	}
	for _, pid := range []int{s.supervisor.cmd.Process.Pid, l.postmaster()} {
		if words := commandLine(pid); words == "" || strings.Contains(words, password) {
			t.Errorf("process %d has the command line %q", pid, words)
		}
		if runtime.GOOS != "linux" {
			continue
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(environment) == 0 || strings.Contains(string(environment), canary) {
			t.Errorf("process %d has the environment %q", pid, environment)
		}
	}
	_, err = pgx.Connect(t.Context(), s.URL(superuser, "wrong", "postgres"))
	var rejected *pgconn.PgError
	if !errors.As(err, &rejected) || rejected.Code != "28P01" {
		t.Errorf("with a wrong password: %v", err)
	}
}

// Signals do not stop the supervisor, because the caller decides when it stops.
func testSignals(t *testing.T, s *Server) {
	pid := s.supervisor.cmd.Process.Pid
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("the supervisor is in process group %d (%v)", group, err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, s, "SELECT 1")
}

func testFolderInUse(t *testing.T, s *Server, o Options) {
	o.Port = 0
	wantError(t, o, o.DataDir, fmt.Sprintf("process %d", os.Getpid()), "--data-dir")
	// A failed start must not remove the folder.
	o.Temporary = true
	wantError(t, o, o.DataDir)
	execute(t, s, "SELECT 1")
}

// The log must not contain what clients send, because that may be personal data.
func testLog(t *testing.T, s *Server, l layout) {
	c := connect(t, s)
	execute(t, s, "CREATE TABLE people (email text CONSTRAINT one_each UNIQUE)")
	execute(t, s, "INSERT INTO people VALUES ('"+canary+"')")
	if _, err := c.Exec(t.Context(), "INSERT INTO people VALUES ($1)", canary); err == nil {
		t.Fatal("no error to log")
	}
	if _, err := c.Exec(t.Context(), "SELECT '"+canary+"', 1 / (SELECT 0)"); err == nil {
		t.Fatal("no error to log")
	}
	text, err := os.ReadFile(l.log())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "one_each") || !strings.Contains(string(text), "division by zero") {
		t.Fatal("the errors are not in the log")
	}
	if strings.Contains(string(text), canary) {
		t.Errorf("the log contains what was sent:\n%s", text)
	}
}
