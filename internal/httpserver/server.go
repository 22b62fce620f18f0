package httpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/pingpost/pingpost/internal/config"
)

// Server answers on one of the listeners.
type Server struct {
	name     string
	http     *http.Server
	listener net.Listener
}

// maxHeader is generous for a post with its three headers; beyond it, and 4 KiB
// that the HTTP library adds, that library answers 431 by itself.
const maxHeader = 16 << 10

// NewServer serves a handler with the configured time-outs.
func NewServer(name string, l net.Listener, h http.Handler, c config.HTTP, log *slog.Logger) *Server {
	return &Server{name: name, listener: l, http: &http.Server{
		Handler: h, MaxHeaderBytes: maxHeader,
		// OPTIONS * would be answered by the library, with 200 and no request id.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            c.ReadHeaderTimeout, ReadTimeout: c.ReadTimeout,
		WriteTimeout: c.WriteTimeout, IdleTimeout: c.IdleTimeout,
		ErrorLog: slog.NewLogLogger(log.With("listener", name).Handler(), slog.LevelDebug),
	}}
}

// Addr is the address that is listened on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until the server is shut down. Its error says which listener ended.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the %s listener ended: %w", s.name, err)
	}
	return nil
}

// Shutdown waits for the requests under way, and cuts them off when the context ends.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close() //nolint:errcheck // the error below says it
		return fmt.Errorf("the %s listener cut off requests that did not finish in time", s.name)
	}
	return nil
}
