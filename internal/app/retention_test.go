package app_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// kept is what there still is of a moment at which a lead was delivered in
// earnest, and one in a sandbox.
type kept struct{ pings, traffic, lead, digest, sandbox bool }

func (n *node) keeps(t *testing.T, at time.Time) (k kept) {
	t.Helper()
	err := n.root.QueryRow(context.Background(), `SELECT
		EXISTS (SELECT FROM pings WHERE issued_at = $1),
		EXISTS (SELECT FROM traffic_minutes WHERE minute = date_trunc('minute', $1::timestamptz)),
		EXISTS (SELECT FROM leads l JOIN consents c ON c.lead_id = l.id JOIN ledger_entries e ON e.lead_id = l.id WHERE l.received_at = $1 AND NOT l.sandbox),
		EXISTS (SELECT FROM leads WHERE received_at = $1 AND NOT sandbox AND body_digest IS NOT NULL),
		EXISTS (SELECT FROM leads WHERE received_at = $1 AND sandbox)
			OR EXISTS (SELECT FROM consents WHERE received_at = $1 AND sandbox)`, at,
	).Scan(&k.pings, &k.traffic, &k.lead, &k.digest, &k.sandbox)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestANodeLetsGoOfWhatMayNotBeKept starts a node on what another has left behind
// at several moments: body digests go after 24 hours (D3), sandbox leads after 7
// days (D25), pings and traffic when the configuration says, and nothing else.
func TestANodeLetsGoOfWhatMayNotBeKept(t *testing.T) {
	t.Parallel()
	n := startNode(t, func(n *node) { n.cfg.Retention.PingsDays, n.cfg.Retention.TrafficDays = 7, 7 })
	trial := n.newPartner(t, "trying", models.SigningRequired, partners.NewAccount{Identifier: "trying-sandbox", Sandbox: true})
	testkit.Eventually(t, patience, "the node knows the new partner", func() bool { return n.post(t, trial, "{}").status == http.StatusBadRequest })
	const day = 24 * time.Hour
	now := began.Add(8*day + time.Hour)
	rows := []struct {
		age  time.Duration
		want kept
	}{
		{8*day + time.Hour, kept{lead: true}},
		{7*day + time.Hour, kept{lead: true, pings: true}}, // of pings whole days are dropped
		{7*day - time.Hour, kept{lead: true, pings: true, traffic: true, sandbox: true}},
		{day + time.Hour, kept{lead: true, pings: true, traffic: true, sandbox: true}},
		{day - time.Hour, kept{lead: true, pings: true, traffic: true, sandbox: true, digest: true}},
	}
	for _, r := range rows {
		n.hands.Set(now.Add(-r.age))
		n.deliver(t, n.required, leastPost)
		n.deliver(t, trial, leastPost)
	}
	n.stop(t)
	for _, r := range rows {
		if got := n.keeps(t, now.Add(-r.age)); got != (kept{true, true, true, true, true}) {
			t.Fatalf("at first there is %+v of %s ago", got, r.age)
		}
	}

	n.hands.Set(now)
	next, err := app.Start(t.Context(), app.Options{Config: n.cfg, Environment: "development", Clock: n.clock, Log: n.log})
	if err != nil {
		t.Fatal(err)
	}
	var wrong map[time.Duration]kept // by age
	asWanted := func() bool {
		wrong = map[time.Duration]kept{}
		for _, r := range rows {
			if got := n.keeps(t, now.Add(-r.age)); got != r.want {
				wrong[r.age] = got
			}
		}
		return len(wrong) == 0
	}
	defer func() {
		for age, got := range wrong {
			t.Logf("of %s ago there is %+v", age, got)
		}
	}()
	testkit.Eventually(t, patience, "what is too old is gone, and nothing else", asWanted)
	if err := next.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if !asWanted() {
		t.Error("more is gone than was too old")
	}
}
