package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/pingpost/pingpost/internal/signing"
)

// patience bounds how long a client tries to deliver one lead.
const patience = 2 * time.Minute

// clients deliver leads through all nodes and write down every answer.
type clients struct {
	p     *platform
	began time.Time
	stop  chan struct{}
	all   sync.WaitGroup
	http  *http.Client

	acknowledged, pings, unanswered, replays, conflicts atomic.Int64

	mu        sync.Mutex
	histories map[string][]porcupine.Operation // by transactionId
	payouts   map[string]string                // by leadId, as the answer wrote it
}

const deliverers = 16

// client is a client that sends only what a test asks it to.
func (p *platform) client() *clients {
	return &clients{
		p:         p,
		began:     time.Now(),
		stop:      make(chan struct{}),
		histories: map[string][]porcupine.Operation{},
		payouts:   map[string]string{},
		http:      &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
	}
}

func (p *platform) clients(t *testing.T, rounds *rand.Rand) *clients {
	c := p.client()
	for range deliverers {
		random := rand.New(rand.NewPCG(rounds.Uint64(), 0))
		c.goOn(func() { c.deliver(t, random) })
	}
	for _, n := range p.nodes {
		c.goOn(func() { c.watchPings(t, n) })
	}
	t.Cleanup(c.end)
	return c
}

func (c *clients) goOn(do func()) {
	c.all.Go(func() {
		for {
			select {
			case <-c.stop:
				return
			default:
				do()
			}
		}
	})
}

// end stops the clients; each finishes what it has begun.
func (c *clients) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.all.Wait()
}

func (c *clients) now() int64 { return int64(time.Since(c.began)) }

// watchPings checks that a node that runs answers every ping, whatever happens to
// the rest.
func (c *clients) watchPings(t *testing.T, n *node) {
	down := n.down.Load()
	tx, err := c.ping(n)
	switch {
	case err == nil && tx != "":
		c.pings.Add(1)
	case err == nil, !down && !n.down.Load():
		t.Errorf("%s runs and did not price a ping: %v", n.name, err)
	}
	pause(2 * time.Millisecond)
}

func pause(d time.Duration) { <-time.After(d) }

// ping returns the transactionId, or why there was no answer.
func (c *clients) ping(n *node) (tx string, err error) {
	resp, err := c.http.Post(n.url("API")+"/p/"+slug+"/api/lead/ping", "application/json",
		bytes.NewReader([]byte(`{"industry":"plumber","postcode":"SW1A 1AA"}`)))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var priced struct{ TransactionID string }
	err = json.NewDecoder(resp.Body).Decode(&priced)
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("answered %s", resp.Status)
	}
	return priced.TransactionID, err
}

// deliver is one lead: as a rule one post until it is answered, sometimes the same
// twice at once, sometimes two different ones, and sometimes again afterwards.
func (c *clients) deliver(t *testing.T, random *rand.Rand) {
	tx, err := c.ping(c.p.nodes[random.IntN(len(c.p.nodes))])
	if err != nil {
		pause(20 * time.Millisecond) // watchPings tells whether it may fail
		return
	}
	bodies := []int{1}
	switch random.IntN(6) {
	case 0:
		bodies = []int{1, 1}
	case 1:
		bodies = []int{1, 2}
	}
	var together sync.WaitGroup
	for _, body := range bodies {
		first := random.IntN(len(c.p.nodes))
		together.Go(func() { c.untilAnswered(t, tx, body, first) })
	}
	together.Wait()
	if random.IntN(4) == 0 {
		c.untilAnswered(t, tx, 1, random.IntN(len(c.p.nodes)))
	}
}

// untilAnswered posts, to one node and the other, until there is an answer.
func (c *clients) untilAnswered(t *testing.T, tx string, body, first int) {
	text := postBody(tx, body)
	end := time.Now().Add(patience)
	for try := first; ; try++ {
		call := c.now()
		a, payout, sent, err := c.post(c.p.nodes[try%len(c.p.nodes)], text)
		if err != nil {
			t.Error(err)
			return
		}
		if sent {
			c.write(tx, body, a, payout, call)
		}
		if a.outcome != unknown {
			return
		}
		if time.Now().After(end) {
			t.Errorf("a post was not answered in %s", patience)
			return
		}
		pause(20 * time.Millisecond)
	}
}

// postBody is one of the bodies that a transaction is posted with.
func postBody(tx string, body int) []byte {
	return []byte(`{"transactionId":"` + tx +
		`","contact":{"email":"lead@example.org"},"consent":{"acknowledged":true,"thirdPartyLeadId":"body-` +
		strconv.Itoa(body) + `"}}`)
}

// status posts and returns the answer's status; 0 when there was none.
func (c *clients) status(n *node, body []byte, secret string) int {
	resp, err := c.send(n, body, secret)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (c *clients) send(n *node, body []byte, secret string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, n.url("API")+"/p/"+slug+"/api/lead/post", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("X-Timestamp", stamp)
	req.Header.Set("X-Signature-SHA256", signing.Sign([]byte(secret), stamp, body))
	return c.http.Do(req)
}

// post sends a post once. sent is false when it cannot have reached the node; the
// error is an answer that no post may get here.
func (c *clients) post(n *node, body []byte) (a answer, payout string, sent bool, err error) {
	resp, failure := c.send(n, body, c.p.secret)
	if failure != nil {
		var dial *net.OpError
		rejected := errors.As(failure, &dial) && dial.Op == "dial" && errors.Is(failure, syscall.ECONNREFUSED)
		return a, "", !rejected, nil
	}
	defer resp.Body.Close()
	text, failure := io.ReadAll(resp.Body)
	if failure != nil {
		return a, "", true, nil
	}
	a, payout, err = read(resp, text)
	return a, payout, true, err
}

// read tells what an answer says.
func read(resp *http.Response, text []byte) (a answer, payout string, err error) {
	var body struct {
		LeadID string
		Payout json.Number
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return a, "", fmt.Errorf("answered %s %q", resp.Status, text)
	}
	switch {
	case resp.StatusCode == http.StatusOK && body.LeadID != "":
		a = answer{stored, body.LeadID}
		if resp.Header.Get("Idempotent-Replayed") == "true" {
			a.outcome = replayed
		}
		payout = body.Payout.String()
	case resp.StatusCode == http.StatusConflict:
		a.outcome = conflict
	case resp.StatusCode == http.StatusServiceUnavailable:
	default:
		err = fmt.Errorf("a post was answered %s %s", resp.Status, text)
	}
	return a, payout, err
}

// write puts an operation into its transaction's history. Of several posts of one
// body without an answer the earliest stands for all: at most one of them can have
// had an effect.
func (c *clients) write(tx string, body int, a answer, payout string, call int64) {
	end := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch a.outcome {
	case unknown:
		c.unanswered.Add(1)
		end = never
		for _, op := range c.histories[tx] {
			if op.Input == body && op.Output.(answer).outcome == unknown {
				return
			}
		}
	case stored:
		c.acknowledged.Add(1)
		c.payouts[a.lead] = payout
	case replayed:
		c.replays.Add(1)
		c.payouts[a.lead] = payout
	case conflict:
		c.conflicts.Add(1)
	}
	c.histories[tx] = append(c.histories[tx], porcupine.Operation{Input: body, Output: a, Call: call, Return: end})
}
