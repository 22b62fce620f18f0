// Package clientaddr groups client addresses for counting.
package clientaddr

import "net/netip"

// ipv6Prefix is the part of an IPv6 address that one client usually cannot change.
const ipv6Prefix = 64

// Group returns the address that a client is counted under: an IPv4 address as it is, and
// the /64 network of an IPv6 address (decision 28). Text that is not an address counts
// under the zero Addr.
func Group(text string) netip.Addr {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address
	}
	network, _ := address.Prefix(ipv6Prefix)
	return network.Addr()
}

// sitePrefix is the largest IPv6 network that one site usually gets.
const sitePrefix = 48

// Site returns the /48 network of an IPv6 address. It returns an IPv4 address as it is.
func Site(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	network, _ := address.Prefix(sitePrefix)
	return network.Addr()
}
