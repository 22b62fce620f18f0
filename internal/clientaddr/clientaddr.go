// Package clientaddr groups client addresses for counting.
package clientaddr

import "net/netip"

// ipv6Prefix is the part of an IPv6 address that one client usually cannot change.
const ipv6Prefix = 64

// Group returns what a client's address counts as: an IPv4 address is itself, an
// IPv6 address is its /64 network (decision 28). All texts that are not addresses are one
// group, the zero Addr.
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

// sitePrefix is the most of the IPv6 space that one site is usually assigned.
const sitePrefix = 48

// Site returns the /48 network of an IPv6 address. An IPv4 address is itself.
func Site(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	network, _ := address.Prefix(sitePrefix)
	return network.Addr()
}
