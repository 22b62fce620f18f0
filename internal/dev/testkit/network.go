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

// Network forwards connections to a server, so that a test can disturb them. If a test must react to the
// forwarded bytes, use Proxy instead.
type Network struct{ proxy *toxiproxy.Proxy }

// NewNetwork forwards connections to the given server address until the test ends.
func NewNetwork(t testing.TB, server string) *Network {
	t.Helper()
	n := &Network{toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "network",
		FreeAddress(t), server)}
	n.Up(t)
	t.Cleanup(n.Down)
	return n
}

// Address returns the address that forwards to the server.
func (n *Network) Address() string { return n.proxy.Listen }

// Down closes all connections and accepts no new ones.
func (n *Network) Down() { n.proxy.Stop() }

// Up accepts connections again.
func (n *Network) Up(t testing.TB) {
	t.Helper()
	if err := n.proxy.Start(); err != nil {
		t.Error(err)
	}
}

// AddFault disturbs the data that the server sends. Call the returned function to remove the fault. The
// parameter kind is the type of a toxiproxy toxic, and the parameter attributes contains its attributes
// in JSON.
func (n *Network) AddFault(t testing.TB, kind, attributes string) (remove func()) {
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

// FreeAddress returns an address on this machine that no server listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
