package httpserver

import (
	"crypto/tls"
	"log/slog"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/failurelog"
	"github.com/pingpost/pingpost/internal/base/filewatch"
)

// certificateEvery is how often a Certificate checks whether its files have changed.
const certificateEvery = time.Second

// Certificate is a TLS certificate that is read again when its files change.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	checked time.Time // when the files were last checked
	files   *filewatch.Files
	changed bool // the files have changed since current was read
	failure failurelog.State
	current *tls.Certificate
}

// ReadCertificate reads a certificate chain and its private key from PEM files.
func ReadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{
		certFile: certFile, keyFile: keyFile, log: log, checked: clock.System{}.Now(),
		files: filewatch.New(certFile, keyFile),
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config returns the TLS settings of a server with this certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
	}
}

// get returns the current certificate. If changed files cannot be used, for example because only one of them has been
// replaced yet, the previous certificate stays in use.
func (c *Certificate) get() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := clock.System{}.Now()
	if now.Sub(c.checked) < certificateEvery {
		return c.current
	}
	c.checked = now
	if c.changed = c.files.Changed() || c.changed; !c.changed {
		return c.current
	}
	switch err := c.load(); {
	case err == nil:
		c.changed, c.failure = false, failurelog.State{}
		c.log.Info("TLS certificate read again", "expires", c.current.Leaf.NotAfter)
	case c.failure.Due(err.Error(), now):
		c.log.Error("cannot read the changed TLS certificate, using the previous one", "error", err)
	}
	return c.current
}

func (c *Certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil {
		c.current = &pair
	}
	return err
}
