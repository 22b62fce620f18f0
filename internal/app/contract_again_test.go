package app_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// again sends posts more than once: the same one is answered as before, any
// other is refused, and whoever delivered the lead can always find it again (D3).
func again(t *testing.T, n *node) {
	t.Run("the same post", func(t *testing.T) { samePost(t, n) })
	t.Run("at once", func(t *testing.T) { samePostAtOnce(t, n) })
	t.Run("another body", func(t *testing.T) { anotherBody(t, n) })
	t.Run("another partner", func(t *testing.T) { anotherPartner(t, n) })
	t.Run("expired", func(t *testing.T) { expiredAfterDelivery(t, n) })
}

func samePost(t *testing.T, n *node) {
	p := n.reportOnly
	tx := n.ping(t, p.base(), leastPing).TransactionID
	body := withTransaction(fullOf(p), tx)
	first := n.post(t, p, body)
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the first post is called a replay")
	}
	n.hands.Advance(14 * time.Minute)
	n.stores(t, nothing, func() {
		for range 3 {
			n.hands.Advance(time.Second)
			a := n.post(t, p, body) // a new timestamp and signature
			if a.status != http.StatusOK || a.body != first.body || a.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("answered %d %v %s, want %s", a.status, a.header, a.body, first.body)
			}
		}
		// hmacVerified is of this request.
		a := n.do(t, request{path: p.base() + "/api/lead/post", body: body})
		if want := strings.Replace(first.body, `"hmacVerified":true`, `"hmacVerified":false`, 1); a.body != want || a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("unsigned: answered %d %s, want %s", a.status, a.body, want)
		}
	})
}

// fullOf is every field, for an account of the partner.
func fullOf(p partner) string {
	return strings.Replace(fullPost, "harbour-leads-second", p.accounts[1], 1)
}

func samePostAtOnce(t *testing.T, n *node) {
	tx := n.ping(t, n.required.base(), leastPing).TransactionID
	body := withTransaction(leastPost, tx)
	answers := make([]answer, 24)
	n.stores(t, oneLead, func() {
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = n.post(t, n.required, body) })
		}
		all.Wait()
	})
	fresh := 0
	for _, a := range answers {
		if a.status != http.StatusOK || a.body != answers[0].body {
			t.Errorf("answered %d %s, another one %s", a.status, a.body, answers[0].body)
		}
		if a.header.Get("Idempotent-Replayed") == "" {
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("%d answers are not called a replay, want 1", fresh)
	}
}

func anotherBody(t *testing.T, n *node) {
	tx := n.ping(t, n.off.base(), leastPing).TransactionID
	body := withTransaction(leastPost, tx)
	first := decode[delivered](t, n.post(t, n.off, body))
	deliveredAt := n.clock.Now()
	n.hands.Advance(time.Minute)
	const message = `{"ok":false,"message":"Transaction has already been delivered"`
	n.stores(t, nothing, func() {
		// A blank more is another body.
		other := n.post(t, n.off, body+" ")
		if want := message + foundAgain(first, deliveredAt); other.status != http.StatusConflict || other.body != want {
			t.Errorf("answered %d %s, want %s", other.status, other.body, want)
		}
		unsigned := n.do(t, request{path: n.off.base() + "/api/lead/post", body: body + " "})
		if unsigned.status != http.StatusConflict || unsigned.body != message+"}" {
			t.Errorf("unsigned: answered %d %s", unsigned.status, unsigned.body)
		}
	})
}

// foundAgain is what tells a partner which lead it delivered, and when.
func foundAgain(d delivered, at time.Time) string {
	return `,"leadId":"` + d.LeadID + `","deliveredAt":"` + at.UTC().Format("2006-01-02T15:04:05.000Z") + `"}`
}

func anotherPartner(t *testing.T, n *node) {
	tx := n.ping(t, "", leastPing).TransactionID
	body := withTransaction(leastPost, tx)
	first := decode[delivered](t, n.post(t, n.required, body))
	n.stores(t, nothing, func() {
		a := n.post(t, n.off, body) // the same bytes, on its own base URL
		if a.status != http.StatusConflict || a.body != `{"ok":false,"message":"Transaction has already been delivered"}` {
			t.Errorf("answered %d %s; %s is not its own", a.status, a.body, first.LeadID)
		}
	})
}

func expiredAfterDelivery(t *testing.T, n *node) {
	tx := n.ping(t, n.off.base(), leastPing).TransactionID
	body := withTransaction(leastPost, tx)
	first := decode[delivered](t, n.post(t, n.off, body))
	deliveredAt := n.clock.Now()
	n.hands.Advance(15*time.Minute + time.Millisecond)
	n.stores(t, nothing, func() {
		const message = `{"ok":false,"message":"Transaction has expired"`
		for name, sent := range map[string]string{"the same body": body, "another": body + " "} {
			if a, want := n.post(t, n.off, sent), message+foundAgain(first, deliveredAt); a.status != http.StatusBadRequest || a.body != want {
				t.Errorf("%s: answered %d %s, want %s", name, a.status, a.body, want)
			}
		}
		unsigned := n.do(t, request{path: n.off.base() + "/api/lead/post", body: body})
		if unsigned.status != http.StatusBadRequest || unsigned.body != message+"}" {
			t.Errorf("unsigned: answered %d %s", unsigned.status, unsigned.body)
		}
	})
}
