package api

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
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// partnerPrices checks what was agreed with one partner and holds for no other: its
// prices, what it does not sell, its cap (decisions 4, 5), and a sandbox (decision 25).
func partnerPrices(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "special", models.SigningRequired)
	ordinary := n.Ping(t, "", node.MinimalPing)
	if own := n.Ping(t, p.Base(), node.MinimalPing); own.BidPrice != ordinary.BidPrice {
		t.Errorf("before anything is agreed it is paid %s, others %s", own.BidPrice, ordinary.BidPrice)
	}
	const notSold = "category legal-services\nindustry roofer, country DE"
	own := agreePrice(t, n, p, 0, partners.PriceForm{Adjustment: "+5", Exclusions: notSold})
	if got, want := minor(t, own.BidPrice), minor(t, ordinary.BidPrice)*105; got*100 < want-50 || got*100 > want+50 {
		t.Errorf("it is paid %s where others are paid %s, want 5 %% more", own.BidPrice, ordinary.BidPrice)
	}
	n.Manual.Advance(time.Minute)
	later := n.Ping(t, "", node.MinimalPing)
	declined := func(name, body, currency string) scenario {
		return scenario{name: name, path: p.Base() + "/api/lead/ping", body: body, status: http.StatusOK,
			want: []string{`{"accepted":false,"bidPrice":0,"currency":"` + currency + `","reason":"excluded"}`}}
	}
	play(t, n, []scenario{
		declined("a category that it does not sell", `{"industry":"tax-lawyer","postcode":"1","country":"US"}`, "USD"),
		declined("an industry that it does not sell there", `{"industry":"roofer","postcode":"1","country":"DE"}`, "EUR"),
		{
			name:   "the industry elsewhere",
			path:   p.Base() + "/api/lead/ping",
			body:   `{"industry":"roofer","postcode":"1"}`,
			status: http.StatusOK,
			want:   []string{`"accepted":true`},
		},
		{
			name:   "others sell it",
			path:   "/api/lead/ping",
			body:   `{"industry":"tax-lawyer","postcode":"1"}`,
			status: http.StatusOK,
			want:   []string{`"accepted":true`},
		},
		{
			name:   "on a quote of the shared address from before",
			by:     func(*node.Node) node.Partner { return p },
			body:   node.WithTransaction(node.MinimalPost, ordinary.TransactionID),
			status: http.StatusOK,
			want:   []string{`"status":"success"`},
			stored: node.OneLead,
		},
		{
			name:   "on a later quote of the shared address",
			by:     func(*node.Node) node.Partner { return p },
			body:   node.WithTransaction(node.MinimalPost, later.TransactionID),
			status: http.StatusBadRequest,
			want:   rejection(spec.InvalidTransactionID),
		},
	})
	t.Run("changed", func(t *testing.T) {
		half := agreePrice(t, n, p, 1, partners.PriceForm{Adjustment: "-50", DailyLeadCap: "4", Exclusions: notSold})
		if got, want := 2*minor(t, half.BidPrice), minor(t, ordinary.BidPrice); got < want-1 || got > want+1 {
			t.Errorf("it is paid %s where others are paid %s, want half", half.BidPrice, ordinary.BidPrice)
		}
		if shared := n.Ping(t, "", node.MinimalPing); shared.BidPrice != ordinary.BidPrice {
			t.Errorf("on the shared address %s became %s", ordinary.BidPrice, shared.BidPrice)
		}
		// What was told before is what is paid.
		told := node.Decode[node.Delivered](t, n.Post(t, p, node.WithTransaction(node.MinimalPost, own.TransactionID)))
		if l := n.Lead(t, told.LeadID); l.Price != minor(t, own.BidPrice) || l.Accrued != l.Price {
			t.Errorf("it was promised %s and booked %d", own.BidPrice, l.Accrued)
		}
	})
	t.Run("cap", func(t *testing.T) { capped(t, n, p) })
	t.Run("sandbox", func(t *testing.T) { sandboxed(t, n) })
}

// agreePrice changes what a partner has of its own, as the console does, and returns the
// first ping that is answered by it: within a second.
func agreePrice(t *testing.T, n *node.Node, p node.Partner, version int, f partners.PriceForm) (first node.Quoted) {
	t.Helper()
	taxonomy, _, _, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	before := n.Ping(t, p.Base(), node.MinimalPing)
	if err := n.Partners.SetPricing(t.Context(), scope.System, p.ID, version, f, taxonomy); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Second, "the node knows the agreed price", func() bool {
		first = n.Ping(t, p.Base(), node.MinimalPing)
		return first.Accepted != before.Accepted || first.BidPrice != before.BidPrice
	})
	return first
}

// capped sells a partner's two leads of the day. A price quoted before that holds, and
// the shared address is not affected.
func capped(t *testing.T, n *node.Node, p node.Partner) {
	told := n.FreshPost(t, p)
	n.Deliver(t, p, node.MinimalPost)
	l := n.Lead(t, n.Deliver(t, p, node.MinimalPost).LeadID)
	if l.Price != l.Accrued {
		t.Errorf("it was promised %d and booked %d", l.Price, l.Accrued)
	}
	testkit.Eventually(t, 3*time.Second, "the cap is reached", func() bool {
		q := n.Ping(t, p.Base(), node.MinimalPing)
		return !q.Accepted && q.Reason == "capped" && q.BidPrice == "0" && q.TransactionID == ""
	})
	if !n.Ping(t, "", node.MinimalPing).Accepted {
		t.Error("the shared address gives no price either")
	}
	n.Stores(t, node.OneLead, func() { node.Decode[node.Delivered](t, n.Post(t, p, told)) })
	n.Manual.Advance(24 * time.Hour)
	testkit.Eventually(t, 3*time.Second, "a new day begins",
		func() bool { return n.Ping(t, p.Base(), node.MinimalPing).Accepted })
}

// sandboxed delivers to a sandbox: a lead like any other, but for the money. Its
// price buys nothing once the partner has an account in earnest.
func sandboxed(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "trying", models.SigningRequired, partners.NewAccount{
		Identifier: "trying-sandbox",
		Sandbox:    true,
	})
	play(t, n, []scenario{{
		name:   "its default account",
		by:     func(*node.Node) node.Partner { return p },
		body:   node.MinimalPost,
		status: http.StatusOK,
		want:   []string{`"status":"success"`},
		stored: node.Stored{Leads: 1, Consents: 1, Events: 1},
	}})

	tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
	if _, err := n.Partners.CreateAccount(t.Context(), p.Partner, partners.NewAccount{Identifier: "trying-real"}); err != nil {
		t.Fatal(err)
	}
	earnest := strings.Replace(node.MinimalPost, "{", `{"partnerId":"trying-real",`, 1)
	n.Stores(t, node.Stored{}, func() {
		testkit.Eventually(t, 3*time.Second, "a price of the sandbox is refused for a real lead", func() bool {
			a := n.Post(t, p, node.WithTransaction(earnest, tx)) // 401 until the node knows the account
			return a.Status == http.StatusBadRequest && strings.Contains(a.Body, spec.InvalidTransactionID)
		})
	})
	if l := n.Lead(t, n.Deliver(t, p, earnest).LeadID); l.Price == 0 || l.Accrued != l.Price {
		t.Errorf("in earnest it was promised %d and booked %d", l.Price, l.Accrued)
	}
}
