package snapshot_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// soon limits how long a test waits for a change. Only a change that is lost takes this long.
const soon = time.Minute

// names is the value of a snapshot in these tests.
type names struct{ first string }

// follower is a holder of names. Tests can make loading fail.
type follower struct {
	*snapshot.Holder[names]
	loads   atomic.Int64
	failing atomic.Bool
}

var errBroken = errors.New("loading the value failed")

func newFollower(pool *pgxpool.Pool, snapshotName, sql string) *follower {
	f := &follower{}
	f.Holder = snapshot.New(snapshotName, func(ctx context.Context) (*names, error) {
		f.loads.Add(1)
		if f.failing.Load() {
			return nil, errBroken
		}
		var n names
		err := pool.QueryRow(ctx, sql).Scan(&n.first)
		return &n, err
	})
	return f
}

// watched is a running watcher with its own database.
type watched struct {
	db                *testkit.Database
	proxy             *testkit.Proxy
	directory, prices *follower
	log               *testkit.Log
	stop              func() // returns when the watcher has ended
}

func watch(t *testing.T) *watched {
	t.Helper()
	w := &watched{}
	w.db, w.proxy = testkit.NewDatabaseBehind(t)
	w.directory = newFollower(w.db.Pool, "directory", `SELECT name FROM partners WHERE slug = 'platform'`)
	w.prices = newFollower(w.db.Pool, "rate_card", `SELECT coalesce(max(note), '') FROM rate_cards`)
	logger, log := testkit.NewLog()
	w.log = log
	watcher := snapshot.NewWatcher(w.db.Pool, logger, w.directory, w.prices)
	if w.directory.Get() != nil {
		t.Error("got a value before the first load")
	}
	if err := watcher.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { watcher.Run(ctx) })
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(w.stop)
	return w
}

// listening waits for a LISTEN connection whose process id is not other, and returns its process
// id.
func (w *watched) listening(t *testing.T, other int) (pid int) {
	t.Helper()
	testkit.Eventually(t, soon, "a connection listens", func() bool {
		pid = testkit.Value[int](t, w.db, `SELECT coalesce(max(pid), 0) FROM pg_stat_activity
			WHERE datname = current_database() AND query = 'LISTEN pingpost_snapshot' AND state = 'idle' AND pid <> $1`, other)
		return pid != 0
	})
	return pid
}

// rename changes the platform partner's name without going through the watcher.
func (w *watched) rename(t *testing.T, to string) {
	t.Helper()
	w.db.Exec(t, `UPDATE partners SET name = $1 WHERE slug = 'platform'`, to)
}

func (w *watched) sees(t *testing.T, name string) {
	t.Helper()
	testkit.Eventually(t, soon, "the snapshot contains "+name, func() bool { return w.directory.Get().first == name })
}
