package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

// A partner that is not active can find out which leads it delivered before. Its other posts are checked
// completely and then rejected (decision 59).
func TestPostsOfInactivePartners(t *testing.T) {
	t.Parallel()
	for name, suspend := range map[string]func(*testing.T, *node, testkit.Partner){
		"partner": func(t *testing.T, n *node, p testkit.Partner) { n.setStatus(t, p, models.PartnerSuspended) },
		"pending": func(t *testing.T, n *node, p testkit.Partner) { n.setStatus(t, p, models.PartnerPending) },
		"account": func(t *testing.T, n *node, p testkit.Partner) {
			n.DB.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE id = $1`, p.Accounts[0].ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			p := n.Required
			deliveredBody, old := body(n.quote(t, p.Slug)), body(n.quote(t, p.Slug))
			first := n.post(t, n.signed(p, p.Slug, deliveredBody))
			at := n.Time.Now()
			tx := n.quote(t, p.Slug)
			suspend(t, n, p)
			n.Reload(t)
			send := func(slug string, b []byte, want rejection) {
				t.Helper()
				n.rejected(t, n.signed(p, slug, b), want)
			}
			hidden := badSignature.as(models.OutcomeInactive)
			n.stores(t, nothing, func() {
				for _, slug := range []string{p.Slug, shared} {
					n.again(t, first, n.signed(p, slug, deliveredBody), true)
					f := n.rejected(t, n.signed(p, slug, append(deliveredBody, ' ')), delivered)
					if f.LeadID == "" || !f.DeliveredAt.Equal(at) {
						t.Errorf("got lead %q, delivered at %s", f.LeadID, f.DeliveredAt)
					}
				}
				for _, b := range [][]byte{body(tx), body(tx, partnerID(p.Accounts[0].Identifier))} {
					send(p.Slug, b, inactive)
					send(shared, b, hidden)
				}
				send(p.Slug, []byte("{"), badJSON)
				send(p.Slug, []byte("{}"), badPost)
				send(p.Slug, body(tx, partnerID(unknownAccount)), badPost.as(models.OutcomeUnknownAccount))
				send(p.Slug, body("tx_junk"), badTransactionID)
				for _, b := range [][]byte{[]byte("{}"), body("tx_junk")} {
					send(shared, append(b[:len(b):len(b)], ' '), hidden)
				}
				// The signature is required as before.
				forged := n.signed(p, p.Slug, deliveredBody)
				forged.Headers = n.Off.Sign(n.Time.Now(), deliveredBody)
				n.rejected(t, forged, badSignature)
				n.rejected(t, unsigned(p.Slug, deliveredBody), noSignature.as(models.OutcomeInactive))

				n.Time.Advance(quote.Validity + time.Millisecond)
				for _, slug := range []string{p.Slug, shared} {
					if f := n.rejected(t, n.signed(p, slug, deliveredBody), expired); f.LeadID == "" {
						t.Error("the rejection of a delivered transaction contains no lead")
					}
					withoutLead(t, n.rejected(t, n.signed(p, slug, old), expired))
				}
			})
		})
	}
}

// All problems of a payload are reported at once, also if the partnerId is not one of the partner's
// accounts.
func TestUnknownAccountOnOwnBaseURL(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, named := range []string{unknownAccount, strings.Repeat("x", 129), n.Off.Accounts[0].Identifier} {
		f := n.rejected(t, n.signed(n.Required, n.Required.Slug, []byte(`{"partnerId":"`+named+`","email":"a@example.com"}`)),
			badPost.as(models.OutcomeUnknownAccount))
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path[0])
		}
		if len(paths) != 3 || paths[0] != "partnerId" || paths[1] != "transactionId" || paths[2] != "consent" {
			t.Errorf("got problems with %v, want partnerId, transactionId and consent", paths)
		}
		checkPartnerID(t, n.rejected(t, n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug), partnerID(named))),
			badPost.as(models.OutcomeUnknownAccount)), named)
	}
	n.rejected(t, n.signed(n.Required, n.Required.Slug, []byte(`{"partnerId":"`+unknownAccount+`"`)), badJSON)
}
