// Package snapshot keeps rarely changing data in memory. Every node has the new data within a
// second of a change, and readers need no lock.
//
// With every change, a database trigger increments a version and sends a NOTIFY, so that nodes
// reload the data immediately. A NOTIFY can be lost, so each node also reads the version every
// 500 ms and after each reconnection.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// Channel is the channel to which the triggers in the database send a NOTIFY.
const Channel = "pingpost_snapshot"

const (
	pollEvery      = 500 * time.Millisecond
	reloadTimeout  = 10 * time.Second
	reconnectAfter = 250 * time.Millisecond
)

// Holder contains the current value of one snapshot.
type Holder[T any] struct {
	name    string
	load    func(context.Context) (*T, error)
	current atomic.Pointer[T]
	version int64 // used only by Load and the watcher's goroutine
	expired atomic.Bool
}

// New returns a holder for the snapshot with the given name in the table snapshot_versions. The holder
// calls load to read the value.
func New[T any](name string, load func(context.Context) (*T, error)) *Holder[T] {
	return &Holder[T]{name: name, load: load}
}

// Get returns the current value, or nil before the first load.
func (h *Holder[T]) Get() *T { return h.current.Load() }

// Restore sets the current value to one that was saved before a restart. If the parameter value is nil,
// Restore removes the current value. The first load replaces the restored value. Call Restore only
// before the watcher runs.
func (h *Holder[T]) Restore(value *T) {
	h.current.Store(value)
	h.version = restored
}

// restored is the version of a restored value. The database never has this version.
const restored = -1

// Expire makes the watcher load the value again, even if its version has not changed.
func (h *Holder[T]) Expire() { h.expired.Store(true) }

// Name returns the snapshot's name in the table snapshot_versions.
func (h *Holder[T]) Name() string { return h.name }

// refresh loads the value if its version has changed. The caller must read the version before refresh
// reads the data, so that the next poll detects a change that is made in between.
func (h *Holder[T]) refresh(ctx context.Context, version int64) (bool, error) {
	expired := h.expired.Swap(false)
	if version == h.version && h.current.Load() != nil && !expired {
		return false, nil
	}
	value, err := h.load(ctx)
	if err != nil {
		h.expired.Store(true)
		return false, err
	}
	h.current.Store(value)
	h.version = version
	return true, nil
}

// Follower is the interface through which a Watcher reloads a Holder, whatever the type of its value.
type Follower interface {
	Name() string
	refresh(ctx context.Context, version int64) (bool, error)
}

// Watcher reloads snapshots when their versions in the database change.
type Watcher struct {
	pool      *pgxpool.Pool
	log       *slog.Logger
	followers []Follower
	nudge     chan struct{}
	current   atomic.Bool
	listening atomic.Bool
}

// NewWatcher returns a Watcher that keeps the given snapshots up to date.
func NewWatcher(pool *pgxpool.Pool, log *slog.Logger, followers ...Follower) *Watcher {
	return &Watcher{pool: pool, log: log, followers: followers, nudge: make(chan struct{}, 1)}
}

// Current reports whether the last Load succeeded.
func (w *Watcher) Current() bool { return w.current.Load() }

// Listening reports whether the database can send notifications.
func (w *Watcher) Listening() bool { return w.listening.Load() }

// Load reads the versions and reloads the values that have changed. If a value cannot be loaded,
// the old value stays in use and the other values are still loaded. The service calls Load once when
// it starts. After that, Run calls it.
func (w *Watcher) Load(ctx context.Context) error {
	err := w.load(ctx)
	w.current.Store(err == nil)
	return err
}

func (w *Watcher) load(ctx context.Context) error {
	rows, err := w.pool.Query(ctx, `SELECT name, version FROM snapshot_versions`)
	if err != nil {
		return readingVersions(err)
	}
	versions := map[string]int64{}
	var name string
	var version int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error {
		versions[name] = version
		return nil
	}); err != nil {
		return readingVersions(err)
	}
	var failed error
	for _, f := range w.followers {
		changed, err := f.refresh(ctx, versions[f.Name()])
		failed = errors.Join(failed, err)
		if changed {
			w.log.Info("snapshot loaded", "snapshot", f.Name(), "version", versions[f.Name()])
		}
	}
	return failed
}

func readingVersions(err error) error {
	return fmt.Errorf("reading snapshot versions: %w", postgres.Translate(err))
}

// Run reloads changed values until ctx ends. While the database is unavailable, the last values stay in use. Run logs
// the failures that failurelog.State selects, and logs when values can be loaded again.
func (w *Watcher) Run(ctx context.Context) {
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		w.listen(ctx)
	}()
	defer func() { <-listening }()

	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var failure failurelog.State
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.nudge:
		}
		bounded, cancel := context.WithTimeout(ctx, reloadTimeout)
		err := w.Load(bounded)
		cancel()
		switch {
		case err == nil && failure.End():
			w.log.Info("snapshots can be refreshed again")
		case err != nil && ctx.Err() == nil && failure.Due(err.Error(), clock.System{}.Now()):
			w.log.Warn("cannot refresh snapshots, using the last values", "error", err.Error())
		}
	}
}

// listen wakes the watcher for each notification. It reconnects until ctx ends.
func (w *Watcher) listen(ctx context.Context) {
	for ctx.Err() == nil {
		w.listenOnce(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(reconnectAfter):
		}
	}
}

func (w *Watcher) listenOnce(ctx context.Context) {
	pooled, err := w.pool.Acquire(ctx)
	if err != nil {
		return
	}
	// Take the connection out of the pool, so that the pool can open another one.
	conn := pooled.Hijack()
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(bounded) //nolint:errcheck // the connection is no longer used
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		return
	}
	w.listening.Store(true)
	defer w.listening.Store(false)
	for {
		w.wake()
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return
		}
	}
}

func (w *Watcher) wake() {
	select {
	case w.nudge <- struct{}{}:
	default: // a wake-up is already pending and will read everything
	}
}
