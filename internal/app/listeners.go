package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"

	"github.com/pingpost/pingpost/internal/config"
)

// Listeners are the three open ports of a node.
type Listeners struct{ API, Admin, Ops net.Listener }

// Listen opens all three before any of them answers, so that a port in use is
// known before anything else is started. Its error tells of all that cannot be.
func Listen(c config.HTTP) (*Listeners, error) {
	l := &Listeners{}
	var failed []error
	for _, one := range []struct {
		name, addr string
		into       *net.Listener
	}{{"api", c.APIAddr, &l.API}, {"admin", c.AdminAddr, &l.Admin}, {"ops", c.OpsAddr, &l.Ops}} {
		opened, err := net.Listen("tcp", one.addr)
		if err != nil {
			failed = append(failed, listenError(one.name, one.addr, err))
			continue
		}
		*one.into = opened
	}
	if len(failed) > 0 {
		l.Close()
		return nil, errors.Join(failed...)
	}
	return l, nil
}

// listenError says what keeps a listener from its address, and the mend.
func listenError(name, addr string, err error) error {
	setting := fmt.Sprintf("http.%s_addr (dev: --%s-addr)", name, name)
	mend := setting + " needs host:port or :port, the host a name or address of this machine"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		mend = "stop what is there, or choose another address with " + setting
	case errors.Is(err, syscall.EACCES):
		mend = "this user may not listen there, choose a port above 1023 with " + setting
	}
	return fmt.Errorf("the %s listener cannot use %s (%w): %s", name, addr, cause(err), mend)
}

// cause is the system's word for what failed, without the addresses around it.
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

// Close closes those that are open.
func (l *Listeners) Close() {
	for _, one := range []net.Listener{l.API, l.Admin, l.Ops} {
		if one != nil {
			one.Close() //nolint:errcheck // nothing was accepted yet, or the server closed it
		}
	}
}

// closeWhileDraining tells clients of a node that is stopping to open their next
// connection elsewhere: one that is merely closed under a proxy loses a request.
func (a *App) closeWhileDraining(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}
