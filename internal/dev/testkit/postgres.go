// Package testkit contains helpers for tests, such as a real Postgres for each test process.
// Only tests import it.
package testkit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/devpg"
)

// The variable process is global, because TestMain cannot pass values to tests, and Main has to stop
// the server that the first test starts. Production code must not have such state.
var process sharedPostgres

type sharedPostgres struct {
	once      sync.Once
	folder    string
	server    *devpg.Server
	err       error
	root      rootPool
	databases atomic.Int64 // number of databases created
}

func (p *sharedPostgres) statement(t testing.TB, sql string) {
	t.Helper()
	p.root.exec(t, p.server.SuperuserURL("postgres"), sql)
}

// Main is the TestMain of packages whose tests use Postgres. It runs the tests, stops their Postgres and
// exits with their result.
func Main(m *testing.M) {
	devpg.RunIfChild()
	code := m.Run()
	if err := process.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the tests' Postgres:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Postgres returns the test process's Postgres. The first call starts it. The package's
// TestMain must be Main. If Postgres does not start, the test fails. It is not skipped, because a
// skipped test would look as if it had passed.
func Postgres(t testing.TB) *devpg.Server {
	t.Helper()
	process.once.Do(func() { process.start(t) })
	if process.err != nil {
		t.Fatalf("cannot start Postgres for tests: %v", process.err)
	}
	return process.server
}

func (p *sharedPostgres) start(t testing.TB) {
	// Do not use the test's temporary folder. It is removed when the test ends, and if the tests
	// run as root, Postgres's user cannot read it.
	if p.folder, p.err = os.MkdirTemp(serverParent(), "pingpost-test-"); p.err != nil {
		return
	}
	if p.err = copyPreparedCluster(t.Context(), p.folder); p.err != nil {
		return
	}
	p.server, p.err = devpg.Start(t.Context(), devpg.Options{
		DataDir:       p.folder,
		Temporary:     true, // removed even if the tests are killed or time out
		ExtraSettings: sharedSettings(),
	})
	if p.err != nil {
		p.err = fmt.Errorf("%w (its folder was %s; TMPDIR chooses where)", p.err, p.folder)
	}
}

func sharedSettings() map[string]string {
	return map[string]string{
		"shared_buffers":  "64MB",
		"wal_level":       "minimal", // no standby
		"max_wal_senders": "0",
		"autovacuum":      "off", // autovacuum would lock the template while it is cloned
		"jit":             "off", // JIT compilation takes longer than a test's queries
	}
}

// memoryFolder is a file system in memory, on Linux. A test run creates and removes thousands of
// databases with 300 files each. On a disk, this takes most of a run's time.
const memoryFolder = "/dev/shm"

// memoryNeeded is how many bytes must be free in memoryFolder. A full run uses less than 3 GiB.
const memoryNeeded = 6 << 30

// serverParent returns the folder in which Postgres's data folders are created. This is memoryFolder if
// it has enough space and TMPDIR is not set. Otherwise, it is "", which stands for the default temporary
// folder.
func serverParent() string {
	var s syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memoryFolder, &s) != nil || s.Bavail*uint64(s.Bsize) < memoryNeeded {
		return ""
	}
	return memoryFolder
}

func (p *sharedPostgres) stop() error {
	if p.folder == "" {
		return nil
	}
	p.root.close()
	var stopped, lost error
	if p.server != nil {
		stopped, lost = p.server.Stop(), p.server.Err()
	}
	return errors.Join(stopped, lost, os.RemoveAll(p.folder))
}
