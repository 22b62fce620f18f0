package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// partnerPrices checks a partner's own prices, exclusions and cap (decisions 4 and 5) and a sandbox
// account (decision 25).
func partnerPrices(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "special", models.SigningRequired)
	ordinary := n.Ping(t, "", node.MinimalPing)
	if own := n.Ping(t, p.Base(), node.MinimalPing); own.BidPrice != ordinary.BidPrice {
		t.Errorf("before the agreement: got price %s, other partners get %s", own.BidPrice, ordinary.BidPrice)
	}
	const exclusions = "category legal-services\nindustry roofer, country DE"
	own := agreePrice(t, n, p, 0, partners.PriceForm{Adjustment: "+5", Exclusions: exclusions})
	if got, want := minor(t, own.BidPrice), minor(t, ordinary.BidPrice)*105; got*100 < want-50 || got*100 > want+50 {
		t.Errorf("got price %s, other partners get %s, want 5 %% more", own.BidPrice, ordinary.BidPrice)
	}
	n.Manual.Advance(time.Minute)
	later := n.Ping(t, "", node.MinimalPing)
	declined := func(name, body, currency string) scenario {
		return scenario{name: name, path: p.Base() + "/api/lead/ping", body: body, status: http.StatusOK,
			want: []string{`{"accepted":false,"bidPrice":0,"currency":"` + currency + `","reason":"excluded"}`}}
	}
	play(t, n, []scenario{
		declined("an excluded category", `{"industry":"tax-lawyer","postcode":"1","country":"US"}`, "USD"),
		declined("an industry that is excluded in the country", `{"industry":"roofer","postcode":"1","country":"DE"}`, "EUR"),
		{
			name:   "the same industry in another country",
			path:   p.Base() + "/api/lead/ping",
			body:   `{"industry":"roofer","postcode":"1"}`,
			status: http.StatusOK,
			want:   []string{`"accepted":true`},
		},
		{
			name:   "the excluded category for other partners",
			path:   "/api/lead/ping",
			body:   `{"industry":"tax-lawyer","postcode":"1"}`,
			status: http.StatusOK,
			want:   []string{`"accepted":true`},
		},
		{
			name:   "on an earlier quote from the shared base URL",
			by:     func(*node.Node) node.Partner { return p },
			body:   node.WithTransaction(node.MinimalPost, ordinary.TransactionID),
			status: http.StatusOK,
			want:   []string{`"status":"success"`},
			stored: node.OneLead,
		},
		{
			name:   "on a later quote from the shared base URL",
			by:     func(*node.Node) node.Partner { return p },
			body:   node.WithTransaction(node.MinimalPost, later.TransactionID),
			status: http.StatusBadRequest,
			want:   rejection(spec.InvalidTransactionID),
		},
	})
	t.Run("changed", func(t *testing.T) {
		half := agreePrice(t, n, p, 1, partners.PriceForm{Adjustment: "-50", DailyLeadCap: "4", Exclusions: exclusions})
		if got, want := 2*minor(t, half.BidPrice), minor(t, ordinary.BidPrice); got < want-1 || got > want+1 {
			t.Errorf("got price %s, other partners get %s, want half", half.BidPrice, ordinary.BidPrice)
		}
		if shared := n.Ping(t, "", node.MinimalPing); shared.BidPrice != ordinary.BidPrice {
			t.Errorf("shared base URL: price changed from %s to %s", ordinary.BidPrice, shared.BidPrice)
		}
		// The price that was quoted earlier is paid.
		delivered := node.Decode[node.Delivered](t, n.Post(t, p, node.WithTransaction(node.MinimalPost, own.TransactionID)))
		if l := n.Lead(t, delivered.LeadID); l.Price != minor(t, own.BidPrice) || l.Accrued != l.Price {
			t.Errorf("quoted %s, accrued %d", own.BidPrice, l.Accrued)
		}
	})
	t.Run("cap", func(t *testing.T) { capped(t, n, p) })
	t.Run("sandbox", func(t *testing.T) { sandboxed(t, n) })
}

// agreePrice changes a partner's terms as the console does, and waits until the node uses the new terms. It
// returns the first quote with the new terms.
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
	testkit.Eventually(t, time.Minute, "the node knows the agreed price", func() bool {
		first = n.Ping(t, p.Base(), node.MinimalPing)
		return first.Accepted != before.Accepted || first.BidPrice != before.BidPrice
	})
	return first
}

// capped delivers two leads, which reaches the partner's daily cap. An earlier quote remains valid, and
// the shared base URL is not affected.
func capped(t *testing.T, n *node.Node, p node.Partner) {
	quoted := n.FreshPost(t, p)
	n.Deliver(t, p, node.MinimalPost)
	l := n.Lead(t, n.Deliver(t, p, node.MinimalPost).LeadID)
	if l.Price != l.Accrued {
		t.Errorf("quoted %d, accrued %d", l.Price, l.Accrued)
	}
	testkit.Eventually(t, time.Minute, "the cap is reached", func() bool {
		q := n.Ping(t, p.Base(), node.MinimalPing)
		return !q.Accepted && q.Reason == "capped" && q.BidPrice == "0" && q.TransactionID == ""
	})
	if !n.Ping(t, "", node.MinimalPing).Accepted {
		t.Error("the shared base URL does not quote a price")
	}
	n.Stores(t, node.OneLead, func() { node.Decode[node.Delivered](t, n.Post(t, p, quoted)) })
	n.Manual.Advance(24 * time.Hour)
	testkit.Eventually(t, time.Minute, "a new day begins",
		func() bool { return n.Ping(t, p.Base(), node.MinimalPing).Accepted })
}

// sandboxed delivers a lead for a sandbox account. The lead is stored without a payout. When the partner
// gets a live account, sandbox quotes cannot be used for that account.
func sandboxed(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "trying", models.SigningRequired, partners.NewAccount{
		Identifier: "trying-sandbox",
		Sandbox:    true,
	})
	play(t, n, []scenario{{
		name:   "sandbox account as the default",
		by:     func(*node.Node) node.Partner { return p },
		body:   node.MinimalPost,
		status: http.StatusOK,
		want:   []string{`"status":"success"`, `"currency":"GBP","sandbox":true`},
		stored: node.Stored{Leads: 1, Consents: 1, Events: 1},
	}})

	tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
	if _, err := n.Partners.CreateAccount(t.Context(), scope.System, p.Partner, partners.NewAccount{Identifier: "trying-real"}); err != nil {
		t.Fatal(err)
	}
	live := strings.Replace(node.MinimalPost, "{", `{"partnerId":"trying-real",`, 1)
	n.Stores(t, node.Stored{}, func() {
		testkit.Eventually(t, time.Minute, "a sandbox quote is rejected for a live account", func() bool {
			a := n.Post(t, p, node.WithTransaction(live, tx)) // 401 until the node knows the account
			return a.Status == http.StatusBadRequest && strings.Contains(a.Body, spec.InvalidTransactionID.Start())
		})
	})
	if l := n.Lead(t, n.Deliver(t, p, live).LeadID); l.Price == 0 || l.Accrued != l.Price {
		t.Errorf("live account: quoted %d, accrued %d", l.Price, l.Accrued)
	}
}
