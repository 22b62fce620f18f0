package partners

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/postgres"
)

const (
	// countEvery leaves a count time to finish before the last one is a second old.
	countEvery = 500 * time.Millisecond
	// countTimeout bounds a count on the client's side. The server's own timeout does
	// not help when the network in between is gone.
	countTimeout = 6 * time.Second
)

// Caps knows which partners have delivered their leads of the UTC day. Its count is at
// most a second old. A quote issued before the cap was reached is honoured, so a quoted
// price always holds.
type Caps struct {
	db     *postgres.DB
	clock  clock.Clock
	log    *slog.Logger
	foldAt int
	last   atomic.Pointer[capCount]
}

// capCount is the count of one UTC day. It does not apply to any other day, so a
// database that is away at midnight leaves no partner capped.
type capCount struct {
	at      time.Time // when it was made
	day     time.Time // its midnight; zero before the first count
	reached map[uuid.UUID]bool
}

func dayOf(at time.Time) time.Time { return at.Truncate(24 * time.Hour) }

// NewCaps returns Caps without a count: until the first one no cap applies.
func NewCaps(db *postgres.DB, c clock.Clock, log *slog.Logger) *Caps {
	caps := &Caps{db: db, clock: c, log: log, foldAt: foldAt}
	caps.last.Store(&capCount{at: c.Now()})
	return caps
}

// Reached reports whether the partner may be priced no further leads today.
func (c *Caps) Reached(p *Partner) bool {
	if p.Price == nil || p.Price.DailyLeadCap == 0 {
		return false
	}
	last := c.last.Load()
	return last.day.Equal(dayOf(c.clock.Now())) && last.reached[p.ID]
}

// Age is how old the count is, or how long there has been none.
func (c *Caps) Age() time.Duration { return c.clock.Now().Sub(c.last.Load().at) }

// Run counts until ctx ends. While counting fails, the last count applies until its day
// is over.
func (c *Caps) Run(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	failing := false
	for {
		err := c.Count(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			c.log.Warn("daily caps are not counted; the last count applies until midnight UTC", "age",
				c.Age().String(), "error", err)
		} else if err == nil && failing {
			c.log.Info("daily caps are counted again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Count finds the partners that have delivered their leads of the UTC day. When that
// took reading many ledger entries, it adds them to daily_lead_counts, which keeps the
// next counts cheap.
func (c *Caps) Count(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	for {
		now := c.clock.Now()
		partners, entries, err := reachedCaps(ctx, c.db.Pool, dayOf(now), rollUpLimit+1)
		if err != nil {
			return err
		}
		behind := entries > rollUpLimit
		if !behind {
			reached := make(map[uuid.UUID]bool, len(partners))
			for _, p := range partners {
				reached[p] = true
			}
			c.last.Store(&capCount{now, dayOf(now), reached})
		}
		if entries < c.foldAt {
			return nil
		}
		switch added, err := foldLeadCounts(ctx, c.db.Pool, dayOf(now)); {
		case err != nil:
			return err
		case !added && behind:
			return errFoldBehind
		case !added:
			return nil
		}
	}
}
