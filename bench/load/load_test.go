package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func serving(t *testing.T, handler http.HandlerFunc) (address string) {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestEveryRequestIsAnswered(t *testing.T) {
	var served atomic.Int64
	address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		io.WriteString(w, strings.Repeat("x", int(served.Load()%2000)))
	})
	for name, j := range map[string]Job{
		"a count":        {Count: 1000},
		"a time":         {For: time.Second},
		"a time, late":   {For: time.Minute, Count: 1000},
		"a count, later": {For: time.Minute, Count: 100},
	} {
		served.Store(0)
		j.Address, j.Requests = address, [][]byte{[]byte(get)}
		r, err := Run(t.Context(), j)
		if err != nil || r.Rejected != 0 || r.Acknowledged == 0 || r.Acknowledged != served.Load() {
			t.Errorf("%s: %d served, %+v, %v", name, served.Load(), r, err)
		}
		if j.Count > 0 && r.Acknowledged != j.Count {
			t.Errorf("%s: %d acknowledged, want %d", name, r.Acknowledged, j.Count)
		}
	}
}

func TestOnceSendsEachOnce(t *testing.T) {
	var arrived [300]atomic.Int64
	address := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		var i int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil {
			t.Error(err)
		}
		arrived[i].Add(1)
	})
	var requests [][]byte
	for i := range arrived {
		requests = append(requests, fmt.Appendf(nil, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i))
	}
	r, err := Run(t.Context(), Job{Address: address, Requests: requests, Once: true, For: time.Minute})
	if err != nil || r.Acknowledged != int64(len(arrived)) {
		t.Fatalf("%+v, %v", r, err)
	}
	for i := range arrived {
		if n := arrived[i].Load(); n != 1 {
			t.Errorf("request %d was sent %d times", i, n)
		}
	}
}

func TestRejectionsAreCountedAndReported(t *testing.T) {
	var served atomic.Int64
	address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1)%10 == 0 {
			http.Error(w, "not you", http.StatusTeapot)
		}
	})
	r, err := Run(t.Context(), Job{Address: address, Requests: [][]byte{[]byte(get)}, Count: 1000})
	if err != nil || r.Acknowledged != 900 || r.Rejected != 100 || !strings.Contains(r.Rejection, "418") ||
		!strings.Contains(r.Rejection, "not you") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestInvalidAnswersEndTheRun uses servers that send invalid responses.
func TestInvalidAnswersEndTheRun(t *testing.T) {
	for name, text := range map[string]string{
		"closed":        "",
		"cut off":       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"no length":     "HTTP/1.1 200 OK\r\n\r\n",
		"not a number":  "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
		"more than one": strings.Repeat("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 2),
		"too long":      "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", longestAnswer),
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				bufio.NewReader(c).Peek(len(get))
				io.WriteString(c, text)
				c.Close()
			}
		}()
		r, err := Run(t.Context(), Job{Address: l.Addr().String(), Requests: [][]byte{[]byte(get)}, For: time.Minute})
		if err == nil || r.Acknowledged != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		l.Close()
	}
}

func TestInvalidJobs(t *testing.T) {
	for name, j := range map[string]Job{
		"no requests": {Count: 1},
		"no end":      {Requests: [][]byte{[]byte(get)}},
		"no server":   {Requests: [][]byte{[]byte(get)}, Count: 1, Address: "127.0.0.1:1"},
	} {
		if _, err := Run(t.Context(), j); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAnswersArriveInPieces(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   int
		bad    bool
	}{
		"nothing":        {},
		"half a head":    {answer: "HTTP/1.1 200 OK\r\nContent-Le"},
		"a head":         {answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", want: 43},
		"other headers":  {answer: "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\nC: d\r\n\r\nhello", want: 55},
		"in another one": {answer: "HTTP/1.1 200 OK\r\nX-Content-Length: 5\r\n\r\n", bad: true},
		"below zero":     {answer: "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", bad: true},
	} {
		got, err := length([]byte(c.answer))
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

func TestEndOfContextEndsTheRun(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	address := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(enough)
		<-r.Context().Done()
	})
	if _, err := Run(ctx, Job{Address: address, Requests: [][]byte{[]byte(get)}, For: time.Minute}); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

// TestRate checks that requests are sent at the given rate, and that the response times include a request
// that is answered last, although it was sent first.
func TestRate(t *testing.T) {
	var others sync.WaitGroup
	others.Add(99)
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			others.Wait()
		} else {
			others.Done()
		}
		io.WriteString(w, "x")
	})
	requests := append([][]byte{[]byte("GET /held HTTP/1.1\r\nHost: x\r\n\r\n")}, slices.Repeat([][]byte{[]byte(get)}, 99)...)
	r, err := Run(t.Context(), Job{Address: address, Requests: requests, Count: 100, Rate: 200})
	if err != nil || r.Acknowledged != 100 || r.Elapsed < 490*time.Millisecond || r.Rate() > 205 {
		t.Errorf("got %+v, %v, %.0f per second", r, err, r.Rate())
	}
	if r.P99 < 490*time.Millisecond {
		t.Errorf("got a 99th percentile of %s, but one of 100 requests waited for the others, which took %s", r.P99, r.Elapsed)
	}
}
