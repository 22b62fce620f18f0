package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	found, err := systemSearch().find(0)
	if err != nil {
		return err
	}
	if found.download {
		return errors.New("copying a cluster needs pg_basebackup: " + installHint)
	}
	l := layout(dataDir)
	backup := exec.CommandContext(ctx, filepath.Join(found.folder, "pg_basebackup"), append(arguments, "--no-password", "--checkpoint=fast", "--no-sync",
		"--host=127.0.0.1", "--port="+strconv.Itoa(s.port), "--username="+superuser, "--pgdata="+l.cluster())...)
	backup.Dir, backup.Env = dataDir, []string{"PGPASSWORD=" + s.password}
	backup.SysProcAttr = processAttributes(runAs, false)
	if out, err := backup.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the cluster: %w: %s", err, out)
	}
	return createFile(l.passwordFile(), s.password+"\n")
}

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
