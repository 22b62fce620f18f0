package partners_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

// A partner is listed if it is approved, if more than 5% of its posts were rejected, and if at least a certain number
// were rejected.
func TestMostRejected(t *testing.T) {
	t.Parallel()
	n := testkit.NewPlatform(t)
	byID := map[string]testkit.Partner{}
	for slug, posts := range map[string][2]int{
		"most": {36, 30}, "many": {280, 15}, "all": {3, 3}, "five-percent": {300, 15}, "few": {3, 2}, "suspended": {50, 50},
	} {
		p := n.AddPartner(t, slug, models.SigningRequired)
		n.DB.Exec(t, `INSERT INTO partner_figures (partner_id, leads, payouts, posts, rejected_posts, rejected_before) VALUES ($1, 0, '[]', $2, $3, 7)`,
			p.ID, posts[0], posts[1])
		byID[slug] = p
	}
	if err := n.Partners.SetStatus(t.Context(), scope.System, byID["suspended"].ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sc   scope.Scope
		want []string
	}{
		"all partners": {scope.Everywhere, []string{"most", "many", "all"}},
		"in scope":     {scope.Partners(byID["many"].ID), []string{"many"}},
		"empty scope":  {scope.Scope{}, nil},
	} {
		found, others, err := n.Partners.MostRejected(t.Context(), c.sc)
		var got []string
		for _, r := range found {
			got = append(got, r.Name)
		}
		if err != nil || !slices.Equal(got, c.want) || others != 0 {
			t.Errorf("%s: got %v and %d others (%v), want %v", name, got, others, err, c.want)
		}
		if len(found) == 3 && (found[0].PostFigures != partners.PostFigures{36, 30, 7} || found[0].Change() != 29) {
			t.Errorf("got %+v", found[0])
		}
	}
}

// At most five partners are listed, and the others are counted.
func TestMostRejectedCountsOthers(t *testing.T) {
	t.Parallel()
	n := testkit.NewPlatform(t)
	for i := range 7 {
		p := n.AddPartner(t, fmt.Sprint("partner-", i), models.SigningRequired)
		n.DB.Exec(t, `INSERT INTO partner_figures (partner_id, leads, payouts, posts, rejected_posts, rejected_before)
			VALUES ($1, 0, '[]', 10, 10, 0)`, p.ID)
	}
	found, others, err := n.Partners.MostRejected(t.Context(), scope.Everywhere)
	if err != nil || len(found) != 5 || others != 2 {
		t.Errorf("got %d partners and %d others (%v), want 5 and 2", len(found), others, err)
	}
}

// ExpiringBefore lists only partners whose valid secrets all expire before the given time.
func TestExpiringBefore(t *testing.T) {
	t.Parallel()
	n := testkit.NewPlatform(t)
	ctx, week := t.Context(), n.Time.Now().Add(7*24*time.Hour)
	ends, stays, rotated := n.AddPartner(t, "ends", models.SigningRequired), n.AddPartner(t, "stays", models.SigningRequired), n.AddPartner(t, "rotated", models.SigningRequired)
	for _, p := range []testkit.Partner{ends} {
		if err := n.Partners.ExpireSecret(ctx, scope.System, p.Partner, p.SecretID, n.Time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Partners.RotateSecret(ctx, scope.System, rotated.Partner, "", time.Hour, false); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Partners.Create(ctx, partners.NewPartner{Slug: "waits", Name: "Waits"}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope   scope.Scope
		before  time.Time
		expires int
		pending int64
	}{
		"all partners":   {scope.Everywhere, week, 1, 1},
		"within minutes": {scope.Everywhere, n.Time.Now().Add(time.Minute), 0, 1},
		"in scope":       {scope.Partners(ends.ID), week, 1, 0},
		"out of scope":   {scope.Partners(stays.ID, rotated.ID), week, 0, 0},
		"empty scope":    {scope.Partners(), week, 0, 0},
	} {
		found, err := n.Partners.ExpiringBefore(ctx, c.scope, c.before)
		if err != nil || len(found) != c.expires ||
			len(found) > 0 && (found[0].Partner != ends.ID || !found[0].Ends.Equal(n.Time.Now().Add(time.Hour))) {
			t.Errorf("%s: ExpiringBefore() = %+v, %v", name, found, err)
		}
		if waiting, err := n.Partners.Pending(ctx, c.scope); err != nil || waiting != c.pending {
			t.Errorf("%s: Pending() = %d, %v, want %d", name, waiting, err, c.pending)
		}
	}
	n.Time.Advance(2 * time.Hour) // secrets that have already expired are not listed
	if found, err := n.Partners.ExpiringBefore(ctx, scope.Everywhere, week); err != nil || len(found) != 0 {
		t.Errorf("ExpiringBefore() = %+v, %v, want none", found, err)
	}
}
