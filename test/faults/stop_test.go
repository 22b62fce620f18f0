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

	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/test/node"
)

// TestStopLosesNothing stops a node under load, as SIGTERM does. The load keeps
// to what a load balancer does: it sends where /readyz allows. Then no request
// fails, every lead that was acknowledged is stored, and every ping recorded
// (the last is checked of every node).
func TestStopLosesNothing(t *testing.T) {
	t.Parallel()
	n := node.Start(t, node.OnMachineClock, func(n *node.Node) { n.Config.HTTP.DrainDelay = time.Second })
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
				quickDelivery(t, n)
				posts.Add(1)
			}
		})
	}
	load.Go(func() {
		for ready.Load() {
			ready.Store(n.Readiness(t, "/readyz").Ready)
		}
	})
	testkit.Eventually(t, node.Patience, "there is load", func() bool { return posts.Load() > 50 })
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	load.Wait()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	n.CheckStopped(t)
	if got, want := n.Stored(t), int(posts.Load()); got != (node.StoredLeads(want)) {
		t.Errorf("%d posts were acknowledged, stored %+v", want, got)
	}
}

// quickDelivery is a ping and its post, which must both succeed. It leaves the
// OpenAPI document aside, which costs more than the requests do.
func quickDelivery(t *testing.T, n *node.Node) {
	_, ping := n.Send(t, node.Request{Path: n.Required.Base() + "/api/lead/ping", Body: node.MinimalPing})
	body := node.WithTransaction(node.MinimalPost, node.Decode[node.Quoted](t, ping).TransactionID)
	_, post := n.Send(t, n.Signed(n.Required, body))
	node.Decode[node.Delivered](t, post)
}

// TestStopWaits stops a node while requests are half sent: they are finished
// after the listeners have closed, and answered as ever.
func TestStopWaits(t *testing.T) {
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
	testkit.Eventually(t, node.Patience, "the node takes no connection any more", func() bool {
		conn, err := net.Dial("tcp", n.APIAddr())
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if a := idle.Receive(t, http.MethodPost); a.Status != 0 {
		t.Errorf("the idle connection: %d", a.Status)
	}
	n.CheckReadiness(t, "/readyz", "draining")
	n.CheckReadiness(t, "/readyz/ping", "draining")
	n.Get(t, n.Ops+"/healthz")
	n.Stores(t, node.OneLead, func() {
		for _, h := range halves {
			h.Send(h.rest)
			if a := n.ReadAnswer(t, h.Connection, h.send); a.Status != http.StatusOK {
				t.Errorf("%s: answered %d %s", h.send.Path, a.Status, a.Body)
			}
		}
	})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	n.CheckStopped(t)
}

// TestStopCutsOff stops a node whose client never finishes: after the grace it
// logs it and still stops.
func TestStopCutsOff(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.HTTP.ShutdownGrace = 200 * time.Millisecond })
	l := n.Dial(t)
	sendHalf(t, l, node.RawPing(node.MinimalPing))
	err := n.Stop(context.Background())
	if err == nil || !strings.Contains(err.Error(), "the api listener cut off requests") {
		t.Errorf("stopping says %v", err)
	}
	if a := l.Receive(t, http.MethodPost); a.Status != 0 && a.Status != http.StatusBadRequest {
		t.Errorf("answered %d", a.Status)
	}
	n.CheckStopped(t)
}

// TestStopLeavesNothingRunning counts what a node had running. It is not
// parallel: another test's goroutines would be taken for the node's.
func TestStopLeavesNothingRunning(t *testing.T) {
	testkit.NewDatabase(t).Close() // starts what stays for the other tests
	before := goleak.IgnoreCurrent()
	n := node.Start(t)
	n.Deliver(t, n.Required, node.MinimalPost)
	n.Do(t, node.Request{Path: "/api/lead/ping", Body: "{"})
	n.Get(t, n.Ops+"/metrics")
	n.Get(t, n.Admin+"/login")
	n.Shutdown(t)
	n.DB.Close()
	n.Root.Close(context.Background())
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
