package app_test

import (
	"bytes"
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
	after []byte // once passed on to the database, then is called
	then  func()
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
			c.copy(way[1], way[0], way[1] == far)
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

func (c *cable) copy(to io.Writer, from io.Reader, toDatabase bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		free := c.free
		c.mu.Unlock()
		<-free
		if n > 0 {
			then := c.passing(buf[:n], toDatabase)
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

// passedOn has a function called when a text has been passed on to the database.
func (c *cable) passedOn(text string, then func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after, c.then = []byte(text), then
}

func (c *cable) passing(sent []byte, toDatabase bool) (then func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !toDatabase || c.then == nil || !bytes.Contains(sent, c.after) {
		return func() {}
	}
	then, c.then = c.then, nil
	return then
}

// sever ends every connection, and refuses new ones until mend.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	c.end()
}

// hold keeps everything that is sent, in both directions, until mend: nobody
// is told that the other end is gone.
func (c *cable) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
}

// severAndHold ends every connection, and holds up those that come instead.
func (c *cable) severAndHold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
	c.end()
}

func (c *cable) end() {
	for end := range c.ends {
		end.Close()
	}
}

func (c *cable) stop() {
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
