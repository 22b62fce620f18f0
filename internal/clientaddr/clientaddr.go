// Package clientaddr groups client addresses, so that requests can be counted by client.
package clientaddr

import "net/netip"

// ipv6Prefix is the length of the IPv6 prefix that a client usually cannot change.
const ipv6Prefix = 64

// Group returns the address that identifies a client for counting. For IPv4, that is the address
// itself. For IPv6, it is the first address of the /64 network (decision 28). If text is not an
// address, Group returns the zero Addr.
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

// sitePrefix is the prefix length of the largest IPv6 network that a site usually receives.
const sitePrefix = 48

// Site returns the first address of the /48 network of an IPv6 address. It returns an IPv4 address
// unchanged.
func Site(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	network, _ := address.Prefix(sitePrefix)
	return network.Addr()
}
