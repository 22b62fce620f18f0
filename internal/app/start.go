package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/snapshot"
)

const (
	// pingTimeout bounds the wait for the database's first answer: pings could be
	// answered from the snapshot.
	pingTimeout = 5 * time.Second
	loadEvery   = time.Second
	// firstCountTimeout bounds the wait of a starting node for its first count of capped
	// partners' leads. Usually that takes milliseconds, and a restart quotes no partner
	// that has reached its cap.
	firstCountTimeout = time.Second
)

// load checks the database and reads from it what the node serves. It may be
// called again after an error.
func (a *App) load(ctx context.Context) error {
	if err := a.inspect(ctx); err != nil {
		return err
	}
	if err := a.publishShipped(ctx); err != nil {
		return err
	}
	if err := a.ensurePartitions(ctx); err != nil {
		return fmt.Errorf("making the partitions of pings: %w", err)
	}
	if err := a.watcher.Load(ctx); err != nil {
		return fmt.Errorf("loading partners, prices and roles: %w", err)
	}
	// A running node carries on without a secret that it cannot read. At the start
	// the cause is wrong platform keys, which waiting does not fix.
	if unread := a.directory.Get().UnreadableSecrets(); len(unread) > 0 {
		return fmt.Errorf("%s cannot be read: PINGPOST_PLATFORM_KEYS must hold every key that wrote them; a secret written under a key that is lost has to be revoked (pingpost secret revoke) and replaced",
			firstFew(unread))
	}
	first, cancel := context.WithTimeout(ctx, firstCountTimeout)
	defer cancel()
	_ = a.caps.Count(first) // no caps apply until a count succeeds, and Run reports that
	if state := a.leadKeysState(ctx); state != stateOK {
		a.log.Error("not every stored lead can be read", "why", state)
	}
	a.tryCommit(ctx)
	a.loaded.Store(true)
	return nil
}

// inspect refuses a database that the service must not use.
func (a *App) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	state, err := a.db.Inspect(ctx)
	if rejected, ok := errors.AsType[*postgres.Err](err); ok && rejected.SQLState != "" {
		return fmt.Errorf("the database cannot be used: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the database does not answer: check database.url and that Postgres is running: %w", err)
	}
	if err := state.CheckSchema(); err != nil {
		return err
	}
	if state.OwnsTables {
		return fmt.Errorf("the role %q owns tables or is a superuser, so that it could undo what its grants forbid: serve as pingpost_app (docs/operations.md)",
			state.Role)
	}
	return nil
}

// isRetryable reports whether an error of load ends by waiting for the database. A
// mistake in the configuration does not.
func isRetryable(err error) bool {
	return postgres.Temporary(err) || errors.Is(err, snapshot.ErrVersions)
}

// awaitDatabase loads until that succeeds, and reports whether it did. An error
// that waiting does not end, ends the node.
func (a *App) awaitDatabase(ctx context.Context) bool {
	tick := time.NewTicker(loadEvery)
	defer tick.Stop()
	logged := ""
	for !a.loaded.Load() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		err := a.load(ctx)
		switch {
		case err == nil:
			a.log.Info("the database answers: posts are served")
		case ctx.Err() != nil:
			return false
		case !isRetryable(err):
			a.failed <- err
			return false
		case err.Error() != logged:
			logged = err.Error()
			a.log.Warn("still waiting for the database", "error", logged)
		}
		a.expireSnapshot()
	}
	return true
}

// followPrimaries keeps the pool on the newest primary.
func (a *App) followPrimaries(ctx context.Context) { a.db.FollowPrimaries(ctx, a.log) }

// onceLoaded answers 503 until the database was loaded. The console has nothing
// to show before.
func (a *App) onceLoaded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.loaded.Load() {
			w.Header().Set("Retry-After", "5")
			http.Error(w, "The database is not available. Try again in a few seconds.", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	})
}
