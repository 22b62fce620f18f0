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
	// looks is how often a node's memory is read while it holds out.
	looks = 60
	// mayGrow is by how much the last quarter's median may exceed the second's: what
	// is kept for each minute, partner or connection has its bounds by then.
	mayGrow = 1.1
	// heapNoise and goroutineNoise are what a few requests under way make.
	heapNoise      = 4 << 20
	goroutineNoise = 20
)

// A node that serves for long holds no more at the end than soon after its start:
// neither memory nor goroutines.
func TestNothingGrows(t *testing.T) {
	t.Parallel()
	p := startPlatform(t)
	n, c := p.nodes[0], p.client()
	var delivered atomic.Int64
	for i := range 8 {
		client := p.client()
		if i == 0 { // one that opens a connection for each request
			client.http = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		}
		c.goOn(func() { client.everyKind(t, n, &delivered) })
	}
	t.Cleanup(c.end)
	heap, goroutines := make([]float64, looks), make([]float64, looks)
	for i := range looks {
		pause(*hold / looks)
		heap[i], goroutines[i] = n.holds(t)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d leads in %s", delivered.Load(), *hold)
	for what, series := range map[string]struct {
		values []float64
		noise  float64
	}{"bytes of live heap": {heap, heapNoise}, "goroutines": {goroutines, goroutineNoise}} {
		early, late := median(series.values[looks/4:looks/2]), median(series.values[3*looks/4:])
		t.Logf("%s: %.0f in the second quarter, %.0f in the last", what, early, late)
		if late > mayGrow*early+series.noise {
			t.Errorf("%s grew: %.0f", what, series.values)
		}
	}
}

// everyKind is a lead, a retry of it, a rejected ping, and a post with a
// wrong signature, in a client's usual pace.
func (c *clients) everyKind(t *testing.T, n *node, delivered *atomic.Int64) {
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
		if got := c.status(n, body, want.secret); got != want.status {
			t.Errorf("answered %d, want %d", got, want.status)
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

// holds reads the node's live heap, after a collection, and its goroutines.
func (n *node) holds(t *testing.T) (heap, goroutines float64) {
	t.Helper()
	n.read(t, "/debug/pprof/heap?gc=1", func(io.Reader) {})
	n.read(t, "/metrics", func(r io.Reader) {
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
		t.Errorf("%s does not tell what it holds", n.name)
	}
	return heap, goroutines
}

func (n *node) read(t *testing.T, path string, read func(io.Reader)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), back)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("OPS")+path, nil)
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
