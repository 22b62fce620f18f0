package partners

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/snapshot"
	"github.com/pingpost/pingpost/internal/store"
)

const (
	countEvery = time.Second
	// countWithin bounds a count from this side: the server's own time-out does
	// not help when the network between has gone.
	countWithin = 6 * time.Second
)

// Caps knows which partners have delivered their leads of the UTC day. It is at
// most a second old; a quote issued before the cap was reached is honoured, so
// that a price that was told always holds.
type Caps struct {
	db        *store.DB
	clock     clock.Clock
	directory *snapshot.Holder[Directory]
	log       *slog.Logger
	counts    atomic.Pointer[dayCounts]
}

// dayCounts are the leads of one UTC day. On any other it says nothing: a database
// that is away at midnight must not leave partners capped.
type dayCounts struct {
	day   time.Time // its midnight
	leads map[uuid.UUID]int
}

func dayOf(at time.Time) time.Time { return at.Truncate(24 * time.Hour) }

// NewCaps counts for the directory's capped partners.
func NewCaps(db *store.DB, c clock.Clock, directory *snapshot.Holder[Directory], log *slog.Logger) *Caps {
	caps := &Caps{db: db, clock: c, directory: directory, log: log}
	caps.counts.Store(&dayCounts{})
	return caps
}

// Reached reports whether the partner may be priced no further leads today.
func (c *Caps) Reached(p *Partner) bool {
	if p.Price == nil || p.Price.DailyLeadCap == 0 {
		return false
	}
	counts := c.counts.Load()
	return counts.day.Equal(dayOf(c.clock.Now())) && counts.leads[p.ID] >= p.Price.DailyLeadCap
}

// Run counts until ctx ends. While the database is away the last counts hold,
// until their day is over.
func (c *Caps) Run(ctx context.Context) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		if err := c.Count(ctx); err != nil && ctx.Err() == nil {
			c.log.Debug("caps are not counted: the database does not answer", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Count reads the UTC day's leads of the capped partners. Lead ids are UUIDv7 by the
// service's clock: the day's first id bounds the index scan.
func (c *Caps) Count(ctx context.Context) error {
	capped := c.directory.Get().capped()
	day := dayOf(c.clock.Now())
	counts := make(map[uuid.UUID]int, len(capped))
	if len(capped) > 0 {
		ctx, cancel := context.WithTimeout(ctx, countWithin)
		defer cancel()
		rows, err := c.db.Pool.Query(ctx, `SELECT partner_id, count(*) FROM leads
			WHERE partner_id = ANY ($1) AND id >= $2 AND NOT sandbox GROUP BY partner_id`, capped, firstOf(day))
		if err != nil {
			return store.Translate(err)
		}
		defer rows.Close()
		for rows.Next() {
			var partner uuid.UUID
			var n int
			if err := rows.Scan(&partner, &n); err != nil {
				return store.Translate(err)
			}
			counts[partner] = n
		}
		if err := rows.Err(); err != nil {
			return store.Translate(err)
		}
	}
	c.counts.Store(&dayCounts{day, counts})
	return nil
}

// firstOf is the smallest UUIDv7 of a moment.
func firstOf(at time.Time) uuid.UUID { return id.NewV7(at, [10]byte{}) }
