package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestPostRejectsPartnerSuspendedSinceReload(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("unsigned", func(t *testing.T) { suspendedBeforeUnsignedPost(t, n) })
	t.Run("signed", func(t *testing.T) { suspendedBeforeSignedPost(t, n) })
}

// A post stores no lead if its partner or account has just been suspended, or if its secret has
// just been revoked or has just expired, even if the node's directory is out of date (decision 21).
func suspendedBeforeSignedPost(t *testing.T, n *node) {
	for name, change := range map[string]func(*testing.T, testkit.Partner){
		"partner-suspended": func(t *testing.T, p testkit.Partner) { n.setStatus(t, p, models.PartnerSuspended) },
		"partner-pending":   func(t *testing.T, p testkit.Partner) { n.setStatus(t, p, models.PartnerPending) },
		"account-suspended": func(t *testing.T, p testkit.Partner) {
			n.DB.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE id = $1`, p.Accounts[0].ID)
		},
		"secret-revoked": func(t *testing.T, p testkit.Partner) {
			if err := n.Partners.RevokeSecret(t.Context(), scope.System, p.Partner, p.SecretID); err != nil {
				t.Fatal(err)
			}
		},
		"secret-expired": func(t *testing.T, p testkit.Partner) {
			if _, err := n.Partners.RotateSecret(t.Context(), scope.System, p.Partner, "", 0, true); err != nil {
				t.Fatal(err)
			}
		},
		"secret-not-yet": func(t *testing.T, p testkit.Partner) {
			n.DB.Exec(t, `UPDATE signing_secrets SET not_before = $1 WHERE id = $2`, n.Time.Now().Add(time.Second), p.SecretID)
		},
	} {
		p := n.AddPartner(t, name, models.SigningOff)
		n.Reload(t)
		t.Run(name, func(t *testing.T) {
			b := body(n.quote(t, p.Slug))
			n.stores(t, oneLead, func() { n.post(t, n.signed(p, p.Slug, body(n.quote(t, p.Slug)))) })
			change(t, p)
			n.stores(t, nothing, func() {
				for _, slug := range []string{p.Slug, shared} {
					want := badSignature.as(models.OutcomeInactive)
					if slug != shared && !strings.HasPrefix(name, "secret") {
						want = inactive
					}
					result, err := n.in.Post(t.Context(), n.signed(p, slug, b))
					want.check(t, err)
					if result.LeadID != uuid.Nil {
						t.Error("the rejection contains a lead")
					}
				}
			})
		})
	}
}

// An unsigned post for a suspended partner gets the same response as one for an unknown partner.
func suspendedBeforeUnsignedPost(t *testing.T, n *node) {
	b := body(n.quote(t, n.Off.Slug))
	n.setStatus(t, n.Off, models.PartnerSuspended)
	n.stores(t, nothing, func() {
		n.rejected(t, unsigned(n.Off.Slug, b), noSignature.as(models.OutcomeInactive))
		n.withDefault(models.SigningOff).rejected(t, unsigned(n.Off.Slug, b), badPost.as(models.OutcomeInactive))
	})
	n.setStatus(t, n.Off, models.PartnerApproved)
	n.stores(t, oneLead, func() { n.post(t, unsigned(n.Off.Slug, b)) })
}
