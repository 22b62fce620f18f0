package devpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// newFolder returns the path of a new data folder that the unprivileged user can access. That user
// cannot access t.TempDir.
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

// wantError checks that a start fails with a message that contains all parts.
func wantError(t *testing.T, o Options, parts ...string) {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err == nil {
		mustStop(t, s)
		t.Fatal("Postgres started")
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
			t.Errorf("%q is not in the message: %v", part, err)
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

func TestURLEscapes(t *testing.T) {
	s := &Server{port: 5433}
	got := s.URL("app user", "p@ss/w:rd", "da ta")
	want := "postgres://app%20user:p%40ss%2Fw%3Ard@127.0.0.1:5433/da%20ta?sslmode=disable"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConcurrentServers(t *testing.T) {
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
			t.Errorf("two servers share a cluster: %v", err)
		}
		_ = c.Close(t.Context())
	}
	if len(ports) != servers {
		t.Errorf("got %d ports for %d servers", len(ports), servers)
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

func TestStartTimesOut(t *testing.T) {
	folder := newFolder(t)
	mustBeQuiet := func() {
		t.Helper()
		if pid := layout(folder).postmaster(); alive(pid) {
			t.Errorf("Postgres (process %d) is still running", pid)
		}
	}
	wantError(t, Options{DataDir: folder, StartTimeout: time.Millisecond}, "1ms", folder)
	mustBeQuiet()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Start(ctx, Options{DataDir: folder})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v, want context.Canceled", err)
	}
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
	wantError(t, Options{DataDir: newFolder(t), Port: port}, fmt.Sprintf("port %d", port))
}

func TestPreferredPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	busy := l.Addr().(*net.TCPAddr).Port
	free, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		o     Options
		takes func(int) bool
	}{
		{"free", Options{Prefer: free}, func(p int) bool { return p == free || portFree(free) != nil }},
		{"taken", Options{Prefer: busy}, func(p int) bool { return p != busy }},
		{"none", Options{}, func(p int) bool { return p > 0 }},
		{"not a port", Options{Prefer: 65536}, func(p int) bool { return p <= 65535 }},
		{"Port is set", Options{Port: busy, Prefer: free}, func(p int) bool { return p == busy }},
	} {
		if got, err := c.o.pick(1); err != nil || !c.takes(got) {
			t.Errorf("%s: got port %d with %d free and %d taken (%v)", c.name, got, free, busy, err)
		}
	}
	s := mustStart(t, Options{DataDir: newFolder(t), Prefer: busy})
	if s.Port() == busy {
		t.Error("got a port that is in use")
	}
}

func TestBadOptions(t *testing.T) {
	folder := newFolder(t)
	for part, o := range map[string]Options{
		"":            {},
		"$":           {DataDir: folder + "$HOME"},
		"65536":       {DataDir: folder, Port: 65536},
		`"Fsync; rm"`: {DataDir: folder, ExtraSettings: map[string]string{"Fsync; rm": "on"}},
		`"work_mem"`:  {DataDir: folder, ExtraSettings: map[string]string{"work_mem": "`id`"}},
	} {
		wantError(t, o, part)
	}
	if exists(folder) {
		t.Error("the failed start created the folder")
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
