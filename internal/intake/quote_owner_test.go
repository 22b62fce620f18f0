package intake_test

import (
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// Only the partner that a quote was made for can use it (decision 5). Each case has a quote from
// one base URL and a post to another. "" is the shared base URL.
func TestQuotesBelongToTheirPartner(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	trial := n.AddPartner(t, "trial-only", models.SigningRequired,
		partners.NewAccount{Identifier: "trial-only-1", Sandbox: true},
		partners.NewAccount{Identifier: "trial-only-2"})
	n.DB.Exec(t, `UPDATE accounts SET is_default = false WHERE identifier = 'trial-only-2'`)
	n.DB.Exec(t, `UPDATE accounts SET is_default = true WHERE identifier = 'trial-only-1'`)
	priced := n.AddPartner(t, "own-prices", models.SigningRequired)
	n.setPrice(t, priced, 1000, `[]`, nil)
	n.Reload(t)

	for _, c := range []struct {
		name   string
		quoted string // base URL of the ping
		by     testkit.Partner
		at     string // base URL of the post
		with   string // a partnerId, or ""
		want   *rejection
		stored stored
	}{
		{"own quote on the own base URL", n.Required.Slug, n.Required, n.Required.Slug, "", nil, oneLead},
		{"own quote on the shared base URL", n.Required.Slug, n.Required, shared, "", nil, oneLead},
		{"shared quote on the own base URL", shared, n.Required, n.Required.Slug, "", nil, oneLead},
		{"shared quote on the shared base URL", shared, n.Required, shared, "", nil, oneLead},
		{"another partner's quote on the own base URL", n.Off.Slug, n.Required, n.Required.Slug, "", &notYourQuote, nothing},
		{"another partner's quote with the own partnerId", n.Off.Slug, n.Required, shared, n.Required.Accounts[0].Identifier,
			&notYourQuote, nothing},
		{"another partner's quote determines the owner", n.Off.Slug, n.Required, shared, "", &badSignature, nothing},

		{"own prices: own quote", priced.Slug, priced, priced.Slug, "", nil, oneLead},
		{"own prices: own quote, shared base URL", priced.Slug, priced, shared, "", nil, oneLead},
		{"own prices: quote from the shared base URL", shared, priced, priced.Slug, "", &notYourQuote, nothing},
		{"own prices: quote from the shared base URL, posted there", shared, priced, shared, "", &notYourQuote, nothing},
		{"own prices: quote used by another partner", priced.Slug, n.Required, n.Required.Slug, "", &notYourQuote, nothing},

		{"sandbox quote for the sandbox account", trial.Slug, trial, trial.Slug, "", nil, oneTest},
		{"sandbox quote for a paid account", trial.Slug, trial, trial.Slug, trial.Accounts[1].Identifier,
			&notYourQuote, nothing},
		{"shared quote for the sandbox account", shared, trial, trial.Slug, "", nil, oneTest},
		{"own quote for the partner's sandbox account", n.Required.Slug, n.Required, n.Required.Slug,
			n.Required.Accounts[1].Identifier, nil, oneTest},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := body(n.quote(t, c.quoted))
			if c.with != "" {
				text = body(n.quote(t, c.quoted), partnerID(c.with))
			}
			n.stores(t, c.stored, func() {
				if r := n.signed(c.by, c.at, text); c.want != nil {
					n.rejected(t, r, *c.want)
				} else if got := n.post(t, r); got.Partner != c.by.ID || got.Payout != got.Quote.Price {
					t.Errorf("got payout %s for price %s, partner %s", got.Payout, got.Quote.Price, got.Partner)
				}
			})
		})
	}
	if !n.ping(t, trial.Slug, leastPing).Quote.Sandbox || n.ping(t, n.Required.Slug, leastPing).Quote.Sandbox {
		t.Error("want a sandbox quote only if the default account is a sandbox account")
	}
}
