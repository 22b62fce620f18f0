// Package snapshot keeps read-mostly data in memory, the same on every node
// within a second of a change, and readable without a lock.
//
// A trigger in the database raises a version number and sends a NOTIFY with
// every change. The NOTIFY makes a reload prompt; the number, read every 500 ms
// and after each reconnection, makes it certain: a NOTIFY has no replay.
package snapshot

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrVersions stands for pgx's own error, which names host and user.
var ErrVersions = errors.New("the versions of the snapshots cannot be read: the database does not answer")

// Channel is the NOTIFY channel of the schema's triggers.
const Channel = "pingpost_snapshot"

const (
	pollEvery      = 500 * time.Millisecond
	reloadTimeout  = 10 * time.Second
	reconnectAfter = 250 * time.Millisecond
)

// Holder holds the newest loaded value of one kind.
type Holder[T any] struct {
	name    string
	load    func(context.Context) (*T, error)
	current atomic.Pointer[T]
	version int64 // touched by Load and the watcher's one goroutine only
}

// New names the row of snapshot_versions to follow and how to load the value.
func New[T any](name string, load func(context.Context) (*T, error)) *Holder[T] {
	return &Holder[T]{name: name, load: load}
}

// Get returns the current value; nil before the first load.
func (h *Holder[T]) Get() *T { return h.current.Load() }

// Restore sets a value from before a restart, or nil to drop it, until the first
// load replaces it. It is for a Holder whose watcher does not run yet.
func (h *Holder[T]) Restore(value *T) {
	h.current.Store(value)
	h.version = restored
}

// restored is the version of a restored value: none in the database.
const restored = -1

// Name is the row of snapshot_versions.
func (h *Holder[T]) Name() string { return h.name }

// refresh loads when the version differs from the loaded one. The version was
// read before the data: a change in between is caught by the next poll.
func (h *Holder[T]) refresh(ctx context.Context, version int64) (bool, error) {
	if version == h.version && h.current.Load() != nil {
		return false, nil
	}
	value, err := h.load(ctx)
	if err != nil {
		return false, err
	}
	h.current.Store(value)
	h.version = version
	return true, nil
}

// Follower is a Holder of any type.
type Follower interface {
	Name() string
	refresh(ctx context.Context, version int64) (bool, error)
}

// Watcher reloads followers when their numbers change.
type Watcher struct {
	pool      *pgxpool.Pool
	log       *slog.Logger
	followers []Follower
	nudge     chan struct{}
	current   atomic.Bool
}

// NewWatcher follows the given holders.
func NewWatcher(pool *pgxpool.Pool, log *slog.Logger, followers ...Follower) *Watcher {
	return &Watcher{pool: pool, log: log, followers: followers, nudge: make(chan struct{}, 1)}
}

// Current reports whether the last Load succeeded.
func (w *Watcher) Current() bool { return w.current.Load() }

// Load reads the versions once and reloads what changed. One that cannot be
// loaded keeps its last value and does not hold up the others. The service calls
// it before it starts to listen; Run calls it from then on.
func (w *Watcher) Load(ctx context.Context) error {
	err := w.load(ctx)
	w.current.Store(err == nil)
	return err
}

func (w *Watcher) load(ctx context.Context) error {
	rows, err := w.pool.Query(ctx, `SELECT name, version FROM snapshot_versions`)
	if err != nil {
		return ErrVersions
	}
	versions := map[string]int64{}
	var name string
	var version int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &version}, func() error {
		versions[name] = version
		return nil
	}); err != nil {
		return ErrVersions
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

// Run follows until ctx ends. A database that is away leaves the last values in
// force; it is reported once, and again when it is back.
func (w *Watcher) Run(ctx context.Context) {
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		w.listen(ctx)
	}()
	defer func() { <-listening }()

	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	failing := false
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
		if err != nil && ctx.Err() == nil && !failing {
			w.log.Warn("snapshots are not refreshed; the last values stay in force", "error", err.Error())
		} else if err == nil && failing {
			w.log.Info("snapshots are refreshed again")
		}
		failing = err != nil
	}
}

// listen turns notifications into nudges and reconnects for ever.
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
	// Hijacked, so that the listener does not hold one of the pool's places.
	conn := pooled.Hijack()
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(bounded) //nolint:errcheck // the connection is given up
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		return
	}
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
	default: // one is pending already, and it reads everything
	}
}
