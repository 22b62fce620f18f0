package app

import (
	"context"
	"fmt"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
)

// Both are looked for this often: a schedule is kept to the second, and a person waits
// for a replay.
const (
	publishEvery = time.Second
	replayEvery  = time.Second
)

// publishDue brings the scheduled rate card into force at its time. All nodes look;
// the first one does it.
func (a *App) publishDue(ctx context.Context) {
	a.every(ctx, publishEvery, "publishing the scheduled rate card", a.prices.ReleaseDue)
}

// replay works on the replays that were asked for.
func (a *App) replay(ctx context.Context) {
	a.every(ctx, replayEvery, "a replay", func(ctx context.Context) (bool, error) {
		did, err := a.prices.ReplayNext(ctx)
		if f := apperr.As(err); f != nil { // nothing is broken: somebody wants another one
			a.log.Info("a replay was given up", "why", f.Message)
			return did, nil //nolint:nilerr // logged above, and no failure
		}
		return did, err
	})
}

// every does a piece of work again and again, at once while there is more of it, and
// logs the first of failures in a row.
func (a *App) every(ctx context.Context, pause time.Duration, what string, do func(context.Context) (bool, error)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	failing := false
	for {
		more, err := do(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			a.log.Error(what+" failed and is tried again", "error", postgres.Translate(err))
		}
		failing = err != nil
		if more && !failing {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// publishShipped publishes the shipped rate card in a database that has no rate card.
func (a *App) publishShipped(ctx context.Context) error {
	published, err := a.prices.PublishShipped(ctx)
	if err != nil {
		return fmt.Errorf("publishing the shipped rate card: %w", err)
	}
	if published {
		a.log.Info("the shipped rate card is version 1")
	}
	return nil
}
