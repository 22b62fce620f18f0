package config

import (
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// HTTP holds the settings of the section `http`. The listeners have separate addresses, so that a
// firewall can tell them apart. A body can be at most 64 KiB, and this limit cannot be
// changed (decision 22).
type HTTP struct {
	// The address of the partner API: `host:port`, or `:port` for all addresses. There is no default,
	// so that a node only opens ports that you configured. If it is empty, the node serves only the
	// console. At least one of `api_addr` and `admin_addr` must be set.
	APIAddr string

	// The address of the console. Use a network that only staff can reach. If it is empty, the node
	// serves only the partner API.
	AdminAddr string

	// The address for health and metrics. Use an address that the load balancer and the monitoring can
	// reach, and make sure that partners cannot reach it.
	OpsAddr string

	// The address for profiles of the process, such as `127.0.0.1:8083`. Profiles show internals of the
	// process, so only a loopback address is valid. If it is empty, the node serves no profiles.
	ProfileAddr string

	// The origin of all base URLs, such as `https://leads.example.com`. It consists of the scheme, the
	// host and an optional port, without a path. It must be `https`, because posts contain personal
	// data; `http` is only allowed for localhost.
	PublicURL string

	// The origin of the console, such as `https://console.example.com`, for links to the console. It is
	// required if `admin_addr` is set. It must be `https`, because browsers do not send the console's cookie
	// without HTTPS; `http` is only allowed for localhost.
	AdminURL string

	// Where partners get help: an email address or an `https` URL. It is shown in `/docs` and in
	// partners' own documentation. If it is empty, both refer partners to their account manager.
	SupportContact string

	// Networks, such as `10.0.0.0/8`, whose `X-Forwarded-For` header is trusted. If the list is empty, a
	// client's address is the one that it connects from. Add the network of your load balancer.
	// Otherwise all partners appear to have the load balancer's address and share one set of limits.
	TrustedProxies []string

	// A PEM file with the certificate of all listeners except `profile_addr`, followed by the intermediate
	// certificates. If it is set, these listeners accept only TLS 1.2 or newer. Otherwise they use HTTP
	// without TLS, so a proxy on the same machine or network must terminate TLS. If the file or
	// `tls_key_file` changes, new connections get the new certificate within a second.
	TLSCertFile string

	// A PEM file with the private key of `tls_cert_file`.
	TLSKeyFile string

	// How long a client may take to send its headers. Like the other times in this section, it can be at
	// most `1h`. It cannot be disabled, because without a limit, a slow client could hold a connection
	// forever.
	ReadHeaderTimeout time.Duration

	// How long a client may take to send its headers and body. It must be at least `read_header_timeout`. A
	// request that takes longer to arrive gets 408.
	ReadTimeout time.Duration

	// How long a request may take from the end of its headers to the end of the response. It should be
	// at least 5 s more than `read_timeout`, because a post may take 5 s after its body has been read.
	// The node logs a warning if it is less.
	WriteTimeout time.Duration

	// How long a connection stays open between requests. It must be longer than the idle time of the
	// load balancer, usually 60 s, so that the load balancer closes connections first and never sends
	// a request on a closing connection.
	IdleTimeout time.Duration

	// How long a stopping node reports "not ready" before it closes the listeners. It must be at least
	// as long as the load balancer needs to notice that the node is not ready.
	DrainDelay time.Duration

	// How long a node waits for requests in progress after it has closed the listeners. It should be
	// at least `write_timeout`. Together with `drain_delay`, it must be less than the time after which
	// the hosting platform kills the process (30 s in Kubernetes).
	ShutdownGrace time.Duration
}

func defaultHTTP(p Profile) HTTP {
	h := HTTP{
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      25 * time.Second,
		IdleTimeout:       75 * time.Second,
		DrainDelay:        3 * time.Second,
		ShutdownGrace:     25 * time.Second,
	}
	if p == Dev {
		h.APIAddr, h.AdminAddr, h.OpsAddr = "127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082"
		h.DrainDelay = 0 // dev has no load balancer
	}
	return h
}

func (h *HTTP) fields() []field {
	return []field{
		text("api_addr", &h.APIAddr),
		text("admin_addr", &h.AdminAddr),
		text("ops_addr", &h.OpsAddr),
		text("profile_addr", &h.ProfileAddr),
		text("public_url", &h.PublicURL),
		text("admin_url", &h.AdminURL),
		text("support_contact", &h.SupportContact),
		texts("trusted_proxies", &h.TrustedProxies),
		text("tls_cert_file", &h.TLSCertFile),
		text("tls_key_file", &h.TLSKeyFile),
		duration("read_header_timeout", &h.ReadHeaderTimeout),
		duration("read_timeout", &h.ReadTimeout),
		duration("write_timeout", &h.WriteTimeout),
		duration("idle_timeout", &h.IdleTimeout),
		duration("drain_delay", &h.DrainDelay),
		duration("shutdown_grace", &h.ShutdownGrace),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (h *HTTP) Validate() error {
	var ps Problems
	h.validateListeners(&ps)
	ps.require("http.public_url", h.PublicURL != "")
	ps.require("http.admin_url", h.AdminURL != "" || h.AdminAddr == "")
	validateOrigin(&ps, "http.public_url", h.PublicURL, "https://leads.example.com", "posts contain personal data")
	validateOrigin(&ps, "http.admin_url", h.AdminURL, "https://console.example.com",
		"browsers do not send the console's cookie without HTTPS")
	if !validContact(h.SupportContact) {
		ps.add("http.support_contact", "must be an email address, such as partners@example.com, or an https URL")
	}
	for i, cidr := range h.TrustedProxies {
		network, err := netip.ParsePrefix(cidr)
		if err != nil || network != network.Masked() {
			ps.add(itemPath("http.trusted_proxies", i),
				"must be a network with its prefix length, such as 10.0.0.0/8, or 192.0.2.7/32 for one address")
		}
	}

	ps.require("http.tls_key_file", h.TLSKeyFile != "" || h.TLSCertFile == "")
	ps.require("http.tls_cert_file", h.TLSCertFile != "" || h.TLSKeyFile == "")

	// Without a limit, one slow client could hold a connection forever.
	between(&ps, "http.read_header_timeout", h.ReadHeaderTimeout, time.Millisecond, time.Hour)
	between(&ps, "http.read_timeout", h.ReadTimeout, time.Millisecond, time.Hour)
	between(&ps, "http.write_timeout", h.WriteTimeout, time.Millisecond, time.Hour)
	between(&ps, "http.idle_timeout", h.IdleTimeout, time.Millisecond, time.Hour)
	between(&ps, "http.drain_delay", h.DrainDelay, 0, time.Hour)
	between(&ps, "http.shutdown_grace", h.ShutdownGrace, time.Millisecond, time.Hour)
	if h.ReadTimeout < h.ReadHeaderTimeout && !ps.mentions("http.read_timeout") {
		ps.add("http.read_timeout", "must not be shorter than http.read_header_timeout, which it includes")
	}
	return ps.asError()
}

func (h *HTTP) validateListeners(ps *Problems) {
	type listener struct{ path, addr string }
	ps.require("http.ops_addr", h.OpsAddr != "")
	if h.APIAddr == "" && h.AdminAddr == "" {
		ps.require("http.api_addr", false)
		ps.require("http.admin_addr", false)
	}
	var earlier []listener
	for _, l := range []listener{
		{"http.api_addr", h.APIAddr},
		{"http.admin_addr", h.AdminAddr},
		{"http.ops_addr", h.OpsAddr},
		{"http.profile_addr", h.ProfileAddr},
	} {
		if l.addr == "" {
			continue
		}
		if !validAddr(l.addr) {
			ps.add(l.path, "must be host:port or :port, such as :8080")
			continue
		}
		for _, e := range earlier {
			if sameListener(e.addr, l.addr) {
				ps.add(l.path, "uses the same port as %s; each listener needs its own port", e.path)
				break
			}
		}
		earlier = append(earlier, l)
	}
	host, _, _ := net.SplitHostPort(h.ProfileAddr)
	if h.ProfileAddr != "" && !loopback(host) && !ps.mentions("http.profile_addr") {
		ps.add("http.profile_addr",
			"must be a loopback address, such as 127.0.0.1:8083, because profiles show internals of the process")
	}
}

// validateOrigin checks a setting that contains an origin. whyHTTPS completes the message for an origin
// without HTTPS.
func validateOrigin(ps *Problems, path, origin, example, whyHTTPS string) {
	if origin == "" {
		return
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil || !validHost(u.Hostname()) || !validPort(u.Port(), true) || u.Scheme != "http" && u.Scheme != "https":
		ps.add(path, "must be an origin, such as %s", example)
	case origin != u.Scheme+"://"+u.Host:
		ps.add(path, "must end after the host or port: no user, path, trailing slash, query or fragment")
	case u.Scheme != "https" && !loopback(u.Hostname()):
		ps.add(path, "must use https, because %s; http is only allowed for localhost", whyHTTPS)
	}
}

func validContact(contact string) bool {
	if contact == "" {
		return true
	}
	if address, err := mail.ParseAddress(contact); err == nil {
		return address.Address == contact
	}
	u, err := url.Parse(contact)
	return err == nil && u.Scheme == "https" && validHost(u.Hostname()) && u.User == nil
}

func validAddr(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	return err == nil && (host == "" || validHost(host)) && validPort(port, false)
}

func validPort(port string, optional bool) bool {
	if port == "" {
		return optional
	}
	_, err := strconv.ParseUint(port, 10, 16)
	return err == nil
}

// validHost reports whether host is an IP address or a name with letters, digits, dots
// and hyphens.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	for label := range strings.SplitSeq(host, ".") {
		const longest = 63 // the limit in DNS
		odd := func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-'
		}
		if label == "" || len(label) > longest || strings.ContainsFunc(label, odd) {
			return false
		}
	}
	return true
}

// sameListener reports whether two listeners with these addresses would conflict. Port 0 means any free
// port, so it never conflicts.
func sameListener(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	numberA, _ := strconv.Atoi(portA)
	numberB, _ := strconv.Atoi(portB)
	return numberA == numberB && numberA != 0 &&
		(hostA == hostB || everyAddress(hostA) || everyAddress(hostB) || loopback(hostA) && loopback(hostB))
}

func everyAddress(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
