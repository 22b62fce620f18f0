package faults

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/test/node"
)

// TestDrainingNodeClosesConnections checks that a draining node answers requests normally, but adds
// Connection: close. If it closed connections without this header, a proxy could lose a request.
func TestDrainingNodeClosesConnections(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) { n.Config.HTTP.DrainDelay = 10 * time.Second })
	requests := []struct {
		*node.Connection
		send   node.RawRequest
		status int
	}{
		{n.Dial(t), node.RawPing(node.MinimalPing), http.StatusOK},
		{n.Dial(t), n.RawSigned(n.Required, n.FreshPost(t, n.Required)), http.StatusOK},
		{n.Dial(t), node.RawPing("{"), http.StatusBadRequest},
		{n.Dial(t), node.RawRequest{Path: "/" + node.Marker, Body: "{}"}, http.StatusNotFound},
	}
	for _, r := range requests {
		if status, closes := sendAndCheckClose(t, n, r.Connection, node.RawPing(node.MinimalPing)); status != http.StatusOK || closes {
			t.Fatalf("before draining: got %d, closes %t", status, closes)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	testkit.Eventually(t, node.Patience, "the node is draining",
		func() bool { return n.Readiness(t, "/readyz/ping").Checks["draining"] != "" })
	for _, r := range requests {
		if status, closes := sendAndCheckClose(t, n, r.Connection, r.send); status != r.status || !closes {
			t.Errorf("%s: got %d, closes %t; want %d, closes true", r.send.Path, status, closes, r.status)
		}
	}
	select {
	case err := <-stopped:
		t.Errorf("the node stopped before it had answered all requests: %v", err)
	default:
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	n.CheckStopped(t)
}

// sendAndCheckClose sends a request and reports whether the response contains Connection: close.
func sendAndCheckClose(t *testing.T, n *node.Node, l *node.Connection, w node.RawRequest) (status int, closes bool) {
	t.Helper()
	l.Send(w.String())
	resp, err := http.ReadResponse(l.In, &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	n.Record(t, w.Path, node.Answer{Status: resp.StatusCode, Header: resp.Header})
	return resp.StatusCode, resp.Close
}
