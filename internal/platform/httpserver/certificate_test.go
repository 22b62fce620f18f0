package httpserver_test

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

// TestCertificateIsReadAgain replaces the files of a certificate, first with files that cannot be used.
func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	ca, folder := testkit.NewAuthority(t), t.TempDir()
	files := map[string]string{"cert": filepath.Join(folder, "tls.crt"), "key": filepath.Join(folder, "tls.key")}
	write := func(file string, text []byte) {
		t.Helper()
		next := files[file] + ".next"
		if err := os.WriteFile(next, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, files[file]); err != nil {
			t.Fatal(err)
		}
	}
	issue := func(until time.Duration) (cert, key []byte) { return ca.Issue(t, "127.0.0.1", time.Now().Add(until)) }
	cert, key := issue(time.Hour)
	write("cert", cert)
	if _, err := httpserver.ReadCertificate(files["cert"], files["key"], slog.New(slog.DiscardHandler)); err == nil {
		t.Error("got no error although the key is missing")
	}
	write("key", key)
	log := &testkit.Log{}
	c, err := httpserver.ReadCertificate(files["cert"], files["key"], slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener = tls.NewListener(listener, c.Config())
	var handshakes sync.WaitGroup
	handshakes.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handshakes.Go(func() {
				conn.(*tls.Conn).Handshake()
				conn.Close()
			})
		}
	})
	defer handshakes.Wait()
	defer listener.Close()
	served := func() []byte {
		t.Helper()
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: ca.Roots(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].Raw
	}
	first := served()
	second, secondKey := issue(2 * time.Hour)
	write("cert", second) // does not match the old key
	testkit.Eventually(t, time.Minute, "the mismatch is logged", func() bool {
		return bytes.Equal(served(), first) && strings.Contains(log.String(), "using the previous one")
	})
	write("key", secondKey)
	testkit.Eventually(t, time.Minute, "the second certificate is served",
		func() bool { return !bytes.Equal(served(), first) })
	if err := os.Remove(files["key"]); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { served() })
	}
	all.Wait()
	old := &tls.Config{RootCAs: ca.Roots(t), MaxVersion: tls.VersionTLS11}
	if _, err := tls.Dial("tcp", listener.Addr().String(), old); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
}
