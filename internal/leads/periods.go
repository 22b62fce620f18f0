package leads

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// partitionsRefresh is how long a list of partitions is used before it is read again. Reading it takes
// longer than most searches.
const partitionsRefresh = time.Hour

// partitions caches the periods of the partitions of leads, newest first. The list may be out of date,
// because it only determines where a search divides its period into parts.
type partitions struct {
	mu     sync.Mutex
	readAt time.Time
	all    []postgres.Period
}

func (p *partitions) get(ctx context.Context, q postgres.Querier, now time.Time) (all []postgres.Period, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if age := now.Sub(p.readAt); age >= 0 && age < partitionsRefresh {
		return p.all, nil
	}
	if all, err = postgres.Partitions(ctx, q, "leads", postgres.Period{}); err != nil {
		return nil, postgres.Translate(err)
	}
	p.all, p.readAt = all, now
	return all, nil
}

// periods divides a period into parts. A search reads the leads of one part after the other until it has
// found enough. The parts are in descending order, or in ascending order if up is true.
func (r *Reader) periods(ctx context.Context, from, until time.Time, up bool) (parts []postgres.Period, err error) {
	now := r.clock.Now()
	all, err := r.partitions.get(ctx, r.db.Pool, now)
	if err != nil {
		return nil, err
	}
	var within []postgres.Period
	for _, p := range all {
		// The partitions of the coming weeks are empty. They are left out here, so the newest part
		// covers them.
		if p.Until.After(from) && p.From.Before(until) && p.From.Before(now) {
			within = append(within, p)
		}
	}
	if up {
		slices.Reverse(within)
	}
	left := postgres.Period{From: from, Until: until}
	windows := postgres.Windows(within)
	for _, window := range windows[:max(0, len(windows)-1)] {
		part, span := left, postgres.Span(window)
		if up {
			part.Until, left.From = span.Until, span.Until
		} else {
			part.From, left.Until = span.From, span.From
		}
		parts = append(parts, part)
	}
	return append(parts, left), nil
}
