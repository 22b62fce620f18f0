package app

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

// Listeners are a node's open ports. API, Admin or Profile is nil if the node does not serve it.
type Listeners struct{ API, Admin, Ops, Profile net.Listener }

// Listen opens all configured ports. Nodes call it first, so that a port in use is reported before
// anything else starts. Its error lists all ports that cannot be opened.
func Listen(c config.HTTP) (*Listeners, error) {
	l := &Listeners{}
	var failed []error
	for _, port := range []struct {
		name, addr string
		listener   *net.Listener
	}{
		{"api", c.APIAddr, &l.API},
		{"admin", c.AdminAddr, &l.Admin},
		{"ops", c.OpsAddr, &l.Ops},
		{"profile", c.ProfileAddr, &l.Profile},
	} {
		if port.addr == "" {
			continue
		}
		opened, err := net.Listen("tcp", port.addr)
		if err != nil {
			failed = append(failed, listenError(port.name, port.addr, err))
			continue
		}
		*port.listener = opened
	}
	if len(failed) > 0 {
		l.Close()
		return nil, errors.Join(failed...)
	}
	return l, nil
}

func listenError(name, addr string, err error) error {
	setting := "http." + name + "_addr"
	if name != "profile" { // dev has no flag for it
		setting += " (dev: --" + name + "-addr)"
	}
	fix := "set " + setting + " to host:port or :port, with a host name or address of this machine"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		fix = "stop the program that uses it, or set another address in " + setting
	case errors.Is(err, syscall.EACCES):
		fix = "this user is not allowed to use this port; set one above 1023 in " + setting
	}
	return fmt.Errorf("the %s listener cannot use %s (%w): %s", name, addr, cause(err), fix)
}

// cause returns the innermost error in err's chain. It omits the address from a network error, because
// listenError adds the address.
func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	if a, ok := errors.AsType[*net.AddrError](err); ok {
		return errors.New(a.Err)
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New(d.Err)
	}
	return err
}

// Close closes the listeners that are open.
func (l *Listeners) Close() {
	for _, listener := range []net.Listener{l.API, l.Admin, l.Ops, l.Profile} {
		if listener != nil {
			listener.Close() //nolint:errcheck // nothing was accepted yet, or the server closed it
		}
	}
}

// useTLS makes the listeners accept only TLS connections, except the one for profiles, if a certificate is configured.
func (a *App) useTLS(l *Listeners) error {
	if a.cfg.HTTP.TLSCertFile == "" {
		return nil
	}
	certificate, err := httpserver.ReadCertificate(a.cfg.HTTP.TLSCertFile, a.cfg.HTTP.TLSKeyFile, a.log)
	if err != nil {
		return fmt.Errorf("http.tls_cert_file and http.tls_key_file cannot be used: %w", err)
	}
	for _, listener := range []*net.Listener{&l.API, &l.Admin, &l.Ops} {
		if *listener != nil {
			*listener = tls.NewListener(*listener, certificate.Config())
		}
	}
	return nil
}

// closeWhileDraining returns a handler that adds the header "Connection: close" to responses while the
// node is stopping. Clients then send their next request to another node.
func (a *App) closeWhileDraining(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
