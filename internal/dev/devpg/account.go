package devpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// account is the user that runs Postgres if this program runs as root. A nil account means that Postgres
// runs as the same user as this program.
type account struct {
	name     string
	uid, gid uint32
}

// unprivileged returns the user to run Postgres as, or nil if this program is not running as root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseInt(u.Uid, 10, 64)
		if err != nil || uid == 0 {
			continue
		}
		gid, err := strconv.ParseInt(u.Gid, 10, 64)
		if err != nil {
			continue
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("cannot run Postgres as root, and the users postgres and nobody do not exist: create the user postgres, or do not run this program as root")
}

// Reachable returns an error if the user that would run Postgres cannot access dir. The folder
// does not have to exist. If the program does not run as root, Reachable returns nil.
func Reachable(dir string) error {
	runAs, err := unprivileged()
	if err != nil || runAs == nil {
		return err
	}
	dir, err = realPath(dir)
	if err != nil {
		return err
	}
	return runAs.reaches(dir)
}

// reaches returns an error if the account cannot access the folders above dir. The path dir must not
// contain symbolic links. dir itself is not checked, because the account becomes its owner.
func (a *account) reaches(dir string) error {
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && !a.mayEnter(info) {
			return fmt.Errorf("user %[2]s, which runs Postgres because Postgres cannot run as root, cannot access the folder %[1]s: choose another --data-dir, such as /var/lib/pingpost",
				above, a.name)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// mayEnter reports whether the permission bits of a folder allow the account to enter it. As in the
// kernel, only the first class that matches (owner, group or others) counts. For example, an owner
// without x cannot enter, even if others can.
func (a *account) mayEnter(folder fs.FileInfo) bool {
	uid, gid := owner(folder)
	bits := folder.Mode().Perm()
	switch {
	case uid == a.uid:
		return bits&0o100 != 0
	case gid == a.gid:
		return bits&0o010 != 0
	default:
		return bits&0o001 != 0
	}
}

// realPath returns the absolute path of dir, and resolves symbolic links in the part that exists.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for above, rest := abs, ""; ; above, rest = filepath.Dir(above), filepath.Join(filepath.Base(above), rest) {
		real, err := filepath.EvalSymlinks(above)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) || above == filepath.Dir(above) {
			return "", fmt.Errorf("the data folder %s cannot be used: %w", dir, err)
		}
	}
}
