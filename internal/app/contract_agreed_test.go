package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// agreed checks what was agreed with one partner and holds for no other: its
// prices, what it does not sell, its cap (D4, D5), and a sandbox (D25).
func agreed(t *testing.T, n *node) {
	p := n.newPartner(t, "special", models.SigningRequired)
	if _, err := n.root.Exec(context.Background(), `INSERT INTO partner_prices (partner_id, adjustment, exclusions, daily_lead_cap, updated_at)
		VALUES ($1, 500, '[{"category":"legal-services"},{"industry":"roofer","country":"DE"}]', 2, now())`, p.ID); err != nil {
		t.Fatal(err)
	}
	n.knows(t, p)
	ordinary := n.ping(t, "", leastPing)
	var own quoted
	testkit.Eventually(t, 2*time.Second, "the node knows the agreed price", func() bool {
		own = n.ping(t, p.base(), leastPing)
		return own.BidPrice != ordinary.BidPrice
	})
	if got, want := minor(t, own.BidPrice), minor(t, ordinary.BidPrice)*105; got*100 < want-50 || got*100 > want+50 {
		t.Errorf("it is paid %s where others are paid %s, want 5 %% more", own.BidPrice, ordinary.BidPrice)
	}
	declined := func(name, body, currency string) scenario {
		return scenario{name: name, path: p.base() + "/api/lead/ping", body: body, status: http.StatusOK,
			want: []string{`{"accepted":false,"bidPrice":0,"currency":"` + currency + `","reason":"excluded"}`}}
	}
	n.play(t, []scenario{
		declined("a category that it does not sell", `{"industry":"tax-lawyer","postcode":"1","country":"US"}`, "USD"),
		declined("an industry that it does not sell there", `{"industry":"roofer","postcode":"1","country":"DE"}`, "EUR"),
		{name: "the industry elsewhere", path: p.base() + "/api/lead/ping", body: `{"industry":"roofer","postcode":"1"}`, status: http.StatusOK, want: []string{`"accepted":true`}},
		{name: "others sell it", path: "/api/lead/ping", body: `{"industry":"tax-lawyer","postcode":"1"}`, status: http.StatusOK, want: []string{`"accepted":true`}},
		{name: "on a price that was told to everyone", by: func(*node) partner { return p }, body: withTransaction(leastPost, ordinary.TransactionID),
			status: http.StatusBadRequest, want: refusal("Invalid transactionId format")},
	})
	t.Run("cap", func(t *testing.T) { capped(t, n, p) })
	t.Run("sandbox", func(t *testing.T) { sandboxed(t, n) })
}

// capped fills a partner's day. A price that was told before holds.
func capped(t *testing.T, n *node, p partner) {
	told := n.freshPost(t, p)
	n.deliver(t, p, leastPost)
	l := n.lead(t, n.deliver(t, p, leastPost).LeadID)
	if l.Price != l.Accrued {
		t.Errorf("it was promised %d and booked %d", l.Price, l.Accrued)
	}
	testkit.Eventually(t, 3*time.Second, "the cap is reached", func() bool {
		q := n.ping(t, p.base(), leastPing)
		return !q.Accepted && q.Reason == "capped" && q.BidPrice == "0" && q.TransactionID == ""
	})
	n.stores(t, oneLead, func() { decode[delivered](t, n.post(t, p, told)) })
	n.hands.Advance(24 * time.Hour)
	testkit.Eventually(t, 3*time.Second, "a new day begins", func() bool { return n.ping(t, p.base(), leastPing).Accepted })
}

// sandboxed delivers to a sandbox: a lead like any other, but for the money. Its
// price buys nothing once the partner has an account in earnest.
func sandboxed(t *testing.T, n *node) {
	p := n.newPartner(t, "trying", models.SigningRequired, partners.NewAccount{Identifier: "trying-sandbox", Sandbox: true})
	n.knows(t, p)
	n.play(t, []scenario{{name: "its default account", by: func(*node) partner { return p }, body: leastPost, status: http.StatusOK,
		want: []string{`"status":"success"`}, stored: stored{leads: 1, consents: 1, events: 1}}})

	tx := n.ping(t, p.base(), leastPing).TransactionID
	if _, err := n.service.CreateAccount(t.Context(), p.Partner, partners.NewAccount{Identifier: "trying-real"}); err != nil {
		t.Fatal(err)
	}
	earnest := strings.Replace(leastPost, "{", `{"partnerId":"trying-real",`, 1)
	n.stores(t, stored{}, func() {
		testkit.Eventually(t, 3*time.Second, "a price of the sandbox is refused for a real lead", func() bool {
			a := n.post(t, p, withTransaction(earnest, tx)) // 401 until the node knows the account
			return a.status == http.StatusBadRequest && strings.Contains(a.body, "Invalid transactionId format")
		})
	})
	if l := n.lead(t, n.deliver(t, p, earnest).LeadID); l.Price == 0 || l.Accrued != l.Price {
		t.Errorf("in earnest it was promised %d and booked %d", l.Price, l.Accrued)
	}
}
