package node

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/platform/config"
)

// FaultyProxy forwards connections to the database. A test can cut or delay them.
type FaultyProxy struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	stuck bool
	free  chan struct{} // closed unless data is being held
	ends  map[net.Conn]bool
	after []byte // when this has been sent to the database, the proxy calls then()
	then  func()
}

// ThroughFaultyProxy returns an option that connects a node to its database through a new FaultyProxy.
// When the node starts, the option stores the proxy in *proxy.
func ThroughFaultyProxy(t *testing.T, proxy **FaultyProxy) Option {
	return func(n *Node) {
		u, err := url.Parse(n.DB.AppURL)
		if err != nil {
			t.Fatal(err)
		}
		*proxy = newFaultyProxy(t, u.Host)
		u.Host = (*proxy).listener.Addr().String()
		n.Config.Database.URL = config.Secret(u.String())
		n.LosesAnswers = true
	}
}

func newFaultyProxy(t *testing.T, target string) *FaultyProxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &FaultyProxy{listener: l, target: target, free: make(chan struct{}), ends: map[net.Conn]bool{}}
	close(p.free)
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Restore()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

func (p *FaultyProxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.carry(near) })
	}
}

func (p *FaultyProxy) carry(near net.Conn) {
	defer near.Close()
	p.mu.Lock()
	cut := p.cut
	p.mu.Unlock()
	if cut {
		return
	}
	far, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer far.Close()
	p.mu.Lock()
	p.ends[near], p.ends[far] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			p.copy(way[1], way[0], way[1] == far)
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	delete(p.ends, near)
	delete(p.ends, far)
	p.mu.Unlock()
}

func (p *FaultyProxy) copy(to io.Writer, from io.Reader, toDatabase bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		free := p.free
		p.mu.Unlock()
		<-free
		if n > 0 {
			then := p.passing(buf[:n], toDatabase)
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
			then()
		}
		if err != nil {
			return
		}
	}
}

// AfterSending registers a function that the proxy calls once, after it has sent the given text to the
// database.
func (p *FaultyProxy) AfterSending(text string, then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after, p.then = []byte(text), then
}

func (p *FaultyProxy) passing(sent []byte, toDatabase bool) (then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !toDatabase || p.then == nil || !bytes.Contains(sent, p.after) {
		return func() {}
	}
	then, p.then = p.then, nil
	return then
}

// Cut closes all connections and rejects new ones until Restore is called.
func (p *FaultyProxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	p.end()
}

// Hold stops forwarding data in both directions until Restore is called. The connections stay open,
// so neither side gets an error.
func (p *FaultyProxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
}

// CutAndHold closes all connections. It accepts new ones, but forwards no data on them until
// Restore is called.
func (p *FaultyProxy) CutAndHold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.end()
}

func (p *FaultyProxy) end() {
	for end := range p.ends {
		end.Close()
	}
}

func (p *FaultyProxy) stop() {
	if !p.stuck {
		p.stuck, p.free = true, make(chan struct{})
	}
}

// Restore accepts connections and forwards data again, including data that was held.
func (p *FaultyProxy) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	if p.stuck {
		p.stuck = false
		close(p.free)
	}
}
