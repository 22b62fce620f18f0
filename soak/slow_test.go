package soak

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// slowConnections is the number of connections that send their requests one byte at a time.
const slowConnections = 500

// slowClients checks that leads are delivered while slow connections are open, and that the node closes the
// slow connections. Half of them send the headers slowly, and the other half send the body slowly. It logs how
// long a delivery takes, which should be at most 500 ms (p99).
func slowClients(t *testing.T, p *platform) {
	n, c := p.nodes[0], p.client()
	var all sync.WaitGroup
	var mu sync.Mutex
	closed := 0
	for i := range slowConnections {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.url("API"), "http://"))
		if err != nil {
			t.Fatal(err)
		}
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
			closed++
		})
	}
	var took []time.Duration
	for range 300 {
		start := time.Now()
		tx, err := c.ping(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.store(n, tx); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	t.Logf("with %d slow connections, a ping and its post took %s (p50) and %s (p99)", slowConnections, p50, p99)
	testkit.Eventually(t, recovery, "the node closes the slow connections", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return closed == slowConnections
	})
	all.Wait()
}
