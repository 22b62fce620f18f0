package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	// pingTimeout limits how long a starting node waits for the database before it answers pings from
	// the snapshot.
	pingTimeout = 5 * time.Second
	loadEvery   = time.Second
	// firstCountTimeout limits how long a starting node may take to count today's leads for the caps.
	// The count usually takes milliseconds. Until it succeeds, the node quotes prices to partners that
	// have reached their cap.
	firstCountTimeout = time.Second
)

// load checks the database and loads the data that pings and posts need. After an error, load can be
// called again.
func (a *App) load(ctx context.Context) error {
	if err := a.inspect(ctx); err != nil {
		return err
	}
	if err := a.publishShipped(ctx); err != nil {
		return err
	}
	creating, cancelCreating := context.WithTimeout(ctx, partitionsTimeout)
	defer cancelCreating()
	if err := a.ensurePartitions(creating); err != nil {
		return fmt.Errorf("creating partitions: %w", err)
	}
	if err := a.ensureEvidenceKey(ctx); err != nil {
		return fmt.Errorf("creating the key for evidence packs: %w", err)
	}
	if err := a.watcher.Load(ctx); err != nil {
		return fmt.Errorf("loading partners, prices and roles: %w", err)
	}
	// A node that is already running continues without the secrets that it cannot decrypt. A node
	// that is starting exits instead, because the likely cause is a wrong setting.
	if unread := a.directory.Get().UnreadableSecrets(); len(unread) > 0 {
		return unreadableSecrets(unread)
	}
	first, cancel := context.WithTimeout(ctx, firstCountTimeout)
	defer cancel()
	_ = a.caps.Count(first) // caps take effect when a count succeeds; Run logs failures
	check, cancelCheck := context.WithTimeout(ctx, pingTimeout)
	defer cancelCheck()
	a.checkWrappingKeys(check)
	a.tryCommit(ctx)
	a.checkPartitions(ctx)
	a.loaded.Store(true)
	return nil
}

func unreadableSecrets(unread []string) error {
	return fmt.Errorf("cannot decrypt %s: PINGPOST_PLATFORM_KEYS must contain every key that sealed them. "+
		"If a key is lost, revoke its secrets (pingpost secret revoke) and create new ones", firstFew(unread))
}

// inspect returns an error if the node cannot use the database, or if its database role has more rights
// than a node may have.
func (a *App) inspect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	state, err := a.db.Inspect(ctx)
	if rejected, ok := errors.AsType[*postgres.Err](err); ok && (rejected.SQLState != "" || !rejected.Temporary()) {
		return fmt.Errorf("the database cannot be used: %w", err)
	}
	if err != nil {
		return fmt.Errorf("the database does not respond: check database.url and that Postgres is running: %w", err)
	}
	if err := state.CheckSchema(); err != nil {
		return err
	}
	if state.OwnsTables {
		return fmt.Errorf("the role %q owns tables or is a superuser, so it can bypass its grants: use the role pingpost_app (see docs/how-to/deploy.md)",
			state.Role)
	}
	if state.Schema.IsNewer() {
		a.log.Warn("the schema is newer than this program, which works with it", "schema", state.Schema.Version)
	}
	return nil
}

// isRetryable reports whether the method load may succeed if it is called again after this error. A
// configuration error is not retryable.
func isRetryable(err error) bool { return postgres.Temporary(err) }

// awaitDatabase calls the method load until it succeeds, and then returns true. It returns false if ctx
// ends or if an error is not retryable. Such an error also stops the node.
func (a *App) awaitDatabase(ctx context.Context) bool {
	tick := time.NewTicker(loadEvery)
	defer tick.Stop()
	var failure failurelog.State
	for !a.loaded.Load() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		err := a.load(ctx)
		switch {
		case err == nil:
			a.log.Info("the database is available; posts are served")
		case ctx.Err() != nil:
			return false
		case !isRetryable(err):
			a.failed <- err
			return false
		case failure.Due(err.Error(), clock.System{}.Now()):
			a.log.Warn("still waiting for the database", "error", err)
		}
		a.expireSnapshot()
	}
	return true
}

func (a *App) followPrimaries(ctx context.Context) { a.db.FollowPrimaries(ctx, a.log) }

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
