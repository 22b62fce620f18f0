package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

func TestSendReceivesEveryResponse(t *testing.T) {
	var served atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1)%10 == 0 {
			http.Error(w, "not you", http.StatusTeapot)
			return
		}
		io.WriteString(w, strings.Repeat("x", int(served.Load()%2000)))
	}))
	defer s.Close()
	for name, j := range map[string]loadJob{
		"a time":    {Length: 300 * time.Millisecond},
		"a count":   {Length: time.Minute, Count: 1000},
		"at a rate": {Length: time.Minute, Count: 100, Rate: 200},
	} {
		served.Store(0)
		j.Address, j.Connections = s.Listener.Addr().String(), 8
		load := sender{loadJob: j, requests: [][]byte{[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")}}
		err := load.send()
		r := load.result
		if n := served.Load(); err != nil || n == 0 || r.Acknowledged+r.Rejected != n || r.Rejected != n/10 || r.P99 == 0 {
			t.Errorf("%s: %d served, %+v, %v", name, n, r, err)
		}
		if j.Count > 0 && served.Load() != int64(j.Count) {
			t.Errorf("%s: %d served, want %d", name, served.Load(), j.Count)
		}
		if j.Rate > 0 && r.Elapsed < 490*time.Millisecond {
			t.Errorf("%s: sent in %s", name, r.Elapsed)
		}
		if r.Rejected > 0 && (!strings.Contains(r.Rejection, "418") || !strings.Contains(r.Rejection, "not you")) {
			t.Errorf("%s: the rejection is %q", name, r.Rejection)
		}
	}
}

func TestSendRejectsInvalidResponses(t *testing.T) {
	for name, text := range map[string]string{
		"closed":       "",
		"cut off":      "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"no length":    "HTTP/1.1 200 OK\r\nX-Content-Length: 5\r\n\r\n",
		"not a number": "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := listener.Accept(); err == nil {
				bufio.NewReader(c).Peek(1)
				io.WriteString(c, text)
				c.Close()
			}
		}()
		load := sender{
			loadJob:  loadJob{Address: listener.Addr().String(), Length: time.Minute, Connections: 1},
			requests: [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n")},
		}
		if err := load.send(); err == nil {
			t.Errorf("%s: got no error", name)
		}
		listener.Close()
	}
}

// received parses a request as a server does.
func received(t *testing.T, raw []byte, path string) (*http.Request, []byte) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(raw))
	r, err := http.ReadRequest(in)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || in.Buffered() > 0 || r.Method != http.MethodPost || r.URL.Path != path {
		t.Fatalf("%v, %d bytes over in %q", err, in.Buffered(), raw)
	}
	return r, body
}

func TestPingsAreValidAndVaried(t *testing.T) {
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	requests, err := pings("127.0.0.1:80", differentPings)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[any]bool{"industry": {}, "country": {}, "urgency": {}}
	for _, raw := range requests {
		_, body := received(t, raw, "/p/harbour-leads/api/lead/ping")
		ping, err := payload.ParsePing(body, taxonomy)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		seen["industry"][ping.Industry], seen["country"][ping.Country] = true, true
		seen["urgency"][pricingrules.ClassOf(ping.Urgency)] = true
	}
	if len(seen["industry"]) != taxonomy.Len() || len(seen["country"]) != 14 ||
		len(seen["urgency"]) != pricingrules.Classes {
		t.Errorf("got %d industries, %d countries and %d urgencies", len(seen["industry"]), len(seen["country"]),
			len(seen["urgency"]))
	}
}

func TestPostsAreValidAndSigned(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &poster{Partner: uuid.New(), Secret: "pp_a-secret-of-the-partner", QuoteKeys: [][]byte{make([]byte, 32)}}
	p.Replays, p.Bad = 20, 100
	quotes, err := quote.NewSealer(p.QuoteKeys)
	if err != nil {
		t.Fatal(err)
	}
	requests, err := p.posts("127.0.0.1:80", 1000, at)
	if err != nil {
		t.Fatal(err)
	}
	transactions, replays, bad := map[uuid.UUID]bool{}, 0, 0
	for i, raw := range requests {
		r, body := received(t, raw, "/p/harbour-leads/api/lead/post")
		if len(body) < 1<<10 || len(body) > 2<<10 {
			t.Fatalf("a post has %d bytes", len(body))
		}
		headers := signing.Headers{Timestamp: r.Header["X-Timestamp"], Signature: r.Header["X-Signature-Sha256"]}
		claim, err := signing.Check(headers, at)
		if err != nil || !signing.NewVerifier([]byte(p.Secret)).Verify(claim, body) {
			t.Fatalf("not signed: %v", err)
		}
		post, err := payload.ParsePost(body)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		q, err := quotes.Open(post.TransactionID, at)
		if err != nil || q.Partner != p.Partner || q.Price.Minor <= 0 || transactions[q.ID] != p.isReplay(i) {
			t.Fatalf("post %d: %+v, %v", i, q, err)
		}
		transactions[q.ID] = true
		if p.isReplay(i) {
			replays++
		}
		if strings.Contains(string(body), fmt.Sprintf("%q", badPostcode)) {
			bad++
		}
	}
	if replays != 24 || bad < 5 {
		t.Errorf("got %d replays and %d bad posts", replays, bad)
	}
}
