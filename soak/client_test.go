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

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// patience limits how long a client tries to deliver one lead.
const patience = 2 * time.Minute

// clients deliver leads through all nodes and record every response.
type clients struct {
	p     *platform
	began time.Time
	stop  chan struct{}
	all   sync.WaitGroup
	http  *http.Client

	acknowledged, pings, unanswered, replays, conflicts atomic.Int64

	mu        sync.Mutex
	histories map[string][]porcupine.Operation // by transactionId
	payouts   map[string]string                // by leadId, as in the response
}

const deliverers = 16

// client returns clients that send nothing until the test calls their methods.
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

// clients starts clients that deliver leads and send pings until end is called or the test ends.
func (p *platform) clients(t *testing.T, rounds *rand.Rand) *clients {
	c := p.client()
	for range deliverers {
		random := rand.New(rand.NewPCG(rounds.Uint64(), 0))
		c.repeat(func() { c.deliver(t, random) })
	}
	for _, n := range p.nodes {
		c.repeat(func() { c.watchPings(t, n) })
	}
	t.Cleanup(c.end)
	return c
}

// repeat calls a function repeatedly in the background until end is called.
func (c *clients) repeat(do func()) {
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

// end stops the clients when they have finished the leads and pings in progress.
func (c *clients) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
	}
	c.all.Wait()
}

func (c *clients) now() int64 { return int64(time.Since(c.began)) }

// watchPings sends a ping. A node that is running must always answer it.
func (c *clients) watchPings(t *testing.T, n *node) {
	down := n.down.Load()
	tx, err := c.ping(n)
	switch {
	case err == nil && tx != "":
		c.pings.Add(1)
	case err == nil, !down && !n.down.Load():
		t.Errorf("%s is running but did not price a ping: %v", n.name, err)
	}
	pause(2 * time.Millisecond)
}

func pause(d time.Duration) { <-time.After(d) }

// ping sends a ping and returns the transactionId, or "" if the response contains no price.
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
		return "", fmt.Errorf("answered with %s", resp.Status)
	}
	return priced.TransactionID, err
}

// deliver delivers one lead. Usually, it repeats one post until there is a response. Sometimes, it
// sends two identical or different posts at the same time, and sometimes it sends another post
// afterwards.
func (c *clients) deliver(t *testing.T, random *rand.Rand) {
	tx, err := c.ping(c.p.nodes[random.IntN(len(c.p.nodes))])
	if err != nil {
		pause(20 * time.Millisecond) // watchPings reports the failure if the node is running
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

// untilAnswered posts to the nodes in turn until one of them responds.
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
			c.record(tx, body, a, payout, call)
		}
		if a.outcome != unknown {
			return
		}
		if time.Now().After(end) {
			t.Errorf("a post was not answered within %s", patience)
			return
		}
		pause(20 * time.Millisecond)
	}
}

// postBody returns one of several bodies for a transaction, selected by number.
func postBody(tx string, body int) []byte {
	return []byte(`{"transactionId":"` + tx +
		`","contact":{"email":"lead@example.org"},"consent":{"acknowledged":true,"thirdPartyLeadId":"body-` +
		strconv.Itoa(body) + `"},"reference":"` + tx[len(tx)-12:] + `","subId":"campaign-` + strconv.Itoa(body) + `"}`)
}

// status sends a post and returns the response's status, or 0 if there is no response.
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

// post sends a post once. sent is false if the post cannot have reached the node. The error describes a
// response that the node must never send.
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
	a, payout, err = parse(resp, text)
	return a, payout, true, err
}

// overloaded is the shortest time after which a 503 means that the machine is too busy. After a shorter
// time, it means that the node does not accept posts.
const overloaded = leads.DeliverTimeout / 2

// store sends a post, and returns an error with the response if it stores no lead. Like a partner, it
// repeats a post that a node could not store in time.
func (c *clients) store(n *node, tx string) error {
	for {
		start := time.Now()
		resp, err := c.send(n, postBody(tx, 1), c.p.secret)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusServiceUnavailable && time.Since(start) > overloaded {
			continue
		}
		if a, _, err := parse(resp, text); err != nil || a.outcome != stored && a.outcome != replayed {
			return fmt.Errorf("after %s, a post was answered with %s %s", time.Since(start), resp.Status, text)
		}
		return nil
	}
}

// parse converts a response to an answer.
func parse(resp *http.Response, text []byte) (a answer, payout string, err error) {
	var body struct {
		LeadID string
		Payout json.Number
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return a, "", fmt.Errorf("answered with %s %q", resp.Status, text)
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
		err = fmt.Errorf("a post was answered with %s %s", resp.Status, text)
	}
	return a, payout, err
}

// record adds an operation to its transaction's history. If several posts with the same body got no
// response, it records only the earliest, because at most one of them can have had an effect.
func (c *clients) record(tx string, body int, a answer, payout string, call int64) {
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
