package leads

import (
	"context"
	"testing"
)

// A post whose answer is there takes it. It does not go on to store what others
// have brought since: under load that would never end.
func TestAnAnswerThatIsThereIsTaken(t *testing.T) {
	for range 100 {
		committed := 0
		g := newGroup(groupSize, writers, func(context.Context, []*waiting) { committed++ })
		ctx, cancel := context.WithTimeout(t.Context(), Within)
		deadline, _ := ctx.Deadline()
		mine := g.join(&Delivery{}, deadline)
		g.take()
		mine.stored = true
		close(mine.done)
		g.join(&Delivery{}, deadline) // another's, and both writers are free
		if got := g.await(ctx, mine); !got.stored || committed > 0 {
			t.Fatalf("stored %t, after %d groups of others", got.stored, committed)
		}
		if len(g.lead) > 0 {
			t.Fatal("a writer's place is lost")
		}
		cancel()
	}
}
