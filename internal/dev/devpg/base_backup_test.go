package devpg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of a base backup starts with a new password, and without the settings of the original.
func TestStartBackup(t *testing.T) {
	t.Parallel()
	s := mustStart(t, Options{DataDir: newFolder(t)})
	execute(t, s, "CREATE TABLE kept (n int)")
	base := newFolder(t)
	if err := s.BaseBackup(t.Context(), base, false); err != nil {
		t.Fatal(err)
	}
	backup := BaseBackup{Folder: layout(base).cluster()}
	settings := filepath.Join(backup.Folder, "postgresql.auto.conf")
	if err := os.WriteFile(settings, []byte("work_mem = '9MB'\nlisten_addresses = '*'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{DataDir: newFolder(t), Temporary: true}
	restored, err := StartBackup(t.Context(), backup, o)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, restored, "INSERT INTO kept VALUES (1)")
	if restored.password == s.password {
		t.Error("the copy has the password of the original")
	}
	for name, want := range map[string]string{
		"work_mem": "4MB", "listen_addresses": "127.0.0.1", "archive_mode": "off",
	} {
		if got := show(t, restored, "SHOW "+name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	mustStop(t, restored)
	if exists(layout(o.DataDir).cluster()) {
		t.Error("the copy was not deleted")
	}

	cancelled, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	if _, err := StartBackup(cancelled, backup, Options{DataDir: newFolder(t)}); !errors.Is(err, cause) {
		t.Errorf("cancelled: got %v", err)
	}
	backup.WAL = "a'b"
	if _, err := StartBackup(t.Context(), backup, Options{DataDir: newFolder(t)}); err == nil {
		t.Error("a quote in the name of the archive was accepted")
	}
}

func TestRecoveryFailure(t *testing.T) {
	t.Parallel()
	for log, part := range map[string]string{
		"FATAL:  recovery ended before configured recovery target was reached":      "--until",
		"FATAL:  requested recovery stop point is before consistent recovery point": "older base backup",
		"FATAL:  WAL ends before end of online backup":                              "--wal",
		"LOG:  starting\nFATAL:  something else\nLOG:  shutting down":               "something else",
		"": "--wal",
	} {
		l := layout(t.TempDir())
		if err := os.WriteFile(l.log(), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.recoveryFailure(job{}); !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %q is not in %q", log, part, err)
		}
	}
	l := layout(t.TempDir())
	if err := os.WriteFile(l.log(), []byte("FATAL:  could not bind IPv4 address"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.recoveryFailure(job{}); !errors.As(err, new(portTaken)) {
		t.Errorf("a port in use: got %v", err)
	}
}

// pg_restore's output can contain data, so errors do not contain it.
func TestRestoreFailure(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 1")
	for out, part := range map[string]string{
		`pg_restore: error: could not execute query: ERROR:  role "grafana" does not exist`: "--role",
		"pg_restore: error: unsupported version (1.99) in file header":                      "newer pg_dump",
		"pg_restore: error: COPY failed: could not extend file: No space left on device":    "TMPDIR",
		`pg_restore: error: could not open input file "x": No such file or directory`:       "permissions",
		"pg_restore: error: could not read from input file: end of file":                    "truncated",
		"pg_restore: error: COPY failed for table leads: " + canary:                         "exit status 1",
	} {
		err := restoreFailure(t.Context(), failed, []byte(out))
		if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: got %q, want %q", out, err, part)
		}
	}
}
