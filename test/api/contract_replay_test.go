package api

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// replays sends posts more than once. Sending the same post again returns the same response. A
// different post with the same quote is rejected. The partner that delivered the lead can always
// find it (decision 3).
func replays(t *testing.T, n *node.Node) {
	t.Run("the same post", func(t *testing.T) { samePost(t, n) })
	t.Run("concurrently", func(t *testing.T) { samePostConcurrently(t, n) })
	t.Run("a different body", func(t *testing.T) { anotherBody(t, n) })
	t.Run("another partner", func(t *testing.T) { anotherPartner(t, n) })
	t.Run("expired", func(t *testing.T) { expiredAfterDelivery(t, n) })
}

func samePost(t *testing.T, n *node.Node) {
	p := n.ReportOnly
	tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
	body := node.WithTransaction(fullOf(p), tx)
	first := n.Post(t, p, body)
	if first.Header.Get("Idempotent-Replayed") != "" {
		t.Error("the first post is reported as a replay")
	}
	n.Manual.Advance(14 * time.Minute)
	n.Stores(t, node.Nothing, func() {
		for range 3 {
			n.Manual.Advance(time.Second)
			a := n.Post(t, p, body) // a new timestamp and signature
			if a.Status != http.StatusOK || a.Body != first.Body || a.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("got %d %v %s, want %s", a.Status, a.Header, a.Body, first.Body)
			}
		}
		// hmacVerified refers to this request, not to the one that delivered the lead.
		a := n.Do(t, node.Request{Path: p.Base() + "/api/lead/post", Body: body})
		if want := strings.Replace(first.Body, `"hmacVerified":true`, `"hmacVerified":false`, 1); a.Body != want || a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("unsigned: got %d %s, want %s", a.Status, a.Body, want)
		}
	})
}

// fullOf returns a post that contains every field and names one of the partner's accounts.
func fullOf(p node.Partner) string {
	return strings.Replace(fullPost, "harbour-leads-second", p.Accounts[1], 1)
}

func samePostConcurrently(t *testing.T, n *node.Node) {
	tx := n.Ping(t, n.Required.Base(), node.MinimalPing).TransactionID
	body := node.WithTransaction(node.MinimalPost, tx)
	answers := make([]node.Answer, 24)
	n.Stores(t, node.OneLead, func() {
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = n.Post(t, n.Required, body) })
		}
		all.Wait()
	})
	fresh := 0
	for _, a := range answers {
		if a.Status != http.StatusOK || a.Body != answers[0].Body {
			t.Errorf("got %d %s and %s", a.Status, a.Body, answers[0].Body)
		}
		if a.Header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("got %d first deliveries, want 1", fresh)
	}
}

func anotherBody(t *testing.T, n *node.Node) {
	tx := n.Ping(t, n.Off.Base(), node.MinimalPing).TransactionID
	body := node.WithTransaction(node.MinimalPost, tx)
	first := node.Decode[node.Delivered](t, n.Post(t, n.Off, body))
	deliveredAt := n.Clock.Now()
	n.Manual.Advance(time.Minute)
	n.Stores(t, node.Nothing, func() {
		// A body with an additional space counts as different.
		other := n.Post(t, n.Off, body+" ")
		if want := spec.AlreadyDelivered.Start() + foundAgain(first, deliveredAt); other.Status != http.StatusConflict || other.Rejection() != want {
			t.Errorf("got %d %s, want %s", other.Status, other.Body, want)
		}
		unsigned := n.Do(t, node.Request{Path: n.Off.Base() + "/api/lead/post", Body: body + " "})
		if unsigned.Status != http.StatusConflict || unsigned.Rejection() != spec.AlreadyDeliveredUnsigned.Body() {
			t.Errorf("unsigned: got %d %s", unsigned.Status, unsigned.Body)
		}
	})
}

// foundAgain returns the last part of a response body, which identifies the delivered lead.
func foundAgain(d node.Delivered, at time.Time) string {
	return `,"leadId":"` + d.LeadID + `","deliveredAt":"` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `"}`
}

func anotherPartner(t *testing.T, n *node.Node) {
	tx := n.Ping(t, "", node.MinimalPing).TransactionID
	body := node.WithTransaction(node.MinimalPost, tx)
	first := node.Decode[node.Delivered](t, n.Post(t, n.Required, body))
	n.Stores(t, node.Nothing, func() {
		a := n.Post(t, n.Off, body) // the same bytes, from a different partner
		if a.Status != http.StatusConflict || a.Rejection() != spec.AlreadyDeliveredByOther.Body() {
			t.Errorf("got %d %s; %s belongs to another partner", a.Status, a.Body, first.LeadID)
		}
	})
}

func expiredAfterDelivery(t *testing.T, n *node.Node) {
	tx := n.Ping(t, n.Off.Base(), node.MinimalPing).TransactionID
	body := node.WithTransaction(node.MinimalPost, tx)
	first := node.Decode[node.Delivered](t, n.Post(t, n.Off, body))
	deliveredAt := n.Clock.Now()
	n.Manual.Advance(15*time.Minute + time.Millisecond)
	n.Stores(t, node.Nothing, func() {
		for name, sent := range map[string]string{"the same body": body, "another": body + " "} {
			if a, want := n.Post(t, n.Off, sent), spec.ExpiredAfterDelivery.Start()+foundAgain(first, deliveredAt); a.Status != http.StatusBadRequest || a.Rejection() != want {
				t.Errorf("%s: got %d %s, want %s", name, a.Status, a.Body, want)
			}
		}
		unsigned := n.Do(t, node.Request{Path: n.Off.Base() + "/api/lead/post", Body: body})
		if unsigned.Status != http.StatusBadRequest || unsigned.Rejection() != spec.ExpiredUnsigned.Body() {
			t.Errorf("unsigned: got %d %s", unsigned.Status, unsigned.Body)
		}
	})
}
