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
	"syscall"
)

// layout is a data folder, by its real path:
//
//	cluster/          Postgres's own data folder
//	password          the superuser's password, 0600
//	lock              locked by the supervisor; holds the number of the process it works for
//	initialising      there while the cluster is being made: what is found then is thrown away
//	postgres.log      this run's log; postgres.log.old is the run before
//	run/              what a start needs and the next start clears away
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

// prepare makes the data folder, gives it to the user that Postgres runs as, and
// returns its real path. Nothing inside is touched: that is left to this user,
// so that root follows no link that the user could have planted there.
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
		return "", fmt.Errorf("the data folder cannot be made: %w; give another --data-dir", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("the data folder cannot be made: %w; give another --data-dir", err)
	}
	if runAs != nil { // again, for a strict umask may have closed the folders just made
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
		return fmt.Errorf("%s is not a folder: give another --data-dir", dir)
	}
	owner := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case runAs == nil && owner != uint32(os.Geteuid()):
		return fmt.Errorf("the data folder %s belongs to another user: run this program as that user, or give another --data-dir",
			dir)
	case runAs != nil && owner != runAs.uid:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("the data folder %s is not empty and does not belong to user %s, whom Postgres runs as here: give another --data-dir",
				dir, runAs.name)
		}
		if err := os.Lchown(dir, int(runAs.uid), int(runAs.gid)); err != nil {
			return fmt.Errorf("the data folder cannot be given to user %s: %w", runAs.name, err)
		}
	}
	return os.Chmod(dir, 0o700)
}

// inspect looks for a cluster of an earlier run. Its major version is 0 when one
// has to be made. What is there is never thrown away on a guess: the library
// would empty a folder that it does not understand.
func (l layout) inspect() (major int, err error) {
	if exists(l.initialising()) || !exists(l.cluster()) {
		return 0, nil
	}
	damaged := func(what string) error {
		return fmt.Errorf("the data folder %s is damaged (%s): restore it from a backup, or remove it to start afresh without its data",
			l, what)
	}
	text, err := os.ReadFile(filepath.Join(l.cluster(), "PG_VERSION"))
	if err != nil {
		return 0, damaged("cluster/PG_VERSION cannot be read")
	}
	major, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || major < 1 {
		return 0, damaged("cluster/PG_VERSION holds no version")
	}
	if !exists(filepath.Join(l.cluster(), "global", "pg_control")) {
		return 0, damaged("cluster/global/pg_control is missing")
	}
	if !exists(l.passwordFile()) {
		return 0, damaged("the file password is missing")
	}
	return major, nil
}

// begin makes ready for a new cluster. Until complete is called a crash leaves
// the mark behind, and the next start begins anew: nobody can have stored
// anything yet.
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

// complete ends what begin began. It reaches the disk before Postgres is handed
// out: a mark that came back after a power cut, or a password that was lost,
// would cost the data.
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

// passwordFor is the superuser's password for the cluster that inspect found.
func (l layout) passwordFor(major int) (string, error) {
	if major == 0 {
		return l.begin()
	}
	text, err := os.ReadFile(l.passwordFile())
	return strings.TrimSpace(string(text)), err
}

// clearRun makes ready for one start's files, and puts the last run's log aside.
func (l layout) clearRun() error {
	if err := os.RemoveAll(l.run()); err != nil {
		return err
	}
	if err := os.Rename(l.log(), l.log()+".old"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(l.socket(), 0o700)
}

// keepLog gives Postgres's log its name. The library makes the file under a
// random one, and does not look for it again after a start.
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
