package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
)

// Each change wakes the watcher immediately. Listen does not poll, so only a notification can do this.
func TestChangesAreNotified(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	logger, _ := testkit.NewLog()
	w := snapshot.NewWatcher(d.Pool, logger)
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { w.Listen(ctx) })
	defer listening.Wait()
	defer cancel()
	awaitWake := func(after string) {
		t.Helper()
		select {
		case <-w.Woken():
		case <-time.After(soon):
			t.Fatalf("the watcher was not woken after %s", after)
		}
	}
	awaitWake("the connection was opened")
	for i := range 6 {
		name := fmt.Sprint("platform ", i)
		d.Exec(t, `UPDATE partners SET name = $1 WHERE slug = 'platform'`, name)
		awaitWake("a change to " + name)
	}
}

// Changes are also found by polling the version.
func TestChangesAreSeenWithoutNotifications(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.listening(t, 0)
	w.db.Exec(t, `CREATE OR REPLACE FUNCTION bump_snapshot() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS
		$$ BEGIN UPDATE snapshot_versions SET version = version + 1 WHERE name = TG_ARGV[0]; RETURN NULL; END $$`)
	for _, name := range []string{"one", "two"} {
		w.rename(t, name)
		w.sees(t, name)
	}
}

func TestChangesAreSeenWhenTheListenerIsKilled(t *testing.T) {
	t.Parallel()
	w := watch(t)
	pid := w.listening(t, 0)
	for _, name := range []string{"one", "two"} {
		w.db.Exec(t, `SELECT pg_terminate_backend($1)`, pid)
		w.rename(t, name)
		w.sees(t, name)
		pid = w.listening(t, pid) // it reconnects
	}
}

// The last value stays in use while the database is unavailable. The loss is logged each time its cause changes,
// and the recovery once.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	const gone, back = "cannot refresh snapshots", "snapshots can be refreshed again"
	w := watch(t)
	pid := w.listening(t, 0)
	w.proxy.Down()
	w.rename(t, "changed during the outage")
	testkit.Eventually(t, soon, "the loss is logged", func() bool { return w.log.Count(gone) > 0 })
	if got := w.directory.Get().first; got != "Platform" {
		t.Errorf("the snapshot contains %s while the database is unavailable", got)
	}
	w.proxy.Up()
	w.sees(t, "changed during the outage")
	testkit.Eventually(t, soon, "the recovery is logged", func() bool { return w.log.Count(back) == 1 })
	w.listening(t, pid)
	w.stop()
	if w.log.Count(back) != 1 {
		t.Errorf("the recovery is logged more than once:\n%s", w.log)
	}
}

// Unchanged values are not reloaded.
func TestUnchangedValuesAreNotReloaded(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.db.Exec(t,
		`INSERT INTO rate_cards (id, version, state, author, note, created_at, updated_at, effective_at) VALUES (gen_random_uuid(), 1, 'published', 'someone', 'a note', now(), now(), now())`)
	testkit.Eventually(t, soon, "the rate card's note is loaded", func() bool { return w.prices.Get().first == "a note" })
	w.stop()
	if n := w.directory.loads.Load(); n != 1 {
		t.Errorf("directory loaded %d times, want 1", n)
	}
	if n := w.prices.loads.Load(); n != 2 {
		t.Errorf("prices loaded %d times, want 2", n)
	}
}

// If a value cannot be loaded, the old one stays in use and loading is retried. The other values are
// still loaded. For example, a broken directory must not block new prices.
func TestFailedLoadDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w := watch(t)
	w.directory.failing.Store(true)
	w.rename(t, "not loaded")
	w.db.Exec(t,
		`INSERT INTO rate_cards (id, version, state, author, note, created_at, updated_at, effective_at) VALUES (gen_random_uuid(), 1, 'published', 'someone', 'a note', now(), now(), now())`)
	testkit.Eventually(t, soon, "the rate card's note is loaded", func() bool { return w.prices.Get().first == "a note" })
	if got := w.directory.Get().first; got != "Platform" {
		t.Errorf("the failed snapshot contains %s", got)
	}
	testkit.Eventually(t, soon, "the failure is logged", func() bool { return w.log.Count(errBroken.Error()) == 1 })
	w.directory.failing.Store(false)
	w.sees(t, "not loaded")
}

func TestLoadReportsFailures(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	broken := newFollower(d.Pool, "directory", `SELECT name FROM partners`)
	broken.failing.Store(true)
	logger, _ := testkit.NewLog()
	if err := snapshot.NewWatcher(d.Pool, logger, broken).Load(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the error of the load function", err)
	}
	if broken.Get() != nil {
		t.Error("got a value although loading failed")
	}
	d.Close()
	away := testkit.Open(t, "postgres://someone:secret@127.0.0.1:1/none")
	for _, pool := range []*pgxpool.Pool{d.Pool, away.Pool} {
		err := snapshot.NewWatcher(pool, logger, broken).Load(t.Context())
		if !postgres.Temporary(err) || strings.Contains(err.Error(), "someone") {
			t.Errorf("got %v, want a temporary error without the user", err)
		}
	}
}

// The cause of a continuing failure is logged, and logged again when it changes.
func TestCausesAreLogged(t *testing.T) {
	t.Parallel()
	w := watch(t)
	for state, change := range map[string][2]string{
		"42501": {`REVOKE SELECT ON snapshot_versions FROM pingpost_app`, `GRANT SELECT ON snapshot_versions TO pingpost_app`},
		"42P01": {`ALTER TABLE snapshot_versions RENAME TO away`, `ALTER TABLE away RENAME TO snapshot_versions`},
	} {
		w.db.Exec(t, change[0])
		testkit.Eventually(t, soon, state+" is logged", func() bool { return w.log.Count("SQLSTATE "+state) == 1 })
		w.db.Exec(t, change[1])
	}
}

// Readers need no lock. The race detector checks this.
func TestConcurrentReads(t *testing.T) {
	w := watch(t)
	done, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for range 4 {
		readers.Go(func() {
			for done.Err() == nil {
				if w.directory.Get().first == "" {
					t.Error("got an incomplete value")
					return
				}
				runtime.Gosched() // let the watcher run
			}
		})
	}
	w.rename(t, "one")
	w.sees(t, "one")
}

// Run leaves no goroutine or connection behind, regardless of what it is doing when ctx ends.
func TestRunLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	testkit.NewDatabaseURLs(t) // starts the goroutines that all tests share
	before := goleak.IgnoreCurrent()
	for name, meanwhile := range map[string]func(*testing.T, *watched){
		"immediately":                func(*testing.T, *watched) {},
		"while it listens":           func(t *testing.T, w *watched) { w.listening(t, 0) },
		"while the database is down": func(_ *testing.T, w *watched) { w.proxy.Down() },
		"while all connections are in use": func(t *testing.T, w *watched) {
			pid := w.listening(t, 0)
			for range w.db.Pool.Config().MaxConns {
				conn, err := w.db.Pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(conn.Release)
			}
			w.db.Exec(t, `SELECT pg_terminate_backend($1)`, pid)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t)
			meanwhile(t, w)
			w.stop()
		})
	}
	testkit.AwaitNoLeaks(t, before)
}
