package devpg

import (
	"os"
	"path/filepath"
	"testing"
)

func TestUnreachableFolder(t *testing.T) {
	closed := newFolder(t)
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(closed, "deep", "data")
	if os.Geteuid() != 0 {
		// Postgres runs as this user, which owns the folder.
		if err := Reachable(folder); err != nil {
			t.Error(err)
		}
		mustStart(t, Options{DataDir: folder})
		return
	}
	runAs, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, Reachable(folder), "user "+runAs.name, closed, "--data-dir", "/var/lib/pingpost")
	wantError(t, Options{DataDir: folder}, "user "+runAs.name, closed)
	if exists(filepath.Join(closed, "deep")) {
		t.Error("the failed start created folders")
	}
	if err := os.Chmod(closed, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := Reachable(folder); err != nil {
		t.Error(err)
	}
}

func TestFolderOfAnotherUser(t *testing.T) {
	folder := newFolder(t)
	if os.Geteuid() != 0 {
		wantError(t, Options{DataDir: "/"}, "--data-dir")
		return
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	// The owner of an empty folder is changed.
	mustStop(t, mustStart(t, Options{DataDir: folder}))
	if err := os.Chown(folder, 0, 0); err != nil {
		t.Fatal(err)
	}
	wantError(t, Options{DataDir: folder}, folder, "--data-dir")
}

// As in the kernel, the first class that matches decides.
func TestMayEnter(t *testing.T) {
	folder := newFolder(t)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	owner, group, other := &account{uid: uid, gid: gid + 1}, &account{uid: uid + 1, gid: gid}, &account{uid: uid + 1, gid: gid + 1}
	for _, c := range []struct {
		mode os.FileMode
		who  *account
		want bool
	}{
		{0o100, owner, true}, {0o011, owner, false},
		{0o010, group, true}, {0o101, group, false},
		{0o001, other, true}, {0o110, other, false},
	} {
		if err := os.Chmod(folder, c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.who.mayEnter(info); got != c.want {
			t.Errorf("mode %o, uid %d, gid %d: %v", c.mode, c.who.uid, c.who.gid, got)
		}
	}
}
