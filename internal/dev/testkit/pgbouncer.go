package testkit

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/dev/devprogram"
)

// PgBouncer is a real PgBouncer in front of a Postgres.
type PgBouncer struct {
	Address string
	Log     *Log
}

// NewPgBouncer starts a PgBouncer in front of the server in the given database URLs. The users in these URLs can
// connect. It runs until the test ends. All settings except the given ones, such as "pool_mode = session", have their
// default values.
func NewPgBouncer(t testing.TB, settings []string, databaseURLs ...string) *PgBouncer {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // not on the PATH of users other than root
	}
	b := &PgBouncer{Address: FreeAddress(t), Log: &Log{}}
	folder, err := os.MkdirTemp("", "pingpost-test-pgbouncer-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	var users strings.Builder
	var server *url.URL
	for _, text := range databaseURLs {
		if server, err = url.Parse(text); err != nil {
			t.Fatal("invalid database URL")
		}
		password, _ := server.User.Password()
		fmt.Fprintf(&users, "%q %q\n", server.User.Username(), password)
	}
	host, port, _ := net.SplitHostPort(b.Address)
	config := filepath.Join(folder, "pgbouncer.ini")
	for name, text := range map[string]string{
		"users": users.String(),
		"pgbouncer.ini": fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = %s\nlisten_port = %s\n"+
			"unix_socket_dir =\nauth_type = scram-sha-256\nauth_file = %s/users\n%s\n",
			server.Hostname(), server.Port(), host, port, folder, strings.Join(settings, "\n")),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil { // for the user that runs PgBouncer
		t.Fatal(err)
	}
	cmd := exec.Command(program, config)
	cmd.Stdout, cmd.Stderr = b.Log, b.Log
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if cmd.SysProcAttr.Credential, err = devpg.Credential(); err != nil {
		t.Fatal(err)
	}
	process, err := devprogram.Run(cmd)
	if err != nil {
		t.Fatalf("cannot start PgBouncer (Debian's package pgbouncer): %v", err)
	}
	t.Cleanup(func() {
		if err := process.Stop(); err != nil {
			t.Error(err)
		}
	})
	Eventually(t, 30*time.Second, "PgBouncer accepts connections", func() bool {
		select {
		case <-process.Ended():
			t.Fatalf("PgBouncer does not start:\n%s", b.Log)
		default:
		}
		conn, err := net.Dial("tcp", b.Address)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	})
	return b
}

// URL returns a URL for the same database, user and options, through the PgBouncer.
func (b *PgBouncer) URL(t testing.TB, databaseURL string) string {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal("invalid database URL")
	}
	u.Host = b.Address
	return u.String()
}
