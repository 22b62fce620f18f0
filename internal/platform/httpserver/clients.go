package httpserver

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
)

// ignoredEvery limits how often an ignored X-Forwarded-For header is logged. Without a limit, requests
// could fill the log.
const ignoredEvery = time.Minute

// Clients finds the addresses of clients. If a peer that is not a trusted proxy sends X-Forwarded-For, the
// header is ignored. If this peer is a proxy, all of its clients share one set of limits, so Clients
// counts these requests and logs the peer.
type Clients struct {
	proxies clientaddr.Proxies
	log     *slog.Logger
	ignored prometheus.Counter
	logged  atomic.Int64 // Unix time in nanoseconds; 0 for never
}

// NewClients registers the metric pingpost_forwarded_for_ignored_total.
func NewClients(trusted []netip.Prefix, reg prometheus.Registerer, log *slog.Logger) *Clients {
	c := &Clients{proxies: trusted, log: log, ignored: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "pingpost_forwarded_for_ignored_total",
		Help: "Requests whose X-Forwarded-For header was ignored, because the peer is not in http.trusted_proxies.",
	})}
	reg.MustRegister(c.ignored)
	return c
}

// of returns the address of the client that sent a request at the time now.
func (c *Clients) of(r *http.Request, now time.Time) netip.Addr {
	forwarded := r.Header["X-Forwarded-For"]
	client, trusted := c.proxies.Client(r.RemoteAddr, forwarded)
	if len(forwarded) > 0 && !trusted {
		c.ignored.Inc()
		c.logIgnored(client, now)
	}
	return client
}

// trusts reports whether a request comes from a trusted proxy.
func (c *Clients) trusts(r *http.Request) bool {
	_, trusted := c.proxies.Client(r.RemoteAddr, nil)
	return trusted
}

// logIgnored logs the peer. It does not log the header, because the header can contain any text.
func (c *Clients) logIgnored(peer netip.Addr, now time.Time) {
	last := c.logged.Load()
	if last != 0 && now.Sub(time.Unix(0, last)) < ignoredEvery || !c.logged.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	c.log.Warn("X-Forwarded-For ignored: if the peer is your proxy, add its network to http.trusted_proxies, "+
		"because its clients otherwise share one set of limits", "peer", peer.String())
}
