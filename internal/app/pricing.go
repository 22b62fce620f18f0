package app

import (
	"context"
	"fmt"
	"time"
)

// publishEvery is short because rate cards are scheduled to the second.
const publishEvery = time.Second

// publishDue publishes the scheduled rate card at the scheduled time. All nodes try, and the first one
// succeeds.
func (a *App) publishDue(ctx context.Context) {
	a.every(ctx, publishEvery, "publishing the scheduled rate card", a.prices.ReleaseDue)
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
