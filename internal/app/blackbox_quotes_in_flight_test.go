package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/models"
)

// TestAgreementHonoursQuotesInFlight prices leads on the shared address, on two
// nodes whose clocks differ, and then agrees a price, an exclusion or a cap with a
// partner. The partner's posts on those quotes are accepted for their 15 minutes,
// and its posts on later quotes of the shared address are rejected (D5).
func TestAgreementHonoursQuotesInFlight(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	ahead := clock.NewManual(began)
	other := n.startBeside(t, ahead)
	for name, terms := range map[string]partners.PriceForm{
		"price":     {Adjustment: "-40"},
		"exclusion": {Exclusions: "country GB"},
		"cap":       {DailyLeadCap: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := n.newPartner(t, "terms-"+name, models.SigningRequired)
			n.deliver(t, p, leastPost) // a cap of 1 is reached
			ahead.Set(n.hands.Now().Add(quote.MaxAhead))
			shared := func() quoted { return n.ping(t, "", leastPing) }
			before, expiring := shared(), shared()
			onOtherNode := n.pingOn(t, other)

			n.agree(t, p, 0, terms)
			for _, q := range []quoted{before, onOtherNode} {
				accepted := decode[delivered](t, n.post(t, p, withTransaction(leastPost, q.TransactionID)))
				if accepted.Payout != q.BidPrice {
					t.Errorf("quoted %s, paid %s", q.BidPrice, accepted.Payout)
				}
			}

			n.hands.Advance(3 * quote.MaxAhead)
			after := shared()
			n.rejects(t, p, after, "Invalid transactionId format")
			decode[delivered](t, n.post(t, n.required, withTransaction(leastPost, after.TransactionID)))

			n.hands.Advance(quote.Validity - 3*quote.MaxAhead)
			decode[delivered](t, n.post(t, p, withTransaction(leastPost, expiring.TransactionID)))
		})
	}
	t.Run("terms that end and begin again", func(t *testing.T) { termsBeginAgain(t, n) })
}

// termsBeginAgain removes a partner's terms and agrees others. Quotes issued in between
// are honoured, and editing active terms changes nothing.
func termsBeginAgain(t *testing.T, n *node) {
	p := n.newPartner(t, "twice-agreed", models.SigningRequired)
	n.agree(t, p, 0, partners.PriceForm{Adjustment: "-10"})
	n.hands.Advance(time.Minute)
	during := n.ping(t, "", leastPing)
	n.agree(t, p, 1, partners.PriceForm{Adjustment: "-20"})
	n.rejects(t, p, during, "Invalid transactionId format")

	n.agree(t, p, 2, partners.PriceForm{})
	n.hands.Advance(time.Minute)
	between := n.ping(t, "", leastPing)
	n.hands.Advance(time.Minute)
	n.agree(t, p, 3, partners.PriceForm{Adjustment: "-30"})
	decode[delivered](t, n.post(t, p, withTransaction(leastPost, between.TransactionID)))
	n.hands.Advance(time.Minute)
	n.rejects(t, p, n.ping(t, "", leastPing), "Invalid transactionId format")
}

// rejects checks that a post on the quote is rejected and stores nothing.
func (n *node) rejects(t *testing.T, p partner, q quoted, message string) {
	t.Helper()
	n.stores(t, nothing, func() {
		if a := n.post(t, p, withTransaction(leastPost, q.TransactionID)); a.status != http.StatusBadRequest || !strings.Contains(a.body, message) {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	})
}

// startBeside starts a second node on the same database, with a clock of its own.
func (n *node) startBeside(t *testing.T, c clock.Clock) *app.App {
	t.Helper()
	other, err := app.Start(t.Context(), app.Options{Config: n.cfg, Environment: "development", Clock: c, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Stop(context.Background()); err != nil {
			t.Error("stopping the second node:", err)
		}
	})
	return other
}

// pingOn asks another node for a price, on the shared address.
func (n *node) pingOn(t *testing.T, other *app.App) quoted {
	t.Helper()
	own := n.api
	defer func() { n.api = own }()
	n.api = "http://" + other.APIAddr()
	return n.ping(t, "", leastPing)
}
