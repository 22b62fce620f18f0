package devpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// Standby copies the cluster to o.DataDir and starts the copy as a standby of s. The wal_level of s must
// be "replica". pg_promote() makes the standby a primary.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	if err := s.copyTo(ctx, o.DataDir, "--write-recovery-conf"); err != nil {
		return nil, err
	}
	return Start(ctx, o)
}

// BaseBackup copies the cluster to a data folder. Start starts the copy as it was at the end of the backup.
// If recover is true, Start first applies archived WAL, as the settings restore_command and recovery_target
// say. The wal_level of s must be "replica".
func (s *Server) BaseBackup(ctx context.Context, dataDir string, recover bool) error {
	if err := s.copyTo(ctx, dataDir); err != nil || !recover {
		return err
	}
	return createFile(filepath.Join(layout(dataDir).cluster(), "recovery.signal"), "")
}

// copyTo copies the cluster to a data folder with pg_basebackup.
func (s *Server) copyTo(ctx context.Context, dataDir string, arguments ...string) error {
	runAs, err := unprivileged()
	if err != nil {
		return err
	}
	if dataDir, err = prepare(dataDir, runAs); err != nil {
		return err
	}
	program, err := client("pg_basebackup")
	if err != nil {
		return err
	}
	l := layout(dataDir)
	backup := exec.CommandContext(ctx, program, append(arguments, "--no-password", "--checkpoint=fast", "--no-sync",
		"--host=127.0.0.1", "--port="+strconv.Itoa(s.port), "--username="+superuser, "--pgdata="+l.cluster())...)
	backup.Dir, backup.Env = dataDir, []string{"PGPASSWORD=" + s.password}
	backup.SysProcAttr = processAttributes(runAs, false)
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the cluster: %w: %s", err, out)
	}
	return createFile(l.passwordFile(), s.password+"\n")
}

// client returns the path of a client program in the newest installation of Postgres.
func client(name string) (string, error) {
	found, err := systemSearch().find(0)
	if err != nil {
		return "", err
	}
	path := filepath.Join(found.folder, name)
	if found.download || !exists(path) {
		return "", fmt.Errorf("the program %s is missing: %s", name, installHint)
	}
	return path, nil
}

// RestoreDump creates roles, and restores a file of pg_dump, in any format except plain, into an empty database. Its
// errors do not contain the output of pg_restore, which can contain data.
func (s *Server) RestoreDump(ctx context.Context, database, file string, roles []string) error {
	program, err := client("pg_restore")
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.SuperuserURL(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, role := range roles {
		if _, err := conn.Exec(ctx, "CREATE ROLE "+pgx.Identifier{role}.Sanitize()); err != nil {
			return fmt.Errorf("creating the role %s: %w", role, err)
		}
	}
	restore := exec.CommandContext(ctx, program, "--exit-on-error", "--no-password", "--host=127.0.0.1",
		"--port="+strconv.Itoa(s.port), "--username="+superuser, "--dbname="+database, "--", file)
	restore.Env = []string{"PGPASSWORD=" + s.password, "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	out, err := restore.CombinedOutput()
	if err != nil {
		return restoreFailure(ctx, err, out)
	}
	return nil
}

var missingRole = regexp.MustCompile(`role "([^"\n]+)" does not exist`)

// restoreFailure turns the failure of pg_restore into an error that says what to do.
func restoreFailure(ctx context.Context, err error, out []byte) error {
	role := missingRole.FindSubmatch(out)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if bytes.Contains(out, []byte(part)) {
				return true
			}
		}
		return false
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case role != nil:
		return fmt.Errorf("the dump grants privileges to the role %s: add it with --role", role[1])
	case has("unsupported version"):
		return errors.New("the dump was made by a newer pg_dump: install the same or a newer version of Postgres " +
			"here")
	case has("No space left"):
		return errDiskFull
	case has("could not open input file"):
		return errors.New("the dump cannot be read: check its name and its permissions")
	case has("end of file", "too short", "valid archive", "text format dump", "could not read", "uncompress",
		"unexpected data", "corrupt"):
		return errors.New("the dump is truncated, damaged or not in pg_dump's custom format: restore an older " +
			"one, and check the job that makes the dumps")
	}
	return fmt.Errorf("pg_restore cannot restore the dump (%w): run it by hand and read its output", err)
}

var errDiskFull = errors.New("the disk is full: set TMPDIR to a folder on a larger disk")

// createFile creates a file that belongs to the user that runs Postgres.
func createFile(path, content string) error {
	runAs, err := unprivileged()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil || runAs == nil {
		return err
	}
	return os.Lchown(path, int(runAs.uid), int(runAs.gid))
}
