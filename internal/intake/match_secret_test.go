package intake_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

const unknownSecret = "unknown-secret"

// anonymous returns a post that does not identify its partner, signed with a secret.
func (n *node) anonymous(t testing.TB, secret, address string, members ...string) intake.PostRequest {
	t.Helper()
	r := unsigned(shared, body(n.quote(t, shared), members...))
	r.Headers, r.Address = testkit.SignWith(secret, n.Time.Now(), r.Body), clientaddr.Group(address)
	return r
}

// with returns the same node with different settings.
func (n *node) with(s intake.Settings) *node {
	s.DefaultMode = models.SigningRequired
	return &node{n.Platform, n.Intake(s), n.sees}
}

// withBudget returns the same node with a limit for failed matches.
func (n *node) withBudget(failures int) *node {
	return n.with(intake.Settings{MatchFailures: failures})
}

func TestMatchBySecret(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("failed matches are limited", func(t *testing.T) { failedMatchesAreLimited(t, n) })
	t.Run("failed matches of a network are limited", func(t *testing.T) { networksAreLimited(t, n) })
	t.Run("large bodies must identify their partner", func(t *testing.T) { largeBodiesMustIdentifyTheirPartner(t, n) })
	t.Run("failures of an identified partner do not count", func(t *testing.T) { identifiedFailuresDoNotCount(t, n) })
	t.Run("partners are found by secret", func(t *testing.T) { partnersAreFoundBySecret(t, n) })
	t.Run("active secrets", func(t *testing.T) { activeSecrets(t, n) })
}

func partnersAreFoundBySecret(t *testing.T, n *node) {
	for _, p := range []testkit.Partner{n.Required, n.ReportOnly, n.Off} {
		n.stores(t, oneLead, func() {
			got := n.post(t, n.anonymous(t, p.Secret, ""))
			if !got.HMACVerified || got.Partner != p.ID {
				t.Errorf("%s: verified %t, of partner %s", p.Slug, got.HMACVerified, got.Partner)
			}
		})
	}
	away := n.AddPartner(t, "not-at-the-shared-address", models.SigningRequired)
	n.DB.Exec(t, `UPDATE partners SET shared_base_url = false WHERE id = $1`, away.ID)
	none := n.AddPartner(t, "without-accounts", models.SigningRequired, []partners.NewAccount{}...)
	n.setStatus(t, n.Off, models.PartnerSuspended)
	n.Reload(t)
	n.stores(t, nothing, func() {
		for _, secret := range []string{unknownSecret, away.Secret, none.Secret, ""} {
			n.rejected(t, n.anonymous(t, secret, ""), badSignature)
		}
		n.rejected(t, n.anonymous(t, n.Off.Secret, ""), badSignature.as(models.OutcomeInactive))
	})
	n.setStatus(t, n.Off, models.PartnerApproved)
	// A partner that is not matched by secret must identify itself.
	n.stores(t, oneLead, func() { n.post(t, n.signed(away, away.Slug, body(n.quote(t, shared)))) })
}

// After too many failures, an address's posts are rejected before their signatures are checked,
// until the minute is over (decisions 13, 22).
func failedMatchesAreLimited(t *testing.T, n *node) {
	n = n.withBudget(2)
	const here, there = "192.0.2.1", "192.0.2.2"
	n.post(t, n.anonymous(t, n.Off.Secret, here)) // a match does not count
	for range 2 {
		n.rejected(t, n.anonymous(t, unknownSecret, here), badSignature)
	}
	n.Time.Advance(15 * time.Second)
	n.stores(t, nothing, func() {
		for _, secret := range []string{unknownSecret, n.Off.Secret} {
			if f := n.rejected(t, n.anonymous(t, secret, here), tooMany); f.RetryAfter != 45*time.Second {
				t.Errorf("got Retry-After %s, want the rest of the minute", f.RetryAfter)
			}
		}
	})
	n.post(t, n.anonymous(t, n.Off.Secret, there))
	n.rejected(t, n.anonymous(t, unknownSecret, there), badSignature)

	// The limit does not apply to posts that identify their partner.
	own := n.signed(n.Off, n.Off.Slug, body(n.quote(t, shared)))
	own.Address = clientaddr.Group(here)
	n.post(t, own)
	n.Time.Advance(45 * time.Second)
	n.post(t, n.anonymous(t, n.Off.Secret, here))
}

// The limit for an IPv6 /48 is four times the limit for a /64, no matter how many /64s are used.
// It does not apply to addresses that matched before.
func networksAreLimited(t *testing.T, n *node) {
	n = n.withBudget(2)
	n.Time.Advance(time.Minute)
	const matched, stranger, neighbour = "2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:2::1"
	n.post(t, n.anonymous(t, n.Off.Secret, matched))
	for i := range 4 {
		for range 2 {
			n.rejected(t, n.anonymous(t, unknownSecret, fmt.Sprintf("2001:db8:1:%d::1", 10+i)), badSignature)
		}
	}
	if f := n.rejected(t, n.anonymous(t, n.Off.Secret, stranger), tooMany); f.RetryAfter != time.Minute {
		t.Errorf("got Retry-After %s", f.RetryAfter)
	}
	n.post(t, n.anonymous(t, n.Off.Secret, matched))
	n.post(t, n.anonymous(t, n.Off.Secret, neighbour))
	n.Time.Advance(time.Minute)
	n.post(t, n.anonymous(t, n.Off.Secret, stranger))
}

// Matching computes the HMAC of the body for each secret, so a large post must identify its partner.
func largeBodiesMustIdentifyTheirPartner(t *testing.T, n *node) {
	large := func(size int, slug string, members ...string) intake.PostRequest {
		b := body(n.quote(t, shared), members...)
		b = append(b, strings.Repeat(" ", size-len(b))...)
		return n.signed(n.Off, slug, b)
	}
	const most = 16 << 10
	n.stores(t, nothing, func() { n.rejected(t, large(most+1, shared), tooLargeToMatch) })
	for _, r := range []intake.PostRequest{
		large(most, shared), large(most+1, n.Off.Slug), large(most+1, shared, partnerID(n.Off.Accounts[0].Identifier)),
	} {
		n.stores(t, oneLead, func() { n.post(t, r) })
	}
}

// If a post identifies its partner, an invalid signature does not count as a failed match.
func identifiedFailuresDoNotCount(t *testing.T, n *node) {
	n = n.withBudget(1)
	for range 3 {
		forged := n.anonymous(t, unknownSecret, "192.0.2.1")
		forged.Slug = n.Off.Slug
		n.rejected(t, forged, badSignature)
	}
	n.post(t, n.anonymous(t, n.Off.Secret, "192.0.2.1"))
}

// A secret is active from its start until just before its end (decision 16).
func activeSecrets(t *testing.T, n *node) {
	rotated, err := n.Partners.RotateSecret(t.Context(), scope.System, n.Required.Partner, "", time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	n.Reload(t)
	newer := n.Required
	newer.Secret = rotated.Plain
	try := func(p testkit.Partner, slug string) intake.PostRequest {
		return n.signed(p, slug, body(n.quote(t, shared)))
	}
	for _, slug := range []string{shared, newer.Slug} {
		n.post(t, try(n.Required, slug))
		n.post(t, try(newer, slug))
	}
	n.Time.Advance(time.Hour - time.Nanosecond)
	n.post(t, try(n.Required, n.Required.Slug))
	n.Time.Advance(time.Nanosecond)
	for _, slug := range []string{shared, newer.Slug} {
		n.stores(t, nothing, func() { n.rejected(t, try(n.Required, slug), badSignature) })
		n.post(t, try(newer, slug))
	}
	n.Time.Advance(-time.Hour - time.Millisecond)
	n.stores(t, nothing, func() { n.rejected(t, try(newer, newer.Slug), badSignature) })
}
