package api

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/test/node"
)

// TestUnsignedFloodDoesNotUseUpPartnersLimit sends many unsigned posts from one client to a partner's
// base URL. At the same time, the partner sends as many signed posts as its limit allows (decision 28).
func TestUnsignedFloodDoesNotUseUpPartnersLimit(t *testing.T) {
	t.Parallel()
	const signedPosts, budget, flood = 20, 10, 500
	n := node.Start(t, func(n *node.Node) {
		n.Config.Limits = config.Defaults(config.Serve).Limits
		n.Config.Limits.PostsPerPartner, n.Config.Limits.UnsignedPostsPerAddress = signedPosts, budget
	})
	for _, c := range []struct {
		p        node.Partner
		rejected int // the status of an unsigned `{}` while the client is within its limit
	}{
		{n.Required, http.StatusUnauthorized},
		{n.ReportOnly, http.StatusBadRequest},
		{n.Off, http.StatusBadRequest},
	} {
		t.Run(string(c.p.SigningMode), func(t *testing.T) {
			bodies := make([]string, signedPosts)
			for i := range bodies {
				bodies[i] = n.FreshPost(t, c.p)
			}
			n.Manual.Advance(time.Second) // starts a new window for every limit
			var statuses counts
			n.Stores(t, node.StoredLeads(signedPosts), func() {
				var senders sync.WaitGroup
				for range 10 {
					senders.Go(func() {
						for range flood / 10 {
							_, a := n.Send(t, node.Request{Path: c.p.Base() + "/api/lead/post", Body: "{}"})
							statuses.add(a.Status)
						}
					})
				}
				for _, body := range bodies {
					if a := n.Post(t, c.p, body); a.Status != http.StatusOK {
						t.Errorf("signed post: got %d %s", a.Status, a.Body)
					}
				}
				senders.Wait()
			})
			if got := statuses.of(c.rejected); got != budget {
				t.Errorf("got %d unsigned posts with %d, want %d", got, c.rejected, budget)
			}
			if got := statuses.of(http.StatusTooManyRequests); got != flood-budget {
				t.Errorf("got %d unsigned posts with 429, want %d", got, flood-budget)
			}
		})
	}
}

// counts contains how many times each value occurred. Several goroutines can add values at the same time.
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
