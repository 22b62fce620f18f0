package app_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/testkit"
)

// TestADrainingNodeLetsGoOfItsClients answers requests as ever while a node is
// draining, and tells each client to open its next connection elsewhere: one that
// is merely closed under a proxy loses a request.
func TestADrainingNodeLetsGoOfItsClients(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) { n.cfg.HTTP.DrainDelay = 2 * time.Second })
	requests := []struct {
		*line
		send   wire
		status int
	}{
		{n.dial(t), plain(leastPing), http.StatusOK},
		{n.dial(t), n.signedWire(n.required, n.freshPost(t, n.required)), http.StatusOK},
		{n.dial(t), plain("{"), http.StatusBadRequest},
		{n.dial(t), wire{path: "/" + marker, body: "{}"}, http.StatusNotFound},
	}
	for _, r := range requests {
		if status, closes := n.lastOn(t, r.line, plain(leastPing)); status != http.StatusOK || closes {
			t.Fatalf("before: answered %d, closes %t", status, closes)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- n.Stop(context.Background()) }()
	testkit.Eventually(t, patience, "the node is draining", func() bool { return n.readiness(t, "/readyz/ping").Checks["draining"] != "" })
	for _, r := range requests {
		if status, closes := n.lastOn(t, r.line, r.send); status != r.status || !closes {
			t.Errorf("%s: answered %d, closes %t", r.send.path, status, closes)
		}
	}
	select {
	case err := <-stopped:
		t.Errorf("the node had stopped before the answers were all there: %v", err)
	default:
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	n.over(t)
}

// lastOn sends a request and reports whether its answer says that the connection
// takes no further one.
func (n *node) lastOn(t *testing.T, l *line, w wire) (status int, closes bool) {
	t.Helper()
	l.write(w.String())
	resp, err := http.ReadResponse(l.in, &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	n.note(t, w.path, answer{status: resp.StatusCode, header: resp.Header})
	return resp.StatusCode, resp.Close
}
