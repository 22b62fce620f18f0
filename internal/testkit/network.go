package testkit

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Network is the way to a server, which a test can spoil. Proxy is for what needs
// to see the bytes that pass.
type Network struct{ proxy *toxiproxy.Proxy }

// NewNetwork leads to the server at an address until the test ends.
func NewNetwork(t testing.TB, server string) *Network {
	t.Helper()
	n := &Network{toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "network",
		FreeAddress(t), server)}
	n.Up(t)
	t.Cleanup(n.Down)
	return n
}

// Address is where the server is reached this way.
func (n *Network) Address() string { return n.proxy.Listen }

// Down cuts every connection and takes no new one.
func (n *Network) Down() { n.proxy.Stop() }

// Up takes connections again.
func (n *Network) Up(t testing.TB) {
	t.Helper()
	if err := n.proxy.Start(); err != nil {
		t.Error(err)
	}
}

// AddFault disturbs what the server answers until the returned function is called:
// with a kind of toxiproxy's toxics and its attributes as JSON.
func (n *Network) AddFault(t testing.TB, kind, attributes string) (mend func()) {
	t.Helper()
	text := fmt.Sprintf(`{"name":"%s","type":"%s","stream":"downstream","toxicity":1,"attributes":%s}`, kind, kind, attributes)
	if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := n.proxy.Toxics.RemoveToxic(context.Background(), kind); err != nil {
			t.Error(err)
		}
	}
}

// FreeAddress is one of this machine that nobody listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
