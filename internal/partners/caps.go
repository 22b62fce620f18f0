package partners

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

const (
	// countEvery is the interval between counts of leads. It is short enough that a new count finishes
	// before the previous one is a second old.
	countEvery = 500 * time.Millisecond
	// countTimeout is the client-side time limit for a count. The database server's time limit does not
	// help if the network fails.
	countTimeout = 6 * time.Second
)

// Caps tracks which partners have reached their daily cap. Its data is normally less than a second old.
// Quotes that were issued before the cap was reached are still honoured.
type Caps struct {
	db     *postgres.DB
	clock  clock.Clock
	log    *slog.Logger
	foldAt int
	last   atomic.Pointer[capCount]
}

// capCount contains the partners that have reached their cap on one UTC day. It is ignored on the next
// day, so that no partner stays capped if the database is down at midnight.
type capCount struct {
	at      time.Time // when the count was made
	day     time.Time // midnight UTC; zero before the first count
	reached map[uuid.UUID]bool
}

func dayOf(at time.Time) time.Time { return at.Truncate(24 * time.Hour) }

// NewCaps returns a Caps without a count. No cap applies until the first count finishes.
func NewCaps(db *postgres.DB, c clock.Clock, log *slog.Logger) *Caps {
	caps := &Caps{db: db, clock: c, log: log, foldAt: foldAt}
	caps.last.Store(&capCount{at: c.Now()})
	return caps
}

// Reached reports whether the partner has reached its daily cap.
func (c *Caps) Reached(p *Partner) bool {
	if p.Price == nil || p.Price.DailyLeadCap == 0 {
		return false
	}
	last := c.last.Load()
	return last.day.Equal(dayOf(c.clock.Now())) && last.reached[p.ID]
}

// Age returns the age of the latest count, or the time since NewCaps if there is no count yet.
func (c *Caps) Age() time.Duration { return c.clock.Now().Sub(c.last.Load().at) }

// Run calls Count twice a second until ctx is cancelled. If Count fails, the previous count stays in use
// until the UTC day ends.
func (c *Caps) Run(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	var failure failurelog.State
	for {
		err := c.Count(ctx)
		switch {
		case err == nil && failure.End():
			c.log.Info("daily caps can be counted again")
		case err != nil && ctx.Err() == nil && failure.Due(err.Error(), clock.System{}.Now()):
			c.log.Warn("cannot count daily caps, using the last count until midnight UTC", "age",
				c.Age().String(), "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Count finds the partners that have reached their daily cap. If it has to read many ledger entries, it
// adds them to the table daily_lead_counts, so that later counts read fewer entries.
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
