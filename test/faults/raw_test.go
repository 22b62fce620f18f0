package faults

import (
	"testing"

	"github.com/pingpost/pingpost/test/node"
)

// sendHalf sends a request with half of its body and returns the other half. Before it returns, it waits
// until the handler starts to read the body. At that point, the service has accepted the request.
func sendHalf(t testing.TB, l *node.Connection, w node.RawRequest) (rest string) {
	t.Helper()
	w.Headers = append(w.Headers, "Expect: 100-continue")
	text := w.String()
	half := len(text) - len(w.Body)/2
	l.Send(text[:half])
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if got, err := l.In.ReadString('\n'); got != want {
			t.Fatalf("read %q, want %q: %v", got, want, err)
		}
	}
	return text[half:]
}
