package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// TestRetryAfterTheDefaultAccountWentLive delivers a sandbox lead, gives the partner
// a live default account, and retries: the first answer comes again, another body
// gets 409, and expiry keeps its precedence (D3, D31).
func TestRetryAfterTheDefaultAccountWentLive(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	p := n.newPartner(t, "going-live", models.SigningRequired, partners.NewAccount{Identifier: "going-live-sandbox", Sandbox: true})
	body, undelivered := n.freshPost(t, p), n.freshPost(t, p)
	first := n.post(t, p, body)
	lead := decode[delivered](t, first).LeadID

	if _, err := n.service.CreateAccount(t.Context(), p.Partner, partners.NewAccount{Identifier: "going-live-main"}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "the node knows the live account", func() bool {
		return n.post(t, p, `{"partnerId":"going-live-main"}`).status == http.StatusBadRequest // 401 before
	})
	rejected := func(body string, status int, message string, leadID bool) {
		t.Helper()
		a := n.post(t, p, body)
		if a.status != status || !strings.Contains(a.body, message) || strings.Contains(a.body, lead) != leadID {
			t.Errorf("answered %d %s", a.status, a.body)
		}
	}
	another := strings.Replace(body, "{", `{"notes":"another",`, 1)
	n.stores(t, nothing, func() {
		if a := n.post(t, p, body); a.status != http.StatusOK || a.body != first.body || a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the retry: answered %d %s, want %s", a.status, a.body, first.body)
		}
		rejected(another, http.StatusConflict, "Transaction has already been delivered", true)
		rejected(undelivered, http.StatusBadRequest, "Invalid transactionId format", false)

		n.hands.Advance(quote.Validity + time.Millisecond)
		rejected(body, http.StatusBadRequest, "Transaction has expired", true)
		rejected(another, http.StatusBadRequest, "Transaction has expired", true)
	})
}
