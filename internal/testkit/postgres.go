// Package testkit is what tests share: here, one real Postgres for a test
// process. Only tests import it.
package testkit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/pingpost/pingpost/internal/devpg"
)

// process is package state, which production code may not have: between
// TestMain and a test the testing package passes nothing, so the server that
// the first test starts and Main stops has to be found here.
var process sharedPostgres

type sharedPostgres struct {
	once      sync.Once
	folder    string
	server    *devpg.Server
	err       error
	root      rootPool
	databases atomic.Int64 // made so far
}

// statement runs a statement as the superuser, in the database that is always there.
func (p *sharedPostgres) statement(t testing.TB, sql string) {
	t.Helper()
	p.root.exec(t, p.server.SuperuserURL("postgres"), sql)
}

// Main is the TestMain of a package whose tests use Postgres. It ends the
// process with the tests' result, and stops the Postgres that they started.
func Main(m *testing.M) {
	devpg.RunIfChild()
	code := m.Run()
	if err := process.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the tests' Postgres:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Postgres is the test process's Postgres, started for the first test that asks.
// The package's TestMain must be Main. A test that cannot have it fails: one that
// was skipped would pass for tested.
func Postgres(t testing.TB) *devpg.Server {
	t.Helper()
	process.once.Do(func() { process.start(t) })
	if process.err != nil {
		t.Fatalf("no Postgres for the tests: %v", process.err)
	}
	return process.server
}

func (p *sharedPostgres) start(t testing.TB) {
	// Not the test's own temporary folder: that ends with the test, and is closed
	// to the user that Postgres runs as when the tests run as root.
	if p.folder, p.err = os.MkdirTemp(serverParent(), "pingpost-test-"); p.err != nil {
		return
	}
	if p.err = copyPreparedCluster(t.Context(), p.folder); p.err != nil {
		return
	}
	p.server, p.err = devpg.Start(t.Context(), devpg.Options{
		DataDir:       p.folder,
		Temporary:     true, // also when the tests are killed, or run out of time
		ExtraSettings: sharedSettings(),
	})
	if p.err != nil {
		p.err = fmt.Errorf("%w (its folder was %s; TMPDIR chooses where)", p.err, p.folder)
	}
}

func sharedSettings() map[string]string {
	return map[string]string{
		"shared_buffers":  "64MB",
		"wal_level":       "minimal", // nobody follows the log
		"max_wal_senders": "0",
		"autovacuum":      "off", // it would hold on to a template that is being cloned
		"jit":             "off", // compiling takes longer than a test's queries
	}
}

// memoryFolder is a file system in memory, on Linux. A test run makes and removes thousands
// of databases of 300 files each; on a disk, most of its time goes to that.
const memoryFolder = "/dev/shm"

// memoryNeeded is how many bytes must be free in memoryFolder. A whole run uses less than 3 GiB.
const memoryNeeded = 6 << 30

// serverParent returns the folder for data folders of Postgres: memoryFolder if it has room
// and TMPDIR is not set, otherwise "", the default folder for temporary files.
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
