package devpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// installation creates a folder with programs that only print their version.
func installation(t *testing.T, name string, programs ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name, "bin")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		text := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s (Debian)'\n", name)
		if err := os.WriteFile(filepath.Join(folder, program), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func whole(t *testing.T, version string) string {
	return installation(t, version, "initdb", "pg_ctl", "postgres")
}

func TestFind(t *testing.T) {
	p13, p15, p16 := whole(t, "13.9"), whole(t, "15.4"), whole(t, "16beta1")
	client17 := installation(t, "17.1", "psql", "pg_ctl")
	path := p16 + string(filepath.ListSeparator) + "relative" + string(filepath.ListSeparator) + client17
	all := search{Folders: []string{p13, filepath.Dir(filepath.Dir(p15)) + "/*/bin"}, Path: path}
	for _, c := range []struct {
		name string
		s    search
		want int
		got  binaries
	}{
		{"the newest", all, 0, binaries{folder: p16, major: 16}},
		{"the cluster's", all, 15, binaries{folder: p15, major: 15}},
		{"the override", search{Override: p15, Path: path}, 0, binaries{folder: p15, major: 15}},
		{"the override's parent folder", search{Override: filepath.Dir(p15), Path: path}, 15, binaries{folder: p15, major: 15}},
		{"none", search{Path: client17}, 0, binaries{major: newestDownload, download: true}},
		{"too old", search{Folders: []string{p13}}, 16, binaries{major: 16, download: true}},
	} {
		got, err := c.s.find(c.want)
		if err != nil || got != c.got {
			t.Errorf("%s: got %+v (%v), want %+v", c.name, got, err, c.got)
		}
	}
	for _, c := range []struct {
		s     search
		want  int
		parts []string
	}{
		{all, 14, []string{"created by Postgres 14", "16 in " + p16, "15 in " + p15, overrideName}},
		{search{Override: p15}, 16, []string{"created by Postgres 16", "15 in " + p15}},
		{search{Override: p13}, 0, []string{overrideName, "Postgres 13"}},
		{search{Override: client17}, 0, []string{overrideName, client17, "initdb"}},
		{search{}, 14, []string{"Postgres 14", overrideName}},
	} {
		_, err := c.s.find(c.want)
		wantParts(t, err, c.parts...)
	}
}

// downloadFrom returns a search that finds nothing and downloads Postgres from a port.
func downloadFrom(t *testing.T, port int) search {
	t.Helper()
	s := search{Cache: newFolder(t), Repository: fmt.Sprintf("http://127.0.0.1:%d", port)}
	if err := os.Chmod(filepath.Dir(s.Cache), 0o777); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDownloadFails(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	_, err = start(t.Context(), Options{DataDir: newFolder(t)}, job{Search: downloadFrom(t, port)})
	wantParts(t, err, "Postgres 15", overrideName)
}

// A download may take minutes, but the start can be cancelled at once.
func TestCancelDuringDownload(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		defer cancel()
		if c, err := l.Accept(); err != nil {
			t.Error(err)
		} else {
			t.Cleanup(func() { _ = c.Close() }) // never answered
		}
	})
	_, err = start(ctx, Options{DataDir: newFolder(t)}, job{Search: downloadFrom(t, l.Addr().(*net.TCPAddr).Port)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got the error %v, want context.Canceled", err)
	}
	wait.Wait()
}

func TestDownloadFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		wantParts(t, ownFolder("/usr"), "/usr")
		return
	}
	folder := newFolder(t)
	if err := ownFolder(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folder, 1, 1); err != nil {
		t.Fatal(err)
	}
	wantParts(t, ownFolder(folder), folder)
}
