package faults

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

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
)

// TestStopLosesNothing stops a node under load, as SIGTERM would. Like a load balancer, the clients send
// requests only while /readyz returns 200. No request may fail, and all acknowledged leads must be
// stored. CheckStopped also checks that all pings have been recorded.
func TestStopLosesNothing(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock, func(n *node.Node) { n.Config.HTTP.DrainDelay = 10 * time.Second })
	var ready atomic.Bool
	ready.Store(true)
	var posts atomic.Int64
	var load sync.WaitGroup
	defer load.Wait()
	defer ready.Store(false) // stops the load, even if the test fails
	for range 8 {
		load.Go(func() {
			defer ready.Store(false)
			for ready.Load() {
				quickDelivery(t, n)
				posts.Add(1)
			}
		})
	}
	testkit.Eventually(t, node.Patience, "leads are delivered", func() bool { return posts.Load() > 50 })
	load.Go(func() {
		for ready.Load() {
			ready.Store(n.Readiness(t, "/readyz").Ready)
		}
	})
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	load.Wait()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	n.CheckStopped(t)
	if got, want := n.Stored(t), int(posts.Load()); got != (node.StoredLeads(want)) {
		t.Errorf("%d posts were acknowledged, but %+v are stored", want, got)
	}
}

// quickDelivery sends a ping and then a post with its transactionId. Both must succeed. It does not
// check them against the OpenAPI document, because that takes longer than the requests themselves.
func quickDelivery(t *testing.T, n *node.Node) {
	_, ping := n.Send(t, node.Request{Path: n.Required.Base() + "/api/lead/ping", Body: node.MinimalPing})
	body := node.WithTransaction(node.MinimalPost, node.Decode[node.Quoted](t, ping).TransactionID)
	_, post := n.Send(t, n.Signed(n.Required, body))
	node.Decode[node.Delivered](t, post)
}

// TestStopWaitsForRequests stops a node when clients have sent only half of each of two requests. The node must close
// its listeners, but must still answer both requests.
func TestStopWaitsForRequests(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	type half struct {
		*node.Connection
		send node.RawRequest
		rest string
	}
	var halves []half
	for _, w := range []node.RawRequest{node.RawPing(node.MinimalPing), n.RawSigned(n.Required, n.FreshPost(t, n.Required))} {
		l := n.Dial(t)
		halves = append(halves, half{l, w, sendHalf(t, l, w)})
	}
	idle := n.Dial(t)
	idle.Send(node.RawPing(node.MinimalPing).String())
	n.ReadAnswer(t, idle, node.RawPing(node.MinimalPing))

	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	testkit.Eventually(t, node.Patience, "the node accepts no more connections", func() bool {
		conn, err := net.Dial("tcp", n.APIAddr())
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if a := idle.Receive(t, http.MethodPost); a.Status != 0 {
		t.Errorf("got %d on the idle connection, want it to be closed", a.Status)
	}
	n.AwaitReadiness(t, "/readyz", "draining")
	n.AwaitReadiness(t, "/readyz/ping", "draining")
	n.Get(t, n.Ops+"/healthz")
	n.Stores(t, node.OneLead, func() {
		for _, h := range halves {
			h.Send(h.rest)
			if a := n.ReadAnswer(t, h.Connection, h.send); a.Status != http.StatusOK {
				t.Errorf("%s: got %d %s, want 200", h.send.Path, a.Status, a.Body)
			}
		}
	})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	n.CheckStopped(t)
}

// TestStopCutsOffRequests stops a node while a client is sending a request that it never finishes.
// After the grace period, the node must stop with an error.
func TestStopCutsOffRequests(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.HTTP.ShutdownGrace = 200 * time.Millisecond })
	l := n.Dial(t)
	sendHalf(t, l, node.RawPing(node.MinimalPing))
	err := n.Stop(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the api listener cut off requests") {
		t.Errorf("stopping: got %v, want an error about the api listener", err)
	}
	if a := l.Receive(t, http.MethodPost); a.Status != 0 && a.Status != http.StatusBadRequest {
		t.Errorf("got %d, want 400 or a closed connection", a.Status)
	}
	n.CheckStopped(t)
}

// TestStopLeavesNothingRunning checks that no goroutines or listeners of a stopped node remain. It must
// not run in parallel with other tests, because it would find their goroutines.
func TestStopLeavesNothingRunning(t *testing.T) {
	testkit.NewDatabase(t).Close() // start the goroutines that all tests share
	before := goleak.IgnoreCurrent()
	n := node.Start(t)
	n.Deliver(t, n.Required, node.MinimalPost)
	n.Do(t, node.Request{Path: "/api/lead/ping", Body: "{"})
	n.Get(t, n.Ops+"/metrics")
	n.Get(t, n.Admin+"/login")
	n.Shutdown(t)
	n.DB.Close()
	n.Root.Close(context.Background())
	testkit.AwaitNoLeaks(t, before)
	for _, addr := range []string{n.APIAddr(), n.AdminAddr(), n.OpsAddr()} {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Errorf("%s still accepts connections", addr)
		}
	}
}
