// Package clientaddr finds the IP addresses of clients behind trusted proxies. It groups addresses that
// probably belong to the same client, so that requests can be counted per client.
package clientaddr

import "net/netip"

// ipv6Prefix is the number of leading bits that a client usually cannot change in its IPv6 address.
const ipv6Prefix = 64

// Group returns the address under which a client's requests are counted. For IPv4, this is the client's
// own address. For IPv6, it is the first address in the client's /64 network (decision 28). If text is
// not an IP address, Group returns the zero Addr.
func Group(text string) netip.Addr {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return GroupAddr(address)
}

// GroupAddr is like Group, for an address that has been parsed.
func GroupAddr(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if !address.Is6() {
		return address
	}
	network, _ := address.Prefix(ipv6Prefix)
	return network.Addr()
}

// sitePrefix is the prefix length of the largest IPv6 network that is usually assigned to one site.
const sitePrefix = 48

// Site returns the first address in the /48 network that contains an IPv6 address. It returns an IPv4
// address unchanged.
func Site(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	network, _ := address.Prefix(sitePrefix)
	return network.Addr()
}
