package intake_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/payload"
)

// A ping and a post with UK get the price and the phone number of GB, and a warning. A replay has the same
// warning.
func TestCountryAlias(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	warned := func(what string, warnings []payload.Warning) {
		t.Helper()
		if len(warnings) != 1 || warnings[0].Code != payload.CountryAlias {
			t.Errorf("%s: got warnings %v, want country_alias", what, warnings)
		}
	}
	usual := n.ping(t, shared, leastPing)
	ping := n.ping(t, shared, `{"industry":"plumber","postcode":"SW1A 1AA","country":"UK"}`)
	warned("ping", ping.Warnings)
	if len(usual.Warnings) > 0 || ping.Quote.Price != usual.Quote.Price || ping.Quote.Country != usual.Quote.Country {
		t.Errorf("got price %v and country %s, want those of GB", ping.Quote.Price, ping.Quote.Country)
	}
	r := n.signed(n.Required, n.Required.Slug,
		body(string(ping.TransactionID), `"phone":"020 7946 0018"`, `"country":"uk"`))
	first := n.post(t, r)
	warned("post", first.Warnings)
	warned("replay", n.post(t, r).Warnings)
	if got := see[string](t, n, `SELECT country FROM leads WHERE id = $1`, first.LeadID); got != "GB" {
		t.Errorf("the lead has the country %s", got)
	}
	if see[bool](t, n, `SELECT phone_digest IS NULL FROM leads WHERE id = $1`, first.LeadID) {
		t.Error("the phone number was not normalised")
	}
}
