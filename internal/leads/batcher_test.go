package leads

import (
	"context"
	"testing"
	"time"
)

// A post whose answer is there takes it. It does not go on to store what others
// have brought since: under load that would never end.
func TestAwaitPrefersReadyResult(t *testing.T) {
	for range 100 {
		committed := 0
		g := newBatcher(groupSize, writers, func(context.Context, []*waitingDelivery) { committed++ })
		ctx, cancel := context.WithTimeout(t.Context(), DeliverTimeout)
		deadline, _ := ctx.Deadline()
		mine := g.join(t.Context(), &Delivery{}, deadline)
		g.take()
		mine.stored = true
		close(mine.done)
		g.join(t.Context(), &Delivery{}, deadline) // another's, and both writers are free
		if got := g.await(ctx, mine); !got.stored || committed > 0 {
			t.Fatalf("stored %t, after %d groups of others", got.stored, committed)
		}
		if len(g.slots) > 0 {
			t.Fatal("a writer's place is lost")
		}
		cancel()
	}
}

// A post that has too little time left is answered and does not take time from the
// others of its group.
func TestALatePostDoesNotShortenItsGroup(t *testing.T) {
	t.Parallel()
	near, far := time.Now().Add(time.Second), time.Now().Add(time.Minute)
	var stored []*waitingDelivery
	g := newBatcher(10, 1, func(ctx context.Context, group []*waitingDelivery) {
		stored = group
		if deadline, _ := ctx.Deadline(); !deadline.Equal(far) {
			t.Errorf("the group ends at %s, want %s", deadline, far)
		}
		for _, w := range group {
			w.result = result{stored: true}
		}
	})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late, other := g.join(over, &Delivery{}, near), g.join(t.Context(), &Delivery{}, far)
	if r := g.await(t.Context(), other); r.err != nil || !r.stored {
		t.Errorf("the other post: %+v", r)
	}
	if r := g.await(t.Context(), late); r.err != errBusy {
		t.Errorf("the late post: %+v", r)
	}
	if len(stored) != 1 || stored[0] != other {
		t.Errorf("%d posts were stored, want the other one alone", len(stored))
	}
}
