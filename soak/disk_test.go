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

	"github.com/pingpost/pingpost/internal/devpg"
)

// TestPostsResumeAfterFullDisk checks that posts get 503 while Postgres's disk is full. When there
// is room again, they must succeed without a restart of the service.
func TestPostsResumeAfterFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 256)
	p := startPlatformOn(t, devpg.Options{
		DataDir: filepath.Join(disk, "postgres"),
		Durable: true,
		ExtraSettings: map[string]string{
			"min_wal_size": "32MB", "max_wal_size": "64MB", "shared_buffers": "16MB",
		},
	})
	c := p.clients(t, rand.New(rand.NewPCG(rand.Uint64(), 2)))
	for range 2 {
		c.awaitAcknowledged(t, 100)
		ballast := fillUp(t, disk)
		c.awaitFailed(t, 50)
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
