package app_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/testkit"
)

// longestAnswer is what no answer of the partner API may exceed (D27).
const longestAnswer = 5 * time.Second

// TestPostsToAFrozenDatabase freezes the database at each moment of a post. Posts
// that wait for their turn are answered as early as those that the database holds.
func TestPostsToAFrozenDatabase(t *testing.T) {
	t.Parallel()
	for name, freeze := range map[string]func(way *cable, transaction string){
		"before the statement": func(way *cable, _ string) { way.hold() },
		"before the answer":    func(way *cable, transaction string) { way.passedOn(transaction, way.hold) },
		"before the read-back": func(way *cable, transaction string) { way.passedOn(transaction, way.severAndHold) },
		"and then cut":         func(way *cable, transaction string) { way.passedOn(transaction, way.sever) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var way *cable
			n := startNode(t, throughCable(t, &way), func(n *node) { n.cfg.Limits.PostConcurrency = 4 })
			bodies := make([]string, 12) // 4 at the database, the others at the gate
			for i := range bodies {
				bodies[i] = n.freshPost(t, n.required)
			}
			decode[delivered](t, n.post(t, n.required, n.freshPost(t, n.required))) // a connection is open

			var first struct{ TransactionID string }
			if err := json.Unmarshal([]byte(bodies[0]), &first); err != nil {
				t.Fatal(err)
			}
			freeze(way, first.TransactionID)
			var all sync.WaitGroup
			send := func(body string) {
				all.Go(func() {
					started := clock.System{}.Now()
					a := n.post(t, n.required, body)
					if took := (clock.System{}).Now().Sub(started); took >= longestAnswer {
						t.Errorf("answered %d after %s", a.status, took)
					}
					if a.status != http.StatusOK {
						n.unavailable(t, a, notSaved)
					}
				})
			}
			for _, body := range bodies {
				send(body)
			}
			all.Wait()

			way.mend()
			testkit.Eventually(t, 10*time.Second, "the node is ready again", func() bool { return n.readiness(t, "/readyz").Ready })
			for _, body := range bodies {
				decode[delivered](t, n.post(t, n.required, body))
			}
			if want := len(bodies) + 1; n.stored(t) != (stored{want, want, want, want}) {
				t.Errorf("stored %+v, want %d of each", n.stored(t), want)
			}
		})
	}
}
