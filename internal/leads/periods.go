package leads

import (
	"context"
	"slices"
	"time"

	"github.com/pingpost/pingpost/internal/postgres"
)

// periods divides a period into the periods for which a search should read leads, one after the other,
// until it has found enough. They are in descending order, or in ascending order if up is true. Each
// contains a window of partitions.
func (o *Reader) periods(ctx context.Context, from, until time.Time, up bool) (parts []postgres.Period, err error) {
	// The partitions of the coming weeks are empty, so they are only read together with the newest one.
	within := postgres.Period{From: from, Until: until}
	if now := o.clock.Now(); now.Before(until) {
		within.Until = now
	}
	partitions, err := postgres.Partitions(ctx, o.db.Pool, "leads", within)
	if err != nil {
		return nil, postgres.Translate(err)
	}
	if up {
		slices.Reverse(partitions)
	}
	left := postgres.Period{From: from, Until: until}
	windows := postgres.Windows(partitions)
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
