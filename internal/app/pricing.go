package app

import (
	"context"
	"fmt"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// publishEvery is short because rate cards are scheduled to the second.
const publishEvery = time.Second

// publishDue publishes the scheduled rate card at the scheduled time. All nodes try, and the first one
// succeeds.
func (a *App) publishDue(ctx context.Context) {
	a.every(ctx, publishEvery, "publishing the scheduled rate card", a.prices.ReleaseDue)
}

// every calls the function do until ctx ends. It pauses after each call that fails or that returns
// false, which means that no work is left. It logs failures as failurelog.State decides.
func (a *App) every(ctx context.Context, pause time.Duration, what string, do func(context.Context) (bool, error)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	var failure failurelog.State
	for {
		more, err := do(ctx)
		switch err = postgres.Translate(err); {
		case err == nil:
			failure.End()
			if more {
				continue
			}
		case ctx.Err() == nil && failure.Due(err.Error(), clock.System{}.Now()):
			a.log.Error(what+" failed, retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// publishShipped publishes the rate card that is included in pingpost. It does nothing if the database
// already has a rate card.
func (a *App) publishShipped(ctx context.Context) error {
	published, err := a.prices.PublishShipped(ctx)
	if err != nil {
		return fmt.Errorf("publishing the shipped rate card: %w", err)
	}
	if published {
		a.log.Info("published the shipped rate card as version 1")
	}
	return nil
}
