package devpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Standby copies the cluster to o.DataDir and starts the copy as a standby of s. The wal_level of s must
// be "replica". pg_promote() makes the standby a primary.
func (s *Server) Standby(ctx context.Context, o Options) (*Server, error) {
	runAs, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if o.DataDir, err = prepare(o.DataDir, runAs); err != nil {
		return nil, err
	}
	found, err := systemSearch().find(0)
	if err != nil {
		return nil, err
	}
	if found.download {
		return nil, errors.New("a standby needs pg_basebackup: " + installHint)
	}
	l := layout(o.DataDir)
	backup := exec.CommandContext(ctx, filepath.Join(found.folder, "pg_basebackup"), "--no-password", "--checkpoint=fast", "--no-sync", "--write-recovery-conf",
		"--host=127.0.0.1", "--port="+strconv.Itoa(s.port), "--username="+superuser, "--pgdata="+l.cluster())
	backup.Dir, backup.Env = o.DataDir, []string{"PGPASSWORD=" + s.password}
	if runAs != nil {
		backup.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: runAs.uid, Gid: runAs.gid}}
	}
	if out, err := backup.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copying the cluster: %w: %s", err, out)
	}
	if err := os.WriteFile(l.passwordFile(), []byte(s.password+"\n"), 0o600); err != nil {
		return nil, err
	}
	if runAs != nil {
		if err := os.Lchown(l.passwordFile(), int(runAs.uid), int(runAs.gid)); err != nil {
			return nil, err
		}
	}
	return Start(ctx, o)
}
