package devpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// BaseBackup is a base backup in the plain format of pg_basebackup.
type BaseBackup struct {
	Folder string
	WAL    string    // the folder with the archived WAL to apply; "" for none
	Until  time.Time // apply the WAL up to this time; if zero, all of it
}

// recoveryLimit limits how long applying the WAL may take.
const recoveryLimit = 24 * time.Hour

// StartBackup starts Postgres on a copy of a base backup in o.DataDir, which must be empty, and returns when the
// recovery has ended. It ignores the configuration files in the backup, because with them the copy would archive
// its WAL, or wait for a standby, like the original.
func StartBackup(ctx context.Context, b BaseBackup, o Options) (*Server, error) {
	runAs, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if o.DataDir, err = prepare(o.DataDir, runAs); err != nil {
		return nil, err
	}
	l := layout(o.DataDir)
	if l.socketSetting() == "" {
		return nil, errors.New("the path of the temporary folder is too long: set TMPDIR to a folder with a " +
			"shorter path")
	}
	settings, err := b.settings()
	if err != nil {
		return nil, err
	}
	if err := copyBackup(ctx, b.Folder, l.cluster(), runAs); err != nil {
		return nil, err
	}
	files := map[string]string{"postgresql.conf": settings, "pg_hba.conf": access}
	if b.WAL != "" {
		files["recovery.signal"] = ""
	}
	for name, content := range files {
		if err := createFile(filepath.Join(l.cluster(), name), content); err != nil {
			return nil, err
		}
	}
	if err := createFile(l.passwordFile(), rand.Text()+"\n"); err != nil {
		return nil, err
	}
	newest, err := b.newestWAL()
	if err != nil {
		return nil, err
	}
	o.StartTimeout = recoveryLimit
	s, err := start(ctx, o, job{Search: systemSearch(), Backup: true})
	if err != nil {
		return s, err
	}
	return s, l.checkApplied(newest)
}

var firstSegment = regexp.MustCompile(`(?m)^START WAL LOCATION: .* \(file ([0-9A-F]{24})\)$`)

var walSegment = regexp.MustCompile(`^[0-9A-F]{24}$`)

// newestWAL returns the name of the last segment that the recovery must apply, or "" if it need not apply all.
func (b BaseBackup) newestWAL() (newest string, err error) {
	if b.WAL == "" {
		return "", nil
	}
	entries, err := os.ReadDir(b.WAL)
	if err != nil {
		return "", withoutPath("reading the folder with the archived WAL", err)
	}
	for _, entry := range entries { // in the order of their names
		if walSegment.MatchString(entry.Name()) {
			newest = entry.Name()
		}
	}
	label, err := os.ReadFile(filepath.Join(b.Folder, "backup_label"))
	if err != nil {
		return "", withoutPath("reading the label of the base backup", err)
	}
	first := firstSegment.FindSubmatch(label)
	switch {
	case newest == "":
		return "", errors.New("the folder in --wal contains no WAL: check its name and archive_command")
	case first == nil:
		return "", errIncompleteBackup
	case newest < string(first[1]):
		return "", errors.New("the archived WAL ends before the base backup: check archive_command")
	case !b.Until.IsZero():
		return "", nil // Postgres checks that the WAL reaches this time
	}
	return newest, nil
}

var appliedSegment = regexp.MustCompile(`restored log file "([0-9A-F]{24})" from archive`)

// checkApplied returns an error if the recovery ended before a segment of the archived WAL.
func (l layout) checkApplied(newest string) error {
	text, err := os.ReadFile(l.log())
	if err != nil || newest == "" {
		return err
	}
	applied := ""
	for _, segment := range appliedSegment.FindAllSubmatch(text, -1) {
		applied = max(applied, string(segment[1]))
	}
	switch {
	case applied == "":
		return errors.New("none of the archived WAL was applied: check that it is of this backup, and that the user " +
			"who runs Postgres can read the folder in --wal")
	case applied < newest:
		return fmt.Errorf("the archived WAL was applied only up to %s, although it continues to %s: a file in between "+
			"is missing or damaged", applied, newest)
	}
	return nil
}

// access is the content of pg_hba.conf. Only the user that runs Postgres can access the folder of the socket.
const access = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"

// settings returns the content of postgresql.conf.
func (b BaseBackup) settings() (string, error) {
	if b.WAL == "" {
		return "", nil
	}
	archive, err := filepath.Abs(b.WAL)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(archive, unsafeInShell+"'") {
		return "", errors.New("the name of the folder with the archived WAL has a quote, a dollar sign, a " +
			"backslash or a line break: rename it")
	}
	settings := "hot_standby = off\nrecovery_target_action = promote\n" +
		`restore_command = 'cp "` + strings.ReplaceAll(archive, "%", "%%") + `/%f" "%p"'` + "\n"
	if !b.Until.IsZero() {
		settings += "recovery_target_time = '" + b.Until.UTC().Format("2006-01-02 15:04:05.999999+00") + "'\n"
	}
	return settings, nil
}

// copyBackup copies a base backup without its configuration to a new folder, for the user that runs Postgres. It
// rejects links, because Postgres would write to the tablespaces that they point to.
func copyBackup(ctx context.Context, from, to string, runAs *account) error {
	without := []string{
		"postgresql.conf", "postgresql.auto.conf", "pg_hba.conf", "pg_ident.conf", "postmaster.pid", "postmaster.opts",
		"standby.signal", "recovery.signal",
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return withoutPath("opening the base backup", err)
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		target := filepath.Join(to, name)
		switch {
		case err != nil:
			return withoutPath("reading the base backup", err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case slices.Contains(without, name):
			return nil
		case entry.IsDir():
			err = os.Mkdir(target, 0o700)
		case entry.Type().IsRegular():
			err = copyFile(root, name, target)
		default:
			return errors.New("the base backup contains links or special files: take it without tablespaces and " +
				"without --waldir")
		}
		if err == nil && runAs != nil {
			err = os.Lchown(target, int(runAs.uid), int(runAs.gid))
		}
		return withoutPath("copying the base backup", err)
	})
}

func copyFile(root *os.Root, name, target string) error {
	source, err := root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Close())
}

// withoutPath wraps an error of a file operation, and leaves out the path.
func withoutPath(doing string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
	}
	return err
}

// startBackup starts Postgres on the copy of a base backup, waits until the recovery has ended, and sets the
// superuser's password. The embedded-postgres library cannot do this, because it must know the password.
func (j job) startBackup(l layout, found binaries, leave <-chan struct{}) (string, error) {
	if found.download {
		return "", errors.New("restoring a base backup needs the same version of Postgres: " + installHint)
	}
	password, err := l.passwordFor(found.major)
	if err != nil {
		return "", err
	}
	log, err := os.OpenFile(l.log(), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer log.Close()
	postgres := exec.Command(filepath.Join(found.folder, "postgres"), "-D", l.cluster(), "-p", strconv.Itoa(j.Port))
	for name, value := range j.settings(l) {
		postgres.Args = append(postgres.Args, "-c", name+"="+value)
	}
	postgres.Stdout, postgres.Stderr = log, log
	if err := postgres.Start(); err != nil {
		return "", err
	}
	ended := make(chan struct{})
	go func() { // ends with Postgres
		_ = postgres.Wait()
		close(ended)
	}()
	socket := url.URL{
		Scheme: "postgres", User: url.User(superuser), Path: "/postgres",
		RawQuery: url.Values{"host": {l.socket()}, "port": {strconv.Itoa(j.Port)}}.Encode(),
	}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ended:
			return "", l.recoveryFailure(j)
		case <-leave:
			return "", errors.Join(errors.New("starting Postgres was cancelled"), terminate(postgres.Process.Pid, l))
		case <-poll.C:
			if l.isReady() {
				return password, setPassword(socket.String(), password)
			}
		}
	}
}

// isReady reports whether Postgres has written to its pid file that it accepts connections.
func (l layout) isReady() bool {
	text, err := os.ReadFile(l.postmasterFile())
	return err == nil && slices.Contains(strings.Fields(string(text)), "ready")
}

// recoveryFailure returns an error that says why Postgres did not recover from a base backup, and what to do.
func (l layout) recoveryFailure(j job) error {
	text, _ := os.ReadFile(l.log()) // the file contains only the log of this start
	var cause string                // of the end of Postgres
	for _, line := range strings.Split(string(text), "\n") {
		for _, level := range []string{"FATAL:", "PANIC:"} {
			if _, message, found := strings.Cut(line, level); found {
				cause = message
			}
		}
	}
	for _, known := range []struct {
		part    string
		problem error
	}{
		{"could not bind", taken(j.Port)},
		{"could not create any TCP/IP sockets", taken(j.Port)},
		{"No space left", errDiskFull},
		{"recovery ended before configured recovery target", errors.New("the archived WAL ends before --until: " +
			"choose an earlier time, and check archive_command")},
		{"is before consistent recovery point", errors.New("--until is before the end of the base backup: use an " +
			"older base backup")},
		{"WAL ends before", errIncompleteBackup},
		{"checkpoint record", errIncompleteBackup},
	} {
		if strings.Contains(cause, known.part) {
			return known.problem
		}
	}
	if cause != "" {
		return fmt.Errorf("the base backup cannot be recovered:%s", cause)
	}
	return errIncompleteBackup
}

var errIncompleteBackup = errors.New("the base backup is damaged, or lacks WAL: check it with pg_verifybackup, " +
	"and add the archived WAL with --wal")

// setPassword sets the superuser's password, which contains only letters and digits.
func setPassword(url, password string) error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "ALTER ROLE "+superuser+" PASSWORD '"+password+"'")
	return err
}
