package testkit

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy sits between a pool and its Postgres, so that a test can interrupt the network without
// touching the server.
type Proxy struct {
	URL string // URL of the same database, through the proxy

	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu          sync.Mutex
	open        map[net.Conn]struct{}
	down        bool
	lose        []byte // text in the response to drop; nil for none
	beforeClose func() // called before the client's connection is closed
}

// NewProxy listens on a free local port until the test ends. The database URL must not require
// TLS, because DropResponse reads the bytes.
func NewProxy(t testing.TB, databaseURL string) *Proxy {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal("invalid database URL")
	}
	p := &Proxy{target: u.Host, open: map[net.Conn]struct{}{}}
	if p.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	p.URL = u.String()
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = p.listener.Close()
		p.Down()
		p.running.Wait()
	})
	return p
}

// Down closes all connections and accepts no new ones.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for conn := range p.open {
		_ = conn.Close()
	}
}

// Up accepts connections again.
func (p *Proxy) Up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// DropResponse makes the proxy close the connection instead of forwarding the server's first response
// that contains the given text. When the server responds, a statement outside a transaction has already
// been committed. If the parameter beforeClose is not nil, the proxy calls it just before it closes the
// connection.
func (p *Proxy) DropResponse(text string, beforeClose func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose, p.beforeClose = []byte(text), beforeClose
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed when the test ends
		}
		if !p.keep(client) {
			continue
		}
		server, err := net.Dial("tcp4", p.target)
		if err != nil {
			p.drop(client)
			continue
		}
		if !p.keep(server) {
			p.drop(client)
			continue
		}
		p.running.Go(func() { p.pass(server, client, nil) })
		p.running.Go(func() { p.pass(client, server, p.isLost) })
	}
}

// keep registers a connection, so that Down closes it. If the proxy is already down, keep closes the
// connection and returns false.
func (p *Proxy) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		_ = conn.Close()
		return false
	}
	p.open[conn] = struct{}{}
	return true
}

func (p *Proxy) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
	_ = conn.Close()
}

// pass copies data from one connection to the other until one of them closes, and then closes both.
func (p *Proxy) pass(to, from net.Conn, lost func([]byte) (bool, func())) {
	defer p.drop(from)
	defer p.drop(to)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if lost != nil {
			if yes, beforeClose := lost(buf[:n]); yes {
				if beforeClose != nil {
					beforeClose()
				}
				return
			}
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (p *Proxy) isLost(answer []byte) (bool, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose == nil || !bytes.Contains(answer, p.lose) {
		return false, nil
	}
	beforeClose := p.beforeClose
	p.lose, p.beforeClose = nil, nil
	return true, beforeClose
}
