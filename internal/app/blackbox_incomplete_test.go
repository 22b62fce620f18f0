package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A request whose body does not arrive whole is answered 408 and nothing else about it
// is judged: not its signature, its timestamp, its JSON or its base URL (D26). The same
// post sent whole delivers the lead.
func TestBlackboxIncompleteBody(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) {
		n.cfg.HTTP.ReadHeaderTimeout, n.cfg.HTTP.ReadTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	signed := func() wire { return n.signedWire(n.required, n.freshPost(t, n.required)) }
	whole := signed()
	stale := signed()
	stale.headers = append(stale.headers, "X-Timestamp: yesterday", "X-Signature: short")
	ping := plain(leastPing)
	ownPing := plain(leastPing)
	ownPing.path = n.required.base() + ownPing.path
	inPieces := plain(chunked(leastPing))
	inPieces.length = inChunks
	broken := plain("5\r\n{\"a\":\r\nZZ\r\n")
	broken.length = inChunks
	// The two ways of stopping: to send nothing more, or to close this direction.
	stalls := func(*line) error { return nil }
	closes := func(l *line) error { return l.Conn.(interface{ CloseWrite() error }).CloseWrite() }
	for _, c := range []struct {
		name string
		send wire
		left int // bytes of the body that are not sent
		end  func(*line) error
	}{
		{"a ping stalls", ping, 10, stalls},
		{"a ping is half-closed", ping, 10, closes},
		{"a ping on a partner's base URL stalls", ownPing, 1, stalls},
		{"a ping's chunk is cut", inPieces, 20, closes},
		{"a ping's chunk stalls", inPieces, 20, stalls},
		{"a ping's chunk is malformed", broken, 0, stalls},
		{"a post stalls", whole, 10, stalls},
		{"a post is half-closed", whole, 10, closes},
		{"a post stalls before its body", whole, len(whole.body), stalls},
		{"a post with wrong headers is half-closed", stale, 10, closes},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.stores(t, nothing, func() {
				l := n.dial(t)
				text := c.send.String()
				l.write(text[:len(text)-c.left])
				if err := c.end(l); err != nil {
					t.Fatal(err)
				}
				raw, err := io.ReadAll(l.in) // to its end: the service closes the connection
				if err != nil {
					t.Fatal(err)
				}
				head, body, _ := strings.Cut(string(raw), "\r\n\r\n")
				if !strings.HasPrefix(head, "HTTP/1.1 408 Request Timeout\r\n") || body != `{"ok":false,"message":"Request Timeout"}` ||
					!strings.Contains(head, "\r\nConnection: close") || !strings.Contains(head, "\r\nX-Request-Id: rq_") {
					t.Errorf("answered %s", raw)
				}
			})
		})
	}
	if a := n.exchange(t, whole); a.status != http.StatusOK {
		t.Errorf("the same post, sent whole: %d %s", a.status, a.body)
	}
}
