package app_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/config"
)

// cable is the way to the database, for a test to cut or to hold up.
type cable struct {
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	stuck bool
	free  chan struct{} // closed while nothing is held up
	ends  map[net.Conn]bool
}

// throughCable has a node reach its database through the cable.
func throughCable(t *testing.T, c **cable) option {
	return func(n *node) {
		u, err := url.Parse(n.db.AppURL)
		if err != nil {
			t.Fatal(err)
		}
		*c = newCable(t, u.Host)
		u.Host = (*c).listener.Addr().String()
		n.cfg.Database.URL = config.Secret(u.String())
		n.lossy = true
	}
}

func newCable(t *testing.T, target string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, target: target, free: make(chan struct{}), ends: map[net.Conn]bool{}}
	close(c.free)
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		l.Close()
		c.mend()
		c.sever()
		c.wg.Wait()
	})
	return c
}

func (c *cable) accept() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.wg.Go(func() { c.carry(near) })
	}
}

func (c *cable) carry(near net.Conn) {
	defer near.Close()
	c.mu.Lock()
	cut := c.cut
	c.mu.Unlock()
	if cut {
		return
	}
	far, err := net.Dial("tcp", c.target)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	c.ends[near], c.ends[far] = true, true
	c.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			c.copy(way[1], way[0])
			way[0].Close()
			way[1].Close()
		})
	}
	both.Wait()
	c.mu.Lock()
	delete(c.ends, near)
	delete(c.ends, far)
	c.mu.Unlock()
}

func (c *cable) copy(to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		free := c.free
		c.mu.Unlock()
		<-free
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// sever ends every connection, and refuses new ones until mend.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for end := range c.ends {
		end.Close()
	}
}

// hold keeps everything that is sent, in both directions, until mend: nobody
// is told that the other end is gone.
func (c *cable) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stuck {
		c.stuck, c.free = true, make(chan struct{})
	}
}

func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
	if c.stuck {
		c.stuck = false
		close(c.free)
	}
}
