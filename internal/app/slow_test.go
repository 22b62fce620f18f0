package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSlowClients sends requests that take too long. Headers that do not come
// end the connection, with no answer or the HTTP library's own; a body that does
// not come is answered like one that broke off.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) {
		n.cfg.HTTP.ReadHeaderTimeout, n.cfg.HTTP.ReadTimeout = 150*time.Millisecond, 300*time.Millisecond
	})
	post := n.signedWire(n.required, n.freshPost(t, n.required))
	promised := plain("{}")
	promised.length = "Content-Length: 65537"
	half := func(w wire) string { return w.String()[:len(w.String())-len(w.body)/2-1] }
	inPieces := plain(chunked(leastPing))
	inPieces.length = inChunks
	endless := plain("5\r\n{\"a\":\r\n")
	endless.length = inChunks
	cutOff := answer{status: http.StatusRequestTimeout, body: `{"ok":false,"message":"Request Timeout"}`}
	malformed := answer{status: http.StatusBadRequest, body: "400 Bad Request"} // the library's, of the line as far as it came
	rows := []struct {
		name, text string
		drip       string // sent on, byte by byte
		want       answer
	}{
		{name: "nothing at all"},
		{name: "half a request line", text: "POST /api/le", want: malformed},
		{name: "half a header's name", text: "POST /api/lead/ping HTTP/1.1\r\nHost: x\r\nX-Time", want: malformed},
		{name: "half the headers", text: "POST /api/lead/ping HTTP/1.1\r\nHost: x\r\n"},
		{name: "a header byte by byte", text: "POST /api/lead/ping HTTP/1.1\r\nHost: x\r\nX-Filler: ", drip: marker},
		{name: "no body", text: strings.TrimSuffix(plain(leastPing).String(), leastPing), want: cutOff},
		{name: "half a body", text: half(plain(leastPing)), want: cutOff},
		{name: "half a signed body", text: half(post), want: cutOff},
		{name: "half a chunk", text: half(inPieces), want: cutOff},
		{name: "chunks without end", text: endless.String(), want: cutOff},
		{name: "a body byte by byte", text: strings.TrimSuffix(post.String(), post.body) + "{", drip: " ", want: cutOff},
		{name: "a length that is only promised", text: promised.String(),
			want: answer{status: http.StatusRequestEntityTooLarge, body: `{"ok":false,"message":"Payload Too Large"}`}},
	}
	n.stores(t, nothing, func() {
		lines := make([]*line, len(rows))
		for i, r := range rows {
			lines[i] = n.dial(t)
			lines[i].write(r.text)
			stop := make(chan struct{})
			defer close(stop)
			go drip(lines[i], r.drip, stop)
		}
		n.works(t) // while they all are under way
		for i, r := range rows {
			a := lines[i].read(t, http.MethodPost)
			if a.status != r.want.status || a.body != r.want.body {
				t.Errorf("%s: answered %d %q, want %d %q", r.name, a.status, a.body, r.want.status, r.want.body)
			}
			if next := lines[i].read(t, http.MethodPost); next.status != 0 {
				t.Errorf("%s: the connection goes on with %d", r.name, next.status)
			}
		}
	})
	n.works(t)
	n.leavesNoTrace(t)
}

// drip sends a text over and over, a byte at a time.
func drip(l *line, text string, stop <-chan struct{}) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; text != ""; i++ {
		select {
		case <-stop:
			return
		case <-tick.C:
			l.write(text[i%len(text) : i%len(text)+1])
		}
	}
}
