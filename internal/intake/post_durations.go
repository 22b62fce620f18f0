package intake

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// maxQueuedDurations limits the number of durations in memory between two writes.
const maxQueuedDurations = 20_000

// postDuration is how long a post took that delivered a lead.
type postDuration struct {
	request uuid.UUID
	took    time.Duration
}

// addDuration queues durations. Those for which there is no room are dropped.
func (t *Traffic) addDuration(all ...postDuration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	room := min(len(all), maxQueuedDurations-len(t.durations))
	t.durations = append(t.durations, all[:room]...)
	t.dropped.Add(int64(len(all) - room))
}

func (t *Traffic) writeDurations(ctx context.Context, all []postDuration) error {
	if len(all) == 0 {
		return nil
	}
	return t.inTransaction(ctx, func(tx pgx.Tx) error {
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"post_durations"}, []string{"request_id", "duration_us"},
			pgx.CopyFromSlice(len(all), func(i int) ([]any, error) {
				return []any{all[i].request, microseconds(all[i].took)}, nil
			}))
		return err
	})
}
