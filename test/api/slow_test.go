package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestSlowClients sends requests too slowly. If the headers are still incomplete at the time limit, the
// service closes the connection, either without a response or with the response of Go's HTTP server. If
// the body is still incomplete, the response is 408.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	n := node.Start(t, func(n *node.Node) {
		n.Config.HTTP.ReadHeaderTimeout, n.Config.HTTP.ReadTimeout = 2*time.Second, 4*time.Second
	})
	post := n.RawSigned(n.Required, n.FreshPost(t, n.Required))
	tooLong := node.RawPing("{}")
	tooLong.Length = "Content-Length: 65537"
	half := func(w node.RawRequest) string { return w.String()[:len(w.String())-len(w.Body)/2-1] }
	inPieces := node.RawPing(chunked(node.MinimalPing))
	inPieces.Length = chunkedEncoding
	long := post
	long.Length = "Content-Length: 60000" // sent byte by byte, this takes much longer than the time limit
	endless := node.RawPing("5\r\n{\"a\":\r\n")
	endless.Length = chunkedEncoding
	cutOff := node.Answer{Status: http.StatusRequestTimeout, Body: spec.RequestTimeout.Body()}
	malformed := node.Answer{
		Status: http.StatusBadRequest,
		Body:   "400 Bad Request",
	} // from Go's HTTP server, because the line is incomplete
	rows := []struct {
		name, text string
		drip       string // sent byte by byte after text
		want       node.Answer
	}{
		{name: "nothing"},
		{name: "half a request line", text: "POST /api/le", want: malformed},
		{name: "half a header's name", text: "POST /api/lead/ping HTTP/1.1\r\nHost: x\r\nX-Time", want: malformed},
		{name: "half the headers", text: "POST /api/lead/ping HTTP/1.1\r\nHost: x\r\n"},
		{name: "a header byte by byte", text: "POST /api/lead/ping HTTP/1.1\r\nHost: x\r\nX-Filler: ", drip: node.Marker},
		{name: "no body", text: strings.TrimSuffix(node.RawPing(node.MinimalPing).String(), node.MinimalPing), want: cutOff},
		{name: "half a body", text: half(node.RawPing(node.MinimalPing)), want: cutOff},
		{name: "half a signed body", text: half(post), want: cutOff},
		{name: "half a chunk", text: half(inPieces), want: cutOff},
		{name: "chunks without end", text: endless.String(), want: cutOff},
		{name: "a body byte by byte", text: strings.TrimSuffix(long.String(), long.Body) + "{", drip: " ", want: cutOff},
		{name: "a length that is too large", text: tooLong.String(),
			want: node.Answer{Status: http.StatusRequestEntityTooLarge, Body: spec.PayloadTooLarge.Body()}},
	}
	n.Stores(t, node.Nothing, func() {
		lines := make([]*node.Connection, len(rows))
		for i, r := range rows {
			lines[i] = n.Dial(t)
			lines[i].Send(r.text)
			stop := make(chan struct{})
			defer close(stop)
			go drip(lines[i], r.drip, stop)
		}
		n.CheckServes(t) // while the slow requests are in progress
		for i, r := range rows {
			a := lines[i].Receive(t, http.MethodPost)
			if a.Status != r.want.Status || a.Rejection() != r.want.Body {
				t.Errorf("%s: got %d %q, want %d %q", r.name, a.Status, a.Body, r.want.Status, r.want.Body)
			}
			if next := lines[i].Receive(t, http.MethodPost); next.Status != 0 {
				t.Errorf("%s: the connection stays open: got %d", r.name, next.Status)
			}
		}
	})
	n.CheckServes(t)
	n.CheckNoPersonalData(t)
}

// drip sends a text repeatedly, one byte at a time.
func drip(l *node.Connection, text string, stop <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; text != ""; i++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			l.Send(text[i%len(text) : i%len(text)+1])
		}
	}
}
