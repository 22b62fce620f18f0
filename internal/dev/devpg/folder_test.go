package devpg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stopped creates a data folder with a table, without a running Postgres.
func stopped(t *testing.T) Options {
	t.Helper()
	o := Options{DataDir: newFolder(t), Durable: true}
	s := mustStart(t, o)
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if got := show(t, s, "SHOW "+name); got != "on" {
			t.Errorf("Durable is set, but %s is %q", name, got)
		}
	}
	execute(t, s, "CREATE TABLE kept AS SELECT 'found' AS word")
	mustStop(t, s)
	return o
}

func mustContainData(t *testing.T, o Options) {
	t.Helper()
	s := mustStart(t, o)
	if got := show(t, s, "SELECT word FROM kept"); got != "found" {
		t.Errorf("found %q", got)
	}
	mustStop(t, s)
}

// write writes a file that belongs to the user that runs Postgres.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	runAs, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	if runAs == nil {
		return
	}
	if err := os.Lchown(path, int(runAs.uid), int(runAs.gid)); err != nil {
		t.Fatal(err)
	}
}

// The test damages a folder in several ways and repairs it each time. A failed start must not change
// the data.
func TestDamagedFolder(t *testing.T) {
	o := stopped(t)
	l := layout(o.DataDir)
	version := filepath.Join(l.cluster(), "PG_VERSION")
	for _, c := range []struct {
		name, path, content string // empty content removes the file
		parts               []string
	}{
		{"no version", version, "", []string{"PG_VERSION"}},
		{"an invalid version", version, "soon\n", []string{"PG_VERSION"}},
		{"another version", version, "13\n", []string{"Postgres 13", "--data-dir", overrideName}},
		{"no control file", filepath.Join(l.cluster(), "global", "pg_control"), "", []string{"pg_control"}},
		{"no password", l.passwordFile(), "", []string{"password"}},
		{"another password", l.passwordFile(), "another\n", []string{"password"}},
		{"an unknown setting", filepath.Join(l.cluster(), "postgresql.conf"), "no_such_setting = 1\n",
			[]string{l.log(), "no_such_setting"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := os.ReadFile(c.path)
			if err != nil {
				t.Fatal(err)
			}
			defer write(t, c.path, string(before))
			if c.content != "" {
				write(t, c.path, c.content)
			} else if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
			wantError(t, o, append(c.parts, o.DataDir)...)
		})
	}
	mustContainData(t, o)
	t.Run("incomplete", func(t *testing.T) { testIncomplete(t, o) })
}

// testIncomplete starts Postgres in a folder in which an interrupted first start left the marker and an incomplete
// cluster.
func testIncomplete(t *testing.T, o Options) {
	l := layout(o.DataDir)
	write(t, l.initialising(), "")
	if err := os.RemoveAll(filepath.Join(l.cluster(), "base")); err != nil {
		t.Fatal(err)
	}
	s := mustStart(t, o)
	execute(t, s, "CREATE TABLE kept ()") // fails if the old cluster still exists
	if exists(l.initialising()) {
		t.Error("the marker still exists, so the next start would delete the data")
	}
}

func TestDataFolderIsFile(t *testing.T) {
	path := newFolder(t)
	write(t, path, "")
	wantError(t, Options{DataDir: path}, path)
}

// The data folder is behind a link, does not exist yet, and has a path that is too long for a socket.
func TestLongPathBehindLink(t *testing.T) {
	real := newFolder(t)
	link := real + "-link"
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	far := filepath.Join("not there yet", strings.Repeat("long", 20))
	s := mustStart(t, Options{DataDir: filepath.Join(link, far)})
	if !exists(filepath.Join(real, far, "cluster")) {
		t.Error("the cluster is not in the linked folder")
	}
	if got := show(t, s, "SHOW unix_socket_directories"); got != "" {
		t.Errorf("unix_socket_directories is %q", got)
	}
}
