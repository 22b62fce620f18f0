package devpg

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// layout is the real path of a data folder, which contains:
//
//	cluster/          Postgres's data folder
//	password          the superuser's password, 0600
//	lock              locked by the supervisor; contains the process id of its caller
//	initialising      exists while the cluster is being created; if a start finds this file, it deletes the cluster
//	postgres.log      log of the current run; postgres.log.old is the log of the previous run
//	run/              temporary files of the current run; the next start deletes them
type layout string

func (l layout) at(name string) string  { return filepath.Join(string(l), name) }
func (l layout) cluster() string        { return l.at("cluster") }
func (l layout) passwordFile() string   { return l.at("password") }
func (l layout) lockFile() string       { return l.at("lock") }
func (l layout) initialising() string   { return l.at("initialising") }
func (l layout) log() string            { return l.at("postgres.log") }
func (l layout) run() string            { return l.at("run") }
func (l layout) library() string        { return filepath.Join(l.run(), "library") }
func (l layout) socket() string         { return filepath.Join(l.run(), "socket") }
func (l layout) postmasterFile() string { return filepath.Join(l.cluster(), "postmaster.pid") }

// prepare creates the data folder, changes its owner to the user that runs Postgres, and returns its
// real path. It does not touch the contents, because that user may have created links there, which root
// must not follow.
func prepare(dir string, runAs *account) (string, error) {
	dir, err := realPath(dir)
	if err != nil {
		return "", err
	}
	if runAs != nil {
		if err := runAs.reaches(dir); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("cannot create the data folder: %w; choose another --data-dir", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cannot create the data folder: %w; choose another --data-dir", err)
	}
	if runAs != nil { // check again, because with a strict umask new folders may not be accessible
		if err := runAs.reaches(dir); err != nil {
			return "", err
		}
	}
	return dir, chownTo(dir, runAs)
}

func chownTo(dir string, runAs *account) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: choose another --data-dir", dir)
	}
	uid, _ := owner(info)
	switch {
	case runAs == nil && uid != uint32(os.Geteuid()):
		return fmt.Errorf("the data folder %s belongs to another user: run this program as that user, or choose another --data-dir",
			dir)
	case runAs != nil && uid != runAs.uid:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("the data folder %s is not empty and does not belong to user %s, which runs Postgres: choose another --data-dir",
				dir, runAs.name)
		}
		if err := os.Lchown(dir, int(runAs.uid), int(runAs.gid)); err != nil {
			return fmt.Errorf("cannot change the owner of the data folder to user %s: %w", runAs.name, err)
		}
	}
	return os.Chmod(dir, 0o700)
}

// inspect returns the major version of the existing cluster, or 0 if a cluster must be created. It
// returns an error for a damaged cluster, because the embedded-postgres library would empty a folder
// that it does not recognise.
func (l layout) inspect() (major int, err error) {
	if exists(l.initialising()) || !exists(l.cluster()) {
		return 0, nil
	}
	damaged := func(what string) error {
		return fmt.Errorf("the data folder %s is damaged (%s): restore it from a backup, or remove it to start over without its data",
			l, what)
	}
	text, err := os.ReadFile(filepath.Join(l.cluster(), "PG_VERSION"))
	if err != nil {
		return 0, damaged("cluster/PG_VERSION cannot be read")
	}
	major, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || major < 1 {
		return 0, damaged("cluster/PG_VERSION contains no version")
	}
	if !exists(filepath.Join(l.cluster(), "global", "pg_control")) {
		return 0, damaged("cluster/global/pg_control is missing")
	}
	if !exists(l.passwordFile()) {
		return 0, damaged("the file password is missing")
	}
	return major, nil
}

// begin prepares the creation of a cluster and returns the superuser's password. If the program crashes
// before complete is called, the next start creates the cluster again. No data is lost, because the
// cluster has not been used yet.
func (l layout) begin() (password string, err error) {
	if err := os.WriteFile(l.initialising(), nil, 0o600); err != nil {
		return "", err
	}
	if err := os.RemoveAll(l.cluster()); err != nil {
		return "", err
	}
	password = rand.Text()
	if err := os.WriteFile(l.passwordFile(), []byte(password+"\n"), 0o600); err != nil {
		return "", err
	}
	return password, nil
}

// complete finishes the creation of a cluster, and syncs the changes to disk before Postgres is used.
// Otherwise a power failure could undo the changes, and the data in the cluster would be lost.
func (l layout) complete() error {
	if err := os.Remove(l.initialising()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(flush(l.passwordFile()), flush(string(l)))
}

func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func (l layout) passwordFor(major int) (string, error) {
	if major == 0 {
		return l.begin()
	}
	text, err := os.ReadFile(l.passwordFile())
	return strings.TrimSpace(string(text)), err
}

// clearRun deletes the temporary files of the previous run and renames the log of that run.
func (l layout) clearRun() error {
	if err := os.RemoveAll(l.run()); err != nil {
		return err
	}
	if err := os.Rename(l.log(), l.log()+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(l.socket(), 0o700)
}

// keepLog renames Postgres's log to its final name. The embedded-postgres library gives the log a random name. The
// library does not need this name after Postgres has started.
func (l layout) keepLog() error {
	entries, err := os.ReadDir(l.run())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "embedded_postgres_log") {
			return os.Rename(filepath.Join(l.run(), e.Name()), l.log())
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
