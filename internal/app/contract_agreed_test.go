package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// agreed checks what was agreed with one partner and holds for no other: its
// prices, what it does not sell, its cap (D4, D5), and a sandbox (D25).
func agreed(t *testing.T, n *node) {
	p := n.newPartner(t, "special", models.SigningRequired)
	ordinary := n.ping(t, "", leastPing)
	if own := n.ping(t, p.base(), leastPing); own.BidPrice != ordinary.BidPrice {
		t.Errorf("before anything is agreed it is paid %s, others %s", own.BidPrice, ordinary.BidPrice)
	}
	const notSold = "category legal-services\nindustry roofer, country DE"
	own := n.agree(t, p, 0, partners.PriceForm{Adjustment: "+5", Exclusions: notSold})
	if got, want := minor(t, own.BidPrice), minor(t, ordinary.BidPrice)*105; got*100 < want-50 || got*100 > want+50 {
		t.Errorf("it is paid %s where others are paid %s, want 5 %% more", own.BidPrice, ordinary.BidPrice)
	}
	n.hands.Advance(time.Minute)
	later := n.ping(t, "", leastPing)
	declined := func(name, body, currency string) scenario {
		return scenario{name: name, path: p.base() + "/api/lead/ping", body: body, status: http.StatusOK,
			want: []string{`{"accepted":false,"bidPrice":0,"currency":"` + currency + `","reason":"excluded"}`}}
	}
	n.play(t, []scenario{
		declined("a category that it does not sell", `{"industry":"tax-lawyer","postcode":"1","country":"US"}`, "USD"),
		declined("an industry that it does not sell there", `{"industry":"roofer","postcode":"1","country":"DE"}`, "EUR"),
		{name: "the industry elsewhere", path: p.base() + "/api/lead/ping", body: `{"industry":"roofer","postcode":"1"}`, status: http.StatusOK, want: []string{`"accepted":true`}},
		{name: "others sell it", path: "/api/lead/ping", body: `{"industry":"tax-lawyer","postcode":"1"}`, status: http.StatusOK, want: []string{`"accepted":true`}},
		{name: "on a quote of the shared address from before", by: func(*node) partner { return p }, body: withTransaction(leastPost, ordinary.TransactionID),
			status: http.StatusOK, want: []string{`"status":"success"`}, stored: oneLead},
		{name: "on a later quote of the shared address", by: func(*node) partner { return p }, body: withTransaction(leastPost, later.TransactionID),
			status: http.StatusBadRequest, want: refusal("Invalid transactionId format")},
	})
	t.Run("changed", func(t *testing.T) {
		half := n.agree(t, p, 1, partners.PriceForm{Adjustment: "-50", DailyLeadCap: "4", Exclusions: notSold})
		if got, want := 2*minor(t, half.BidPrice), minor(t, ordinary.BidPrice); got < want-1 || got > want+1 {
			t.Errorf("it is paid %s where others are paid %s, want half", half.BidPrice, ordinary.BidPrice)
		}
		if shared := n.ping(t, "", leastPing); shared.BidPrice != ordinary.BidPrice {
			t.Errorf("on the shared address %s became %s", ordinary.BidPrice, shared.BidPrice)
		}
		// What was told before is what is paid.
		told := decode[delivered](t, n.post(t, p, withTransaction(leastPost, own.TransactionID)))
		if l := n.lead(t, told.LeadID); l.Price != minor(t, own.BidPrice) || l.Accrued != l.Price {
			t.Errorf("it was promised %s and booked %d", own.BidPrice, l.Accrued)
		}
	})
	t.Run("cap", func(t *testing.T) { capped(t, n, p) })
	t.Run("sandbox", func(t *testing.T) { sandboxed(t, n) })
}

// agree changes what a partner has of its own, as the console does, and returns the
// first ping that is answered by it: within a second.
func (n *node) agree(t *testing.T, p partner, version int, f partners.PriceForm) (first quoted) {
	t.Helper()
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	before := n.ping(t, p.base(), leastPing)
	if err := n.service.SetOwnPrice(t.Context(), scope.System, p.ID, version, f, taxonomy); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Second, "the node knows the agreed price", func() bool {
		first = n.ping(t, p.base(), leastPing)
		return first.Accepted != before.Accepted || first.BidPrice != before.BidPrice
	})
	return first
}

// capped sells a partner's two leads of the day. A price quoted before that holds, and
// the shared address is not affected.
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
	if !n.ping(t, "", leastPing).Accepted {
		t.Error("the shared address gives no price either")
	}
	n.stores(t, oneLead, func() { decode[delivered](t, n.post(t, p, told)) })
	n.hands.Advance(24 * time.Hour)
	testkit.Eventually(t, 3*time.Second, "a new day begins", func() bool { return n.ping(t, p.base(), leastPing).Accepted })
}

// sandboxed delivers to a sandbox: a lead like any other, but for the money. Its
// price buys nothing once the partner has an account in earnest.
func sandboxed(t *testing.T, n *node) {
	p := n.newPartner(t, "trying", models.SigningRequired, partners.NewAccount{Identifier: "trying-sandbox", Sandbox: true})
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
