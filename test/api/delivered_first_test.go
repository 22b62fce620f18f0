package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
	"github.com/pingpost/pingpost/test/spec"
)

// TestRetryAfterDefaultAccountWentLive delivers a sandbox lead, adds a live default account, and then
// retries the post. The same body gets the first response again, a different body gets 409, and an
// expired transaction is still rejected (decisions 3 and 31).
func TestRetryAfterDefaultAccountWentLive(t *testing.T) {
	t.Parallel()
	n := node.Start(t)
	p := n.NewPartner(t, "going-live", models.SigningRequired, partners.NewAccount{
		Identifier: "going-live-sandbox",
		Sandbox:    true,
	})
	body, undelivered := n.FreshPost(t, p), n.FreshPost(t, p)
	first := n.Post(t, p, body)
	lead := node.Decode[node.Delivered](t, first).LeadID

	if _, err := n.Partners.CreateAccount(t.Context(), scope.System, p.Partner, partners.NewAccount{Identifier: "going-live-main"}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, "the node knows the live account", func() bool {
		return n.Post(t, p, `{"partnerId":"going-live-main"}`).Status == http.StatusBadRequest // 401 while the account is unknown
	})
	rejected := func(body string, status int, r spec.Rejection, leadID bool) {
		t.Helper()
		a := n.Post(t, p, body)
		if a.Status != status || !strings.Contains(a.Body, r.Start()) || strings.Contains(a.Body, lead) != leadID {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	}
	another := strings.Replace(body, "{", `{"notes":"another",`, 1)
	n.Stores(t, node.Nothing, func() {
		if a := n.Post(t, p, body); a.Status != http.StatusOK || a.Body != first.Body ||
			a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("retry: got %d %s, want %s", a.Status, a.Body, first.Body)
		}
		rejected(another, http.StatusConflict, spec.AlreadyDelivered, true)
		rejected(undelivered, http.StatusBadRequest, spec.InvalidTransactionID, false)

		n.Manual.Advance(quote.Validity + time.Millisecond)
		rejected(body, http.StatusBadRequest, spec.ExpiredAfterDelivery, true)
		rejected(another, http.StatusBadRequest, spec.ExpiredAfterDelivery, true)
	})
}
