package app_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pingpost/pingpost/internal/testkit"
)

// TestStopLosesNothing stops a node under load, as SIGTERM does. The load keeps
// to what a load balancer does: it sends where /readyz allows. Then no request
// fails, every lead that was acknowledged is stored, and every ping recorded
// (the last is checked of every node).
func TestStopLosesNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t, onMachineClock, func(n *node) { n.cfg.HTTP.DrainDelay = time.Second })
	var ready atomic.Bool
	ready.Store(true)
	var posts atomic.Int64
	var load sync.WaitGroup
	defer load.Wait()
	defer ready.Store(false) // whatever ends the test ends the load
	for range 8 {
		load.Go(func() {
			defer ready.Store(false)
			for ready.Load() {
				n.quickDelivery(t)
				posts.Add(1)
			}
		})
	}
	load.Go(func() {
		for ready.Load() {
			ready.Store(n.readiness(t, "/readyz").Ready)
		}
	})
	testkit.Eventually(t, patience, "there is load", func() bool { return posts.Load() > 50 })
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	load.Wait()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	n.over(t)
	if got, want := n.stored(t), int(posts.Load()); got != (stored{want, want, want, want}) {
		t.Errorf("%d posts were acknowledged, stored %+v", want, got)
	}
}

// quickDelivery is a ping and its post, which must both succeed. It leaves the
// OpenAPI document aside, which costs more than the requests do.
func (n *node) quickDelivery(t *testing.T) {
	_, ping := n.send(t, request{path: n.required.base() + "/api/lead/ping", body: leastPing})
	body := withTransaction(leastPost, decode[quoted](t, ping).TransactionID)
	_, post := n.send(t, n.signed(n.required, body))
	decode[delivered](t, post)
}

// TestStopWaits stops a node while requests are half sent: they are finished
// after the listeners have closed, and answered as ever.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	type half struct {
		*line
		send wire
		rest string
	}
	var halves []half
	for _, w := range []wire{plain(leastPing), n.signedWire(n.required, n.freshPost(t, n.required))} {
		l := n.dial(t)
		halves = append(halves, half{l, w, l.underWay(t, w)})
	}
	idle := n.dial(t)
	idle.write(plain(leastPing).String())
	n.answered(t, idle, plain(leastPing))

	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	testkit.Eventually(t, patience, "the node takes no connection any more", func() bool {
		conn, err := net.Dial("tcp", n.APIAddr())
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if a := idle.read(t, http.MethodPost); a.status != 0 {
		t.Errorf("the idle connection: %d", a.status)
	}
	n.isReady(t, "/readyz", but(postChecks, "draining", "the node is stopping"))
	n.isReady(t, "/readyz/ping", but(pingChecks, "draining", "the node is stopping"))
	n.get(t, n.ops+"/healthz")
	n.stores(t, oneLead, func() {
		for _, h := range halves {
			h.write(h.rest)
			if a := n.answered(t, h.line, h.send); a.status != http.StatusOK {
				t.Errorf("%s: answered %d %s", h.send.path, a.status, a.body)
			}
		}
	})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	n.over(t)
}

// TestStopCutsOff stops a node whose client never finishes: after the grace it
// says so and goes all the same.
func TestStopCutsOff(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) { n.cfg.HTTP.ShutdownGrace = 200 * time.Millisecond })
	l := n.dial(t)
	l.underWay(t, plain(leastPing))
	err := n.Stop(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the api listener cut off requests") {
		t.Errorf("stopping says %v", err)
	}
	if a := l.read(t, http.MethodPost); a.status != 0 && a.status != http.StatusBadRequest {
		t.Errorf("answered %d", a.status)
	}
	n.over(t)
}

// TestStopLeavesNothingRunning counts what a node had running. It is not
// parallel: another test's goroutines would be taken for the node's.
func TestStopLeavesNothingRunning(t *testing.T) {
	testkit.Postgres(t) // stays for the other tests
	before := goleak.IgnoreCurrent()
	n := startNode(t)
	n.deliver(t, n.required, leastPost)
	n.do(t, request{path: "/api/lead/ping", body: "{"})
	n.get(t, n.ops+"/metrics")
	n.get(t, n.admin+"/login")
	n.stop(t)
	n.db.Close()
	n.root.Close(context.Background())
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	for _, addr := range []string{n.APIAddr(), n.AdminAddr(), n.OpsAddr()} {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("%s still listens", addr)
		}
	}
}
