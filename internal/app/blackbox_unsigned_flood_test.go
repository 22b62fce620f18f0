package app_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/config"
)

// TestUnsignedFloodDoesNotSpendAPartnersBudget floods a partner's address with
// unsigned posts from one client while the partner delivers as many signed posts
// as its budget holds (D28).
func TestUnsignedFloodDoesNotSpendAPartnersBudget(t *testing.T) {
	t.Parallel()
	const signedPosts, budget, flood = 20, 10, 500
	n := startNode(t, func(n *node) {
		n.cfg.Limits = config.Defaults(config.Serve).Limits
		n.cfg.Limits.PostsPerPartner, n.cfg.Limits.UnsignedPostsPerAddress = signedPosts, budget
	})
	for _, c := range []struct {
		p        partner
		rejected int // an unsigned `{}` within the client's budget
	}{
		{n.required, http.StatusUnauthorized},
		{n.reportOnly, http.StatusBadRequest},
		{n.off, http.StatusBadRequest},
	} {
		t.Run(string(c.p.SigningMode), func(t *testing.T) {
			bodies := make([]string, signedPosts)
			for i := range bodies {
				bodies[i] = n.freshPost(t, c.p)
			}
			n.hands.Advance(time.Second) // a new window for every budget
			var statuses counts
			n.stores(t, stored{signedPosts, signedPosts, signedPosts, signedPosts}, func() {
				var senders sync.WaitGroup
				for range 10 {
					senders.Go(func() {
						for range flood / 10 {
							_, a := n.send(t, request{path: c.p.base() + "/api/lead/post", body: "{}"})
							statuses.add(a.status)
						}
					})
				}
				for _, body := range bodies {
					if a := n.post(t, c.p, body); a.status != http.StatusOK {
						t.Errorf("signed post: %d %s", a.status, a.body)
					}
				}
				senders.Wait()
			})
			if got := statuses.of(c.rejected); got != budget {
				t.Errorf("%d unsigned posts got %d, want %d", got, c.rejected, budget)
			}
			if got := statuses.of(http.StatusTooManyRequests); got != flood-budget {
				t.Errorf("%d unsigned posts got 429, want %d", got, flood-budget)
			}
		})
	}
}

// counts counts values from several goroutines.
type counts struct {
	mu sync.Mutex
	n  map[int]int
}

func (c *counts) add(value int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[int]int{}
	}
	c.n[value]++
}

func (c *counts) of(value int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[value]
}
