package soak

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/testkit"
)

// tricklers are connections on which requests come a byte at a time.
const tricklers = 500

// Hundreds of connections that trickle, over headers and over bodies, cost the
// others nothing: every delivery succeeds, and none is slow. They end by themselves.
func slowClients(t *testing.T, p *platform) {
	n, c := p.nodes[0], p.client()
	var all sync.WaitGroup
	var mu sync.Mutex
	open, ended := 0, 0
	for i := range tricklers {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url("API"), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		open++
		all.Go(func() {
			defer conn.Close()
			text := "POST /api/lead/ping HTTP/1.1\r\nHost: trickle\r\n"
			if i%2 == 0 {
				text += "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
			}
			_, err := conn.Write([]byte(text))
			for err == nil {
				pause(200 * time.Millisecond)
				_, err = conn.Write([]byte(" "))
			}
			mu.Lock()
			defer mu.Unlock()
			ended++
		})
	}
	var took []time.Duration
	for range 300 {
		start := time.Now()
		tx, err := c.ping(n)
		if err != nil {
			t.Fatal(err)
		}
		if a, _, _, err := c.post(n, postBody(tx, 1)); err != nil || a.outcome != stored {
			t.Fatalf("a post: %s, %v", a.outcome, err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("beside %d slow connections a ping and its post took %s, 99 of 100 at most %s", open, took[len(took)/2],
		took[len(took)*99/100])
	if slowest := took[len(took)*99/100]; slowest > 500*time.Millisecond {
		t.Errorf("one of 100 deliveries took %s or more", slowest)
	}
	testkit.Eventually(t, back, "the slow connections are ended", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return ended == tricklers
	})
	all.Wait()
}
