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

// A disk that is full costs posts their 503s and nothing else; once there is room
// again, posts are stored without a hand on the service.
func TestFullDisk(t *testing.T) {
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
		c.goesOn(t, 100)
		ballast := fillUp(t, disk)
		c.fail(t, 50)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		// Without room for its log Postgres gives up, and its supervisor
		// starts it again.
		select {
		case <-p.postgres.Done():
			t.Log("Postgres had ended")
			p.startPostgres(t)
		default:
		}
	}
	c.goesOn(t, 100)
	c.end()
	c.judge(t)
}

// smallDisk mounts one of so many megabytes until the test ends.
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
		t.Fatalf("a full disk needs a small one, which only root (or sudo without a password) can mount: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(mount("umount", dir), os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillUp writes a file until the disk has no room left, and returns its name.
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
			size /= 2 // what is left is less than that
		case err != nil:
			t.Fatal(err)
		}
	}
	return f.Name()
}
