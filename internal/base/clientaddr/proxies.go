package clientaddr

import (
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks whose X-Forwarded-For header is trusted.
type Proxies []netip.Prefix

// Client returns the address of the client that sent a request, and reports whether the peer is trusted.
// The peer is the other end of the connection, in the form host:port. If it is trusted, Client reads the
// values of X-Forwarded-For from the last address to the first, and returns the first one that is not a
// trusted proxy's. If all of them are, it returns the one that it read last. Client returns the peer's
// address if the peer is not trusted, if there are no values, or if it reads an address that is not valid.
func (p Proxies) Client(peer string, forwarded []string) (client netip.Addr, trusted bool) {
	at, _ := parse(peer)
	if !p.contain(at) {
		return at, false
	}
	client = at
	for _, value := range slices.Backward(forwarded) {
		for _, text := range slices.Backward(strings.Split(value, ",")) {
			var ok bool
			if client, ok = parse(text); !ok {
				return at, true
			}
			if !p.contain(client) {
				return client, true
			}
		}
	}
	return client, true
}

func (p Proxies) contain(address netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(address) })
}

// parse parses an address. Some proxies add the port of the client's connection: 192.0.2.7:4123 or
// [2001:db8::1]:443.
func parse(text string) (address netip.Addr, ok bool) {
	text = strings.Trim(text, " \t")
	address, err := netip.ParseAddr(text)
	if err != nil {
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(text)
		address = withPort.Addr()
	}
	return address.Unmap().WithZone(""), err == nil
}
