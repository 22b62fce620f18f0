package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// answered contains the parts of a response to a post or a ping that the rows state.
type answered struct {
	status            int
	code              string // of an error, or the reason of a declined ping
	lead, deliveredAt bool
	replayed          bool
}

var (
	delivered = answered{status: http.StatusOK, lead: true}
	replayed  = answered{status: http.StatusOK, lead: true, replayed: true}

	deliveredBefore  = answered{http.StatusConflict, spec.AlreadyDelivered.Code, true, true, false}
	deliveredByOther = answered{status: http.StatusConflict, code: spec.AlreadyDeliveredByOther.Code}
	anothersQuote    = answered{status: http.StatusBadRequest, code: spec.InvalidTransactionID.Code}
	expiredDelivered = answered{http.StatusBadRequest, spec.ExpiredAfterDelivery.Code, true, true, false}
	expiredUnsold    = answered{status: http.StatusBadRequest, code: spec.TransactionExpired.Code}
	notActive        = answered{status: http.StatusForbidden, code: spec.NotActive.Code}
	outsideWindow    = answered{status: http.StatusUnauthorized, code: spec.TimestampWindow.Code}
	wrongSignature   = answered{status: http.StatusUnauthorized, code: spec.BadSignature.Code}
	notStored        = answered{status: http.StatusServiceUnavailable, code: spec.NotSaved.Code}

	capReached = answered{status: http.StatusOK, code: "capped"}
	paused     = answered{status: http.StatusOK, code: "paused"}
	excluded   = answered{status: http.StatusOK, code: "excluded"}
)

// retryRow is a row of the retry matrix.
type retryRow struct {
	name string
	on   *node.Node // nil for the node that the rows share
	// play sends requests and returns the responses that are checked.
	play func(*testing.T, *node.Node) []node.Answer
	want map[answered]int
	// either is set if the test cannot know which attempt stores the lead. A replay then counts as a
	// delivery.
	either bool
	leads  int  // the stored leads
	unpaid bool // the leads have no ledger entries
}

// TestRetryMatrix retries posts in every way that a partner can, even while connections are cut or the database is
// frozen. In each case, a transaction must have at most one lead and one ledger entry, and a signed retry must find the
// outcome.
func TestRetryMatrix(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	var proxy *node.FaultyProxy
	behindProxy := node.Start(t, node.ThroughFaultyProxy(t, &proxy))
	frozen := func(t *testing.T, n *node.Node) []node.Answer { return frozenDatabase(t, n, proxy) }
	for _, r := range []retryRow{
		{name: "same bytes", play: sameBytes, want: map[answered]int{delivered: 1, replayed: 1}, leads: 1},
		{name: "new secret", play: newSecret, want: map[answered]int{delivered: 1, replayed: 1}, leads: 1},
		{name: "other base URL", play: otherBase, want: map[answered]int{delivered: 1, replayed: 1}, leads: 1},
		{name: "other body", play: otherBody(`{"notes":"Other",`),
			want: map[answered]int{delivered: 1, deliveredBefore: 1}, leads: 1},
		{name: "other account", play: otherBody(`{"partnerId":"harbour-leads-second",`),
			want: map[answered]int{delivered: 1, deliveredBefore: 1}, leads: 1},
		{name: "trailing newline", play: trailingNewline,
			want: map[answered]int{delivered: 1, deliveredBefore: 1}, leads: 1},
		{name: "other partner, shared quote", play: otherPartner(""),
			want: map[answered]int{delivered: 1, deliveredByOther: 1}, leads: 1},
		{name: "other partner, own quote", play: otherPartner("/p/harbour-leads"),
			want: map[answered]int{delivered: 1, anothersQuote: 1}, leads: 1},
		{name: "50 at once, same body", play: atOnce(false), want: map[answered]int{delivered: 1, replayed: 49}, leads: 1},
		{name: "50 at once, 50 bodies", play: atOnce(true),
			want: map[answered]int{delivered: 1, deliveredBefore: 49}, leads: 1},
		{name: "connection closed", play: cut(1, closed), want: map[answered]int{delivered: 1}, either: true, leads: 1},
		{name: "RST", play: cut(1, reset), want: map[answered]int{delivered: 1}, either: true, leads: 1},
		{name: "half body", play: cut(1, halfBody), want: map[answered]int{delivered: 1}, leads: 1},
		{name: "half close", play: cut(1, halfClose), want: map[answered]int{delivered: 1}, either: true, leads: 1},
		{name: "20 cut in flight", play: cut(20, reset), want: map[answered]int{delivered: 20}, either: true, leads: 20},
		{name: "Postgres frozen, then thawed", on: behindProxy, play: frozen,
			want: map[answered]int{notStored: 1, delivered: 1}, either: true, leads: 1},
		{name: "expired, delivered", play: expiredAfter,
			want: map[answered]int{delivered: 1, expiredDelivered: 2}, leads: 1},
		{name: "expired, not delivered", play: expiredBefore, want: map[answered]int{expiredUnsold: 1}},
		{name: "40 clients with short timeouts and a retry loop", play: impatientClients,
			want: map[answered]int{delivered: 40}, either: true, leads: 40},
		{name: "timestamp ±300", play: timestamps(-300, 300), want: map[answered]int{delivered: 1, replayed: 1}, leads: 1},
		{name: "timestamp ±301", play: timestamps(-301, 301), want: map[answered]int{outsideWindow: 2}},
		{name: "rotation overlap", play: rotation,
			want: map[answered]int{delivered: 3, replayed: 2, wrongSignature: 1}, leads: 3},
		{name: "cap", play: cappedPartner, want: map[answered]int{delivered: 9, capReached: 1, excluded: 1}, leads: 9},
		{name: "suspended partner", play: suspendedPartner, leads: 1, want: map[answered]int{
			delivered: 1, paused: 1, replayed: 1, deliveredBefore: 1, notActive: 1, expiredDelivered: 1, expiredUnsold: 1}},
		{name: "suspended account", play: suspendedAccount, leads: 1, want: map[answered]int{
			delivered: 1, replayed: 1, deliveredBefore: 1, notActive: 1, expiredDelivered: 1, expiredUnsold: 1}},
		{name: "sandbox-only partner", play: sandboxOnly,
			want: map[answered]int{delivered: 1, replayed: 1, anothersQuote: 1}, leads: 1, unpaid: true},
	} {
		t.Run(r.name, func(t *testing.T) {
			stored := node.StoredLeads(r.leads)
			if r.unpaid {
				stored.Entries = 0
			}
			n := cmp.Or(r.on, n)
			n.Stores(t, stored, func() { r.check(t, n, r.play(t, n)) })
		})
	}
	n.CheckNoPersonalData(t)
}

// check compares the responses with the row. All leadIds must belong to stored leads, and all responses
// about a lead must agree.
func (r *retryRow) check(t *testing.T, n *node.Node, answers []node.Answer) {
	t.Helper()
	got := map[answered]int{}
	bodies := map[string]string{} // by leadId
	for _, a := range answers {
		var body struct{ Code, Reason, LeadID, DeliveredAt string }
		if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
			t.Fatal(err)
		}
		answer := answered{a.Status, cmp.Or(body.Code, body.Reason), body.LeadID != "", body.DeliveredAt != "",
			a.Header.Get("Idempotent-Replayed") == "true"}
		if r.either && answer == replayed {
			answer = delivered
		}
		got[answer]++
		if body.LeadID == "" {
			continue
		}
		received := string(clock.AppendMillis(nil, n.Lead(t, body.LeadID).ReceivedAt))
		if body.DeliveredAt != "" && body.DeliveredAt != received {
			t.Errorf("%s: deliveredAt %s, but it was received at %s", body.LeadID, body.DeliveredAt, received)
		}
		if first, known := bodies[body.LeadID]; a.Status == http.StatusOK && first != "" && first != a.Body {
			t.Errorf("got %s, then %s", first, a.Body)
		} else if !known || a.Status == http.StatusOK {
			bodies[body.LeadID] = map[bool]string{true: a.Body}[a.Status == http.StatusOK]
		}
	}
	if len(bodies) != r.leads {
		t.Errorf("the responses are about %d leads, want %d", len(bodies), r.leads)
	}
	for answer, count := range r.want {
		if got[answer] != count {
			t.Errorf("%+v: got %d, want %d", answer, got[answer], count)
		}
		delete(got, answer)
	}
	if len(got) > 0 {
		t.Errorf("unexpected responses: %+v", got)
	}
}
