package devpg

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) {
	RunIfChild()
	if os.Getenv(parentMarker) != "" {
		runParent()
		return
	}
	os.Exit(m.Run())
}

// newFolder is a data folder to be, in a place that the unprivileged user
// reaches: the testing package's own are closed to it.
func newFolder(t testing.TB) string {
	t.Helper()
	above, err := os.MkdirTemp("", "devpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(above) })
	if err := os.Chmod(above, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(above, "data")
}

func mustStart(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustStop(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// wantError checks that a start fails, and that the message has all the parts.
func wantError(t *testing.T, o Options, parts ...string) {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err == nil {
		mustStop(t, s)
		t.Fatal("it started")
	}
	wantParts(t, err, parts...)
}

func wantParts(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message does not say %q: %v", part, err)
		}
	}
}

func connect(t testing.TB, s *Server) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.SuperuserURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func execute(t testing.TB, s *Server, sql string) {
	t.Helper()
	if _, err := connect(t, s).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

func show(t testing.TB, s *Server, sql string) (value string) {
	t.Helper()
	if err := connect(t, s).QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// One server on a given port, for all that needs no more than a running one.
func TestServer(t *testing.T) {
	t.Setenv("PINGPOST_PLATFORM_KEYS", canary)
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{DataDir: newFolder(t), Port: port, ExtraSettings: map[string]string{"work_mem": "3MB", "max_connections": "20"}}
	s := mustStart(t, o)
	if s.Port() != port {
		t.Errorf("asked for port %d, got %d", port, s.Port())
	}
	t.Run("settings", func(t *testing.T) { testSettings(t, s) })
	t.Run("socket", func(t *testing.T) { testSocket(t, s, layout(o.DataDir)) })
	t.Run("folder", func(t *testing.T) { testModes(t, o.DataDir) })
	t.Run("secrets", func(t *testing.T) { testSecrets(t, s, layout(o.DataDir)) })
	t.Run("signals", func(t *testing.T) { testSignals(t, s) })
	t.Run("folder in use", func(t *testing.T) { testFolderInUse(t, s, o) })
	t.Run("log", func(t *testing.T) { testLog(t, s, layout(o.DataDir)) })
	mustStop(t, s)
	mustStop(t, s) // once more is harmless
	select {
	case <-s.Done():
		t.Error("a stop that was asked for counts as a loss")
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
	for name, mode := range map[string]os.FileMode{"": 0o700, "password": 0o600, "lock": 0o600, "cluster": 0o700, "run/socket": 0o700} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

// Postgres and its keeper show other users of the machine nothing.
func testSecrets(t *testing.T, s *Server, l layout) {
	password, err := l.passwordFor(15)
	if err != nil || len(password) < 20 {
		t.Fatalf("%d characters of password, %v", len(password), err)
	}
	for _, pid := range []int{s.keeper.cmd.Process.Pid, l.postmaster()} {
		if words := commandLine(pid); words == "" || strings.Contains(words, password) {
			t.Errorf("process %d is called %q", pid, words)
		}
		if runtime.GOOS != "linux" {
			continue
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(environment) == 0 || strings.Contains(string(environment), canary) {
			t.Errorf("the environment of process %d: %q", pid, environment)
		}
	}
	_, err = pgx.Connect(t.Context(), s.URL(superuser, "wrong", "postgres"))
	wantParts(t, err, "password authentication failed")
}

// Signals to the whole process group, or to every process of a service, leave
// the keeper at its work: its caller decides.
func testSignals(t *testing.T, s *Server) {
	pid := s.keeper.cmd.Process.Pid
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("the keeper is in process group %d (%v)", group, err)
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
	wantError(t, o, o.DataDir, "in use", fmt.Sprintf("process %d", os.Getpid()), "--data-dir")
	// A refused start has no right to clear the folder away.
	o.Temporary = true
	wantError(t, o, "in use")
	execute(t, s, "SELECT 1")
}

// The log must not hold what clients send: it is no place for personal data.
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
		t.Fatal("the log does not hold the errors at all")
	}
	if strings.Contains(string(text), canary) {
		t.Errorf("the log holds what was sent:\n%s", text)
	}
}

func TestURLEscapes(t *testing.T) {
	s := &Server{port: 5433}
	got := s.URL("app user", "p@ss/w:rd", "da ta")
	want := "postgres://app%20user:p%40ss%2Fw%3Ard@127.0.0.1:5433/da%20ta?sslmode=disable"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSeveralAtOnce(t *testing.T) {
	const servers = 3
	var wait sync.WaitGroup
	started := make([]*Server, servers)
	errs := make([]error, servers)
	for i := range servers {
		o := Options{DataDir: newFolder(t)}
		wait.Go(func() { started[i], errs[i] = Start(t.Context(), o) })
	}
	wait.Wait()
	ports := map[int]bool{}
	for i, s := range started {
		if errs[i] != nil {
			t.Error(errs[i])
			continue
		}
		ports[s.Port()] = true
		c, err := pgx.Connect(t.Context(), s.SuperuserURL("postgres"))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := c.Exec(t.Context(), "CREATE TABLE mine ()"); err != nil {
			t.Errorf("two share a cluster: %v", err)
		}
		_ = c.Close(t.Context())
	}
	if len(ports) != servers {
		t.Errorf("%d servers on %d ports", servers, len(ports))
	}
	for i, s := range started {
		if errs[i] != nil {
			continue
		}
		wait.Go(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

func TestStartThatDoesNotEnd(t *testing.T) {
	folder := newFolder(t)
	mustBeQuiet := func() {
		t.Helper()
		if pid := layout(folder).postmaster(); alive(pid) {
			t.Errorf("Postgres %d runs", pid)
		}
	}
	wantError(t, Options{DataDir: folder, StartTimeout: time.Millisecond}, "did not start within 1ms", folder)
	mustBeQuiet()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Options{DataDir: folder})
	wantParts(t, err, "called off", "context canceled")
	mustBeQuiet()
	mustStart(t, Options{DataDir: folder})
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	wantError(t, Options{DataDir: newFolder(t), Port: port}, fmt.Sprintf("port %d", port), "taken", "--postgres-port")
}

func TestBadOptions(t *testing.T) {
	folder := newFolder(t)
	for part, o := range map[string]Options{
		"no data folder":         {},
		"dollar sign":            {DataDir: folder + "$HOME"},
		"not between 1":          {DataDir: folder, Port: 65536},
		`setting "Fsync; rm"`:    {DataDir: folder, ExtraSettings: map[string]string{"Fsync; rm": "on"}},
		`setting "work_mem" has`: {DataDir: folder, ExtraSettings: map[string]string{"work_mem": "`id`"}},
	} {
		wantError(t, o, part)
	}
	if exists(folder) {
		t.Error("a refused start made the folder")
	}
}

func TestForgottenRunIfChild(t *testing.T) {
	t.Setenv(marker, "1")
	wantError(t, Options{DataDir: newFolder(t)}, "RunIfChild")
}

func BenchmarkFirstStart(b *testing.B) {
	for b.Loop() {
		s := mustStart(b, Options{DataDir: newFolder(b)})
		b.StopTimer()
		mustStop(b, s)
		b.StartTimer()
	}
}

func BenchmarkNextStart(b *testing.B) {
	o := Options{DataDir: newFolder(b), Durable: true}
	mustStop(b, mustStart(b, o))
	for b.Loop() {
		s := mustStart(b, o)
		b.StopTimer()
		mustStop(b, s)
		b.StartTimer()
	}
}
