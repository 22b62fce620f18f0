package soak

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// samples is how many times a node's memory is measured.
	samples = 60
	// maxGrowth limits the ratio of the median in the last quarter to the median in the second
	// quarter. By the start of the second quarter, everything that a node stores for each minute,
	// partner or connection has reached its maximum size.
	maxGrowth = 1.1
	// heapNoise and goroutineNoise allow for the requests that may be in progress during a measurement.
	heapNoise      = 4 << 20
	goroutineNoise = 20
)

// TestMemoryAndGoroutinesDoNotGrow sends requests to a node for a long time. It compares the node's
// memory and goroutines at the end with those soon after the start.
func TestMemoryAndGoroutinesDoNotGrow(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, setup{prepare: createShortPartitions})
	n, c := p.nodes[0], p.client()
	var delivered, unavailable atomic.Int64
	for i := range 8 {
		client := p.client()
		if i == 0 { // one client opens a new connection for each request
			client.http = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		}
		c.repeat(func() { client.sendEachKind(t, n, &delivered, &unavailable) })
	}
	t.Cleanup(c.end)
	heap, goroutines := make([]float64, samples), make([]float64, samples)
	for i := range samples {
		pause(*hold / samples)
		heap[i], goroutines[i] = n.usage(t)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d leads in %s; %d responses were 503", delivered.Load(), *hold, unavailable.Load())
	for what, series := range map[string]struct {
		values []float64
		noise  float64
	}{"bytes of live heap": {heap, heapNoise}, "goroutines": {goroutines, goroutineNoise}} {
		early, late := median(series.values[samples/4:samples/2]), median(series.values[3*samples/4:])
		t.Logf("%s: %.0f in the second quarter, %.0f in the last", what, early, late)
		if late > maxGrowth*early+series.noise {
			t.Errorf("%s grew: %.0f", what, series.values)
		}
	}
}

// sendEachKind sends a post with an invalid signature, a post that delivers a lead, a retry of that
// post, and a ping that is rejected. It then pauses as a typical client would.
//
// Like a partner, it sends a post again if the response is 503.
func (c *clients) sendEachKind(t *testing.T, n *node, delivered, unavailable *atomic.Int64) {
	tx, err := c.ping(n)
	if err != nil {
		t.Error(err)
		return
	}
	body := postBody(tx, 1)
	for _, want := range []struct {
		secret string
		status int
	}{{"an unknown secret", http.StatusUnauthorized}, {c.p.secret, http.StatusOK}, {c.p.secret, http.StatusOK}} {
		got := c.status(n, body, want.secret)
		for tries := 1; got == http.StatusServiceUnavailable && tries < 10; tries++ { // the machine is busy
			unavailable.Add(1)
			pause(time.Second)
			got = c.status(n, body, want.secret)
		}
		if got != want.status {
			t.Errorf("got status %d, want %d", got, want.status)
		}
	}
	resp, err := c.http.Post(n.url("API")+"/api/lead/ping", "application/json",
		strings.NewReader(`{"industry":"no-such-trade","postcode":"1"}`))
	if err != nil {
		t.Error(err)
		return
	}
	resp.Body.Close()
	delivered.Add(1)
	pause(20 * time.Millisecond)
}

// usage returns the size of the node's live heap after a garbage collection, and the number of goroutines.
func (n *node) usage(t *testing.T) (heap, goroutines float64) {
	t.Helper()
	n.read(t, "PROFILE", "/debug/pprof/heap?gc=1", func(io.Reader) {})
	n.read(t, "OPS", "/metrics", func(r io.Reader) {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), " ")
			for metric, to := range map[string]*float64{
				"go_memstats_heap_alloc_bytes": &heap,
				"go_goroutines":                &goroutines,
			} {
				if name != metric {
					continue
				}
				var err error
				if *to, err = strconv.ParseFloat(value, 64); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if heap == 0 || goroutines == 0 {
		t.Errorf("%s does not report its heap and goroutines", n.name)
	}
	return heap, goroutines
}

func (n *node) read(t *testing.T, listener, path string, read func(io.Reader)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url(listener)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("%s: %s", path, resp.Status))
	}
	read(resp.Body)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
