package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// whosePostItIs walks through the order in which a post finds its partner: the
// body's partnerId, the base URL, the quote's partner, the secret, the house
// account (D13).
func whosePostItIs(t *testing.T, n *node) {
	const shared = "/api/lead/post"
	named := func(account string) string { return strings.Replace(leastPost, "{", `{"partnerId":"`+account+`",`, 1) }
	quotedFor := func(p partner) string {
		return withTransaction(leastPost, n.ping(t, p.base(), leastPing).TransactionID)
	}
	unsigned := []func(*request){away(timestampHeader), away(signatureHeader)}
	accepted := func(name string, by func(*node) partner, path, body string, change ...func(*request)) scenario {
		return scenario{name: name, by: by, path: path, body: body, change: change, status: http.StatusOK, want: []string{`"status":"success"`}, stored: oneLead}
	}
	refused := func(name string, by func(*node) partner, path, body, message string, change ...func(*request)) scenario {
		return scenario{name: name, by: by, path: path, body: body, change: change, status: http.StatusUnauthorized, want: refusal(message)}
	}
	n.play(t, []scenario{
		accepted("own base URL", required, "", leastPost),
		accepted("own base URL, another account of its own", required, "", named(n.required.accounts[1])),
		accepted("shared, by partnerId", required, shared, named(n.required.accounts[1])),
		accepted("shared, by partnerId, unsigned", off, shared, named(n.off.accounts[1]), unsigned...),
		accepted("shared, by the quote", required, shared, quotedFor(n.required)),
		accepted("shared, by the quote, unsigned", off, shared, quotedFor(n.off), unsigned...),
		accepted("shared, by the secret", required, shared, leastPost),
		accepted("shared, by the secret of another", reportOnly, shared, leastPost),

		refused("an unknown partnerId", required, shared, named(marker), badSignature),
		refused("partnerId in another letter case", required, shared, named(strings.ToUpper(n.required.accounts[0])), badSignature),
		refused("a partnerId of another partner, on the own base URL", required, "", named(n.off.accounts[0]), badSignature),
		refused("a partnerId does not fall through to the secret", required, shared, named(n.off.accounts[0]), badSignature),
		refused("the quote's partner does not fall through to the secret", required, shared, quotedFor(n.off), badSignature),
		refused("a secret that nobody has", required, shared, leastPost, badSignature, with(signatureHeader, strings.Repeat("0", 64))),
		refused("an unknown partnerId, unsigned", off, shared, named(marker), noSignature, unsigned...),
		refused("nobody is named, unsigned: the house account", off, shared, leastPost, noSignature, unsigned...),
		refused("the quote's partner signs, so an unsigned post is refused", required, shared, quotedFor(n.required), noSignature, unsigned...),
	})
	t.Run("accounts", func(t *testing.T) { accountsOf(t, n) })
	t.Run("suspended", func(t *testing.T) { suspended(t, n) })
}

// accountsOf checks which account a lead is booked on.
func accountsOf(t *testing.T, n *node) {
	for account, body := range map[string]string{
		n.required.accounts[0]: leastPost,
		n.required.accounts[1]: strings.Replace(leastPost, "{", `{"partnerId":"`+n.required.accounts[1]+`",`, 1),
	} {
		if l := n.lead(t, n.deliver(t, n.required, body).LeadID); l.Account != account || l.PartnerID != n.required.ID {
			t.Errorf("booked on %s of %s, want %s", l.Account, l.PartnerID, account)
		}
	}
}

// suspended takes a partner out while the node runs. Its posts are refused at
// once, whatever the node's directory still says, and its prices pause within a
// second.
func suspended(t *testing.T, n *node) {
	p := n.newPartner(t, "leaving", models.SigningOff)
	tx := n.ping(t, p.base(), leastPing).TransactionID
	if err := n.service.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	n.stores(t, nothing, func() {
		if a := n.post(t, p, withTransaction(leastPost, tx)); a.status != http.StatusUnauthorized || !strings.Contains(a.body, badSignature) {
			t.Errorf("signed: answered %d %s", a.status, a.body)
		}
		a := n.do(t, request{path: p.base() + "/api/lead/post", body: withTransaction(leastPost, tx)})
		if a.status != http.StatusUnauthorized || !strings.Contains(a.body, noSignature) {
			t.Errorf("unsigned: answered %d %s", a.status, a.body)
		}
	})
	testkit.Eventually(t, 2*time.Second, "prices pause", func() bool {
		q := n.ping(t, p.base(), leastPing)
		return !q.Accepted && q.Reason == "paused" && q.BidPrice == "0" && q.TransactionID == "" && q.ExpiresAt.IsZero()
	})
	if err := n.service.SetStatus(t.Context(), scope.System, p.ID, models.PartnerApproved); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 2*time.Second, "prices are back", func() bool { return n.ping(t, p.base(), leastPing).Accepted })
	n.stores(t, oneLead, func() { n.deliver(t, p, leastPost) })
}
