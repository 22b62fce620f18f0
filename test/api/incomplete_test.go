package api

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestIncompleteBody checks that a request gets 408 if its body is incomplete, whether or not its
// signature, timestamp, JSON and base URL are valid (decision 26). The complete post then delivers the
// lead.
func TestIncompleteBody(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) {
		n.Config.HTTP.ReadHeaderTimeout, n.Config.HTTP.ReadTimeout = 2*time.Second, 2*time.Second
	})
	signed := func() node.RawRequest { return n.RawSigned(n.Required, n.FreshPost(t, n.Required)) }
	whole := signed()
	stale := signed()
	stale.Headers = append(stale.Headers, "X-Timestamp: yesterday", "X-Signature: short")
	ping := node.RawPing(node.MinimalPing)
	ownPing := node.RawPing(node.MinimalPing)
	ownPing.Path = n.Required.Base() + ownPing.Path
	inPieces := node.RawPing(chunked(node.MinimalPing))
	inPieces.Length = chunkedEncoding
	broken := node.RawPing("5\r\n{\"a\":\r\nZZ\r\n")
	broken.Length = chunkedEncoding
	// The client either stops sending or closes its side of the connection.
	stalls := func(*node.Connection) error { return nil }
	closes := func(l *node.Connection) error { return l.Conn.(interface{ CloseWrite() error }).CloseWrite() }
	for _, c := range []struct {
		name string
		send node.RawRequest
		left int // the number of bytes that are missing from the body
		end  func(*node.Connection) error
	}{
		{"a ping stalls", ping, 10, stalls},
		{"a ping is half-closed", ping, 10, closes},
		{"a ping on a partner's base URL stalls", ownPing, 1, stalls},
		{"a ping's chunk is half-closed", inPieces, 20, closes},
		{"a ping's chunk stalls", inPieces, 20, stalls},
		{"a ping's chunk is malformed", broken, 0, stalls},
		{"a post stalls", whole, 10, stalls},
		{"a post is half-closed", whole, 10, closes},
		{"a post stalls before its body", whole, len(whole.Body), stalls},
		{"a post with wrong headers is half-closed", stale, 10, closes},
	} {
		t.Run(c.name, func(t *testing.T) {
			n.Stores(t, node.Nothing, func() {
				l := n.Dial(t)
				text := c.send.String()
				l.Send(text[:len(text)-c.left])
				if err := c.end(l); err != nil {
					t.Fatal(err)
				}
				raw, err := io.ReadAll(l.In) // until the service closes the connection
				if err != nil {
					t.Fatal(err)
				}
				head, body, _ := strings.Cut(string(raw), "\r\n\r\n")
				if !strings.HasPrefix(head, "HTTP/1.1 408 Request Timeout\r\n") || !strings.HasPrefix(body, spec.RequestTimeout.Start()) ||
					!strings.Contains(head, "\r\nConnection: close") || !strings.Contains(head, "\r\nX-Request-Id: rq_") {
					t.Errorf("got %s", raw)
				}
			})
		})
	}
	if a := exchange(t, n, whole); a.Status != http.StatusOK {
		t.Errorf("complete post: got %d %s", a.Status, a.Body)
	}
}
