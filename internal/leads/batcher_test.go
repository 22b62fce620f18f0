package leads

import (
	"context"
	"testing"
	"time"
)

// deliver returns as soon as the post's result is ready. It does not store more groups first,
// because under constant load it might never return.
func TestAwaitPrefersReadyResult(t *testing.T) {
	t.Parallel()
	for range 100 {
		committed := 0
		g := newBatcher(groupSize, writers, func(context.Context, []*waitingDelivery) { committed++ })
		ctx, cancel := context.WithTimeout(t.Context(), DeliverTimeout)
		deadline, _ := ctx.Deadline()
		mine := g.join(t.Context(), &Delivery{}, deadline)
		g.take()
		mine.stored = true
		close(mine.done)
		g.join(t.Context(), &Delivery{}, deadline) // another post, while both writers are free
		if got := g.await(ctx, mine); !got.stored || committed > 0 {
			t.Fatalf("got stored %t after committing %d groups, want true after 0", got.stored, committed)
		}
		if len(g.slots) > 0 {
			t.Fatal("a slot was not freed")
		}
		cancel()
	}
}

// A post with too little time left gets an error and does not shorten the time for its group.
func TestLatePostDoesNotShortenItsGroup(t *testing.T) {
	t.Parallel()
	near, far := time.Now().Add(time.Second), time.Now().Add(time.Minute)
	var stored []*waitingDelivery
	g := newBatcher(10, 1, func(ctx context.Context, group []*waitingDelivery) {
		stored = group
		if deadline, _ := ctx.Deadline(); !deadline.Equal(far) {
			t.Errorf("got deadline %s for the group, want %s", deadline, far)
		}
		for _, w := range group {
			w.result = result{stored: true}
		}
	})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late, other := g.join(over, &Delivery{}, near), g.join(t.Context(), &Delivery{}, far)
	if r := g.await(t.Context(), other); r.err != nil || !r.stored {
		t.Errorf("the other post: got %+v, want stored", r)
	}
	if r := g.await(t.Context(), late); r.err != errBusy {
		t.Errorf("the late post: got %+v, want errBusy", r)
	}
	if len(stored) != 1 || stored[0] != other {
		t.Errorf("stored %d posts, want only the other one", len(stored))
	}
}
