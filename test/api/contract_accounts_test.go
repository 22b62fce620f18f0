package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// accountSelection tests how the service finds a post's account. It tries, in this order, the
// partnerId in the body, the base URL, the quote's partner, the secret, and the platform account
// (decision 13).
func accountSelection(t *testing.T, n *node.Node) {
	const shared = "/api/lead/post"
	withPartnerID := func(account string) string {
		return strings.Replace(node.MinimalPost, "{", `{"partnerId":"`+account+`",`, 1)
	}
	quotedFor := func(p node.Partner) string {
		return node.WithTransaction(node.MinimalPost, n.Ping(t, p.Base(), node.MinimalPing).TransactionID)
	}
	unsigned := []func(*node.Request){without(timestampHeader), without(signatureHeader)}
	accepted := func(name string, by func(*node.Node) node.Partner, path, body string, change ...func(*node.Request)) scenario {
		return scenario{
			name:   name,
			by:     by,
			path:   path,
			body:   body,
			change: change,
			status: http.StatusOK,
			want:   []string{`"status":"success"`},
			stored: node.OneLead,
		}
	}
	rejected := func(name string, by func(*node.Node) node.Partner, path, body string, r spec.Rejection, change ...func(*node.Request)) scenario {
		return scenario{
			name:   name,
			by:     by,
			path:   path,
			body:   body,
			change: change,
			status: http.StatusUnauthorized,
			want:   rejection(r),
		}
	}
	play(t, n, []scenario{
		accepted("own base URL", required, "", node.MinimalPost),
		accepted("own base URL, second account", required, "", withPartnerID(n.Required.Accounts[1])),
		accepted("shared, by partnerId", required, shared, withPartnerID(n.Required.Accounts[1])),
		accepted("shared, by partnerId, unsigned", off, shared, withPartnerID(n.Off.Accounts[1]), unsigned...),
		accepted("shared, by the quote", required, shared, quotedFor(n.Required)),
		accepted("shared, by the quote, unsigned", off, shared, quotedFor(n.Off), unsigned...),
		accepted("shared, by the secret", required, shared, node.MinimalPost),
		accepted("shared, by another partner's secret", reportOnly, shared, node.MinimalPost),

		rejected("an unknown partnerId", required, shared, withPartnerID(node.Marker), spec.BadSignature),
		rejected("partnerId in another letter case", required, shared, withPartnerID(strings.ToUpper(n.Required.Accounts[0])),
			spec.BadSignature),
		rejected("shared, another partner's partnerId is not ignored", required, shared, withPartnerID(n.Off.Accounts[0]), spec.BadSignature),
		rejected("shared, another partner's quote is not ignored", required, shared, quotedFor(n.Off), spec.BadSignature),
		rejected("an unknown secret", required, shared, node.MinimalPost, spec.BadSignature,
			with(signatureHeader, strings.Repeat("0", 64))),
		rejected("an unknown partnerId, unsigned", off, shared, withPartnerID(node.Marker), spec.SignatureMissing, unsigned...),
		rejected("unsigned, without a partner (platform account)", off, shared, node.MinimalPost, spec.SignatureMissing,
			unsigned...),
		rejected("unsigned, but the quote's partner must sign", required, shared, quotedFor(n.Required),
			spec.SignatureMissing, unsigned...),
	})
	t.Run("accounts", func(t *testing.T) { storedAccounts(t, n) })
	named := n.Post(t, n.Required, withPartnerID(n.Off.Accounts[0]))
	if named.Status != http.StatusBadRequest || !strings.Contains(named.Body, `"path":["partnerId"]`) {
		t.Errorf("another partner's partnerId on the own base URL: got %d %s", named.Status, named.Body)
	}
	t.Run("suspended", func(t *testing.T) { suspended(t, n) })
}

// storedAccounts checks which account each lead is stored for.
func storedAccounts(t *testing.T, n *node.Node) {
	for account, body := range map[string]string{
		n.Required.Accounts[0]: node.MinimalPost,
		n.Required.Accounts[1]: strings.Replace(node.MinimalPost, "{", `{"partnerId":"`+n.Required.Accounts[1]+`",`, 1),
	} {
		if l := n.Lead(t, n.Deliver(t, n.Required, body).LeadID); l.Account != account || l.PartnerID != n.Required.ID {
			t.Errorf("got account %s with partner %s, want %s with %s", l.Account, l.PartnerID, account, n.Required.ID)
		}
	}
}

// suspended suspends a partner while the node is running. The node rejects the partner's posts
// immediately, even if its directory is out of date. It declines the partner's pings as soon as it has read
// the change.
func suspended(t *testing.T, n *node.Node) {
	p := n.NewPartner(t, "leaving", models.SigningOff)
	tx := n.Ping(t, p.Base(), node.MinimalPing).TransactionID
	if err := n.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	n.Stores(t, node.Nothing, func() {
		if a := n.Post(t, p, node.WithTransaction(node.MinimalPost, tx)); a.Status != http.StatusForbidden ||
			!strings.Contains(a.Body, spec.NotActive.Start()) {
			t.Errorf("signed: got %d %s", a.Status, a.Body)
		}
		a := n.Do(t, node.Request{Path: p.Base() + "/api/lead/post", Body: node.WithTransaction(node.MinimalPost, tx)})
		if a.Status != http.StatusUnauthorized || !strings.Contains(a.Body, spec.SignatureMissing.Start()) {
			t.Errorf("unsigned: got %d %s", a.Status, a.Body)
		}
	})
	testkit.Eventually(t, time.Minute, "pings are declined", func() bool {
		q := n.Ping(t, p.Base(), node.MinimalPing)
		return !q.Accepted && q.Reason == "paused" && q.BidPrice == "0" && q.TransactionID == "" && q.ExpiresAt.IsZero()
	})
	if err := n.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "pings are priced again", func() bool { return n.Ping(t, p.Base(), node.MinimalPing).Accepted })
	n.Stores(t, node.OneLead, func() { n.Deliver(t, p, node.MinimalPost) })
}
