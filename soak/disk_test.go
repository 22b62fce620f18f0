package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devpg"
)

// TestPostsResumeAfterFullDisk checks that posts get 503 while Postgres's disk is full, and that the
// nodes are not ready. When there is room again, the nodes must be ready and posts must succeed without
// a restart of the service.
func TestPostsResumeAfterFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 256)
	p := startPlatform(t, setup{prepare: createShortPartitions, postgres: devpg.Options{
		DataDir: filepath.Join(disk, "postgres"),
		Durable: true,
		ExtraSettings: map[string]string{
			"min_wal_size": "32MB", "max_wal_size": "64MB", "shared_buffers": "16MB",
		},
	}})
	c := p.clients(t, rand.New(rand.NewPCG(rand.Uint64(), 2)))
	for range 2 {
		c.awaitAcknowledged(t, 100)
		ballast := fillUp(t, disk)
		c.awaitFailed(t, 50)
		p.awaitUnready(t, "storing", "database")
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		// Postgres may exit if there is no room for its log. In production, a supervisor would start it
		// again.
		select {
		case <-p.postgres.Done():
			t.Log("Postgres exited")
			p.startPostgres(t)
		default:
		}
		p.awaitReady(t)
	}
	c.awaitAcknowledged(t, 100)
	c.end()
	c.check(t)
}

// TestNodesRestorePartitions detaches the current partitions of tables that posts write to. The nodes must report this,
// attach the partitions again and become ready, and no acknowledged lead may be lost.
func TestNodesRestorePartitions(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, setup{})
	c := p.clients(t, rand.New(rand.NewPCG(rand.Uint64(), 3)))
	root := p.root(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := root.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"leads", "lead_keys", "ledger_entries", "consents", "lead_events"} {
		c.awaitAcknowledged(t, 100)
		var partition string
		if err := root.QueryRow(t.Context(), `SELECT name FROM partitions WHERE parent = $1 AND now() >= starts_at AND now() < ends_at`,
			table).Scan(&partition); err != nil {
			t.Fatal(err)
		}
		exec(`SELECT pg_advisory_lock(hashtext('partitions'))`) // the nodes wait for it before they attach partitions
		exec(`ALTER TABLE ` + table + ` DETACH PARTITION ` + partition)
		c.awaitFailed(t, 20)
		p.awaitUnready(t, "partitions")
		exec(`SELECT pg_advisory_unlock(hashtext('partitions'))`)
		p.awaitReady(t)
	}
	c.awaitAcknowledged(t, 100)
	c.end()
	c.check(t)
}

// smallDisk mounts a file system of the given size. It is unmounted when the test ends.
func smallDisk(t *testing.T, megabytes int) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "pingpost-disk-")
	if err != nil {
		t.Fatal(err)
	}
	mount := func(args ...string) error {
		if os.Geteuid() != 0 {
			args = append([]string{"sudo", "-n"}, args...)
		}
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := mount("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=1777", megabytes), "tmpfs", dir); err != nil {
		t.Fatalf("cannot mount a small disk, which requires root or sudo without a password: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(mount("umount", dir), os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp writes a file until the disk is full, and returns its name.
func fillUp(t *testing.T, disk string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		_, err := f.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2 // try to fill the remaining space
		case err != nil:
			t.Fatal(err)
		}
	}
	return f.Name()
}
