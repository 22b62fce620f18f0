package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/pingpost/pingpost/internal/platform/config"
)

// Server serves HTTP requests on a listener.
type Server struct {
	name     string
	http     *http.Server
	listener net.Listener
}

// maxHeader is the maximum size of the headers of a request, in bytes. The headers of a post are much
// smaller. net/http adds 4 KiB to this limit and responds to larger headers with 431.
const maxHeader = 16 << 10

// NewServer returns a server with the given handler and the configured timeouts. name identifies the
// listener in logs and errors.
func NewServer(name string, l net.Listener, h http.Handler, c config.HTTP, log *slog.Logger) *Server {
	return &Server{name: name, listener: l, http: &http.Server{
		Handler: h, MaxHeaderBytes: maxHeader,
		// Otherwise net/http responds to OPTIONS * with 200 and without a request id.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            c.ReadHeaderTimeout, ReadTimeout: c.ReadTimeout,
		WriteTimeout: c.WriteTimeout, IdleTimeout: c.IdleTimeout,
		ErrorLog: slog.NewLogLogger(log.With("listener", name).Handler(), slog.LevelDebug),
	}}
}

// Addr returns the listener's address.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve serves requests until the server is shut down.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the %s listener failed: %w", s.name, err)
	}
	return nil
}

// Shutdown waits for requests in progress. If ctx ends before these requests do, Shutdown closes their
// connections and returns an error.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close() //nolint:errcheck // reported by the error below
		return fmt.Errorf("the %s listener cut off requests that did not finish in time", s.name)
	}
	return nil
}
