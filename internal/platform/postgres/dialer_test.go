package postgres

import (
	"context"
	"net"
	"testing"
)

// Each address has its own slots. A request to cancel a statement takes none, and a connection that is established or
// closed releases its slot.
func TestSlotsOfConnections(t *testing.T) {
	t.Parallel()
	p := &primaries{slots: map[string]chan struct{}{}, open: map[*link]Timeline{}}
	type dialer = func(ctx context.Context, network, address string) (net.Conn, error)
	dial := func(context.Context, string, string) (net.Conn, error) {
		conn, server := net.Pipe()
		t.Cleanup(func() { conn.Close(); server.Close() })
		return conn, nil
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	expect := func(what string, connect dialer, address string, free bool) net.Conn {
		t.Helper()
		ctx := t.Context()
		if !free {
			ctx = ended // otherwise, it would wait
		}
		conn, err := connect(ctx, "tcp", address)
		if (err == nil) != free {
			t.Fatalf("%s: got error %v, want a slot: %t", what, err, free)
		}
		return conn
	}
	var connects []dialer
	var conns []net.Conn
	for range connectsAtOnce {
		connect := p.dialer(dial)
		connects, conns = append(connects, connect), append(conns, expect("a free slot", connect, "a:1", true))
	}
	another := p.dialer(dial)
	expect("all slots are taken", another, "a:1", false)
	expect("another host", p.dialer(dial), "b:1", true)
	expect("a request to cancel a statement", connects[0], "a:1", true)
	expect("after the request to cancel", another, "a:1", false)
	conns[0].Close()
	expect("after one was closed", another, "a:1", true)
	conns[1].(*link).releaseSlot()
	conns[1].Close() // gives the slot back only once
	expect("after one was established", p.dialer(dial), "a:1", true)
	expect("all slots are taken again", p.dialer(dial), "a:1", false)
	expect("the next host of a connection that was closed", connects[0], "b:1", true)
}
