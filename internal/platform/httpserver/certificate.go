package httpserver

import (
	"crypto/tls"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
)

// certificateEvery is how often a Certificate checks whether its files have changed.
const certificateEvery = time.Second

// Certificate is a TLS certificate that is read again when its files change.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	checked time.Time      // when the files were last checked
	read    [2]fs.FileInfo // the files that were last read
	current *tls.Certificate
}

// ReadCertificate reads a certificate chain and its private key from PEM files.
func ReadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log, checked: clock.System{}.Now()}
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
	if sameFile(c.read[0], stat(c.certFile)) && sameFile(c.read[1], stat(c.keyFile)) {
		return c.current
	}
	if err := c.load(); err != nil {
		c.log.Error("cannot read the changed TLS certificate, using the previous one", "error", err)
	} else {
		c.log.Info("TLS certificate read again", "expires", c.current.Leaf.NotAfter)
	}
	return c.current
}

func (c *Certificate) load() error {
	c.read = [2]fs.FileInfo{stat(c.certFile), stat(c.keyFile)} // before they are read, so that a later change is noticed
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err == nil {
		c.current = &pair
	}
	return err
}

// stat returns information about a file, or nil if it does not exist.
func stat(file string) fs.FileInfo {
	info, err := os.Stat(file)
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether a file was neither changed nor replaced. The time of a change alone does not show this,
// because it may have a resolution of some milliseconds.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
