package soak

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// TestFaultsUnderLoad repeatedly kills nodes and Postgres under load and disturbs the network between
// them. It checks that each acknowledged lead is stored once with its consent and payout, that running
// nodes always answer pings, and that the platform recovers without intervention.
func TestFaultsUnderLoad(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 1))
	p := startPlatform(t, setup{prepare: createShortPartitions})
	c := p.clients(t, random)
	faults := p.faults(t, c, random)
	for i, f := range faults {
		c.awaitAcknowledged(t, 20+random.IntN(400))
		f.cause()
		if t.Failed() {
			t.Fatalf("failed after fault %d of %d: %s", i+1, len(faults), f.name)
		}
	}
	c.awaitAcknowledged(t, 200)
	c.end()
	c.check(t)
	var partitions int
	if err := p.root(t).QueryRow(t.Context(), `SELECT count(DISTINCT tableoid) FROM leads`).Scan(&partitions); err != nil || partitions < 3 {
		t.Errorf("got leads in %d partitions (%v), want at least 3", partitions, err)
	}
	t.Logf("%d faults: %d posts acknowledged, %d replayed, %d in conflict, %d unanswered or answered with 503; %d pings",
		len(faults), c.acknowledged.Load(), c.replays.Load(), c.conflicts.Load(), c.unanswered.Load(), c.pings.Load())
}

// awaitAcknowledged waits until the given number of further posts has been acknowledged.
func (c *clients) awaitAcknowledged(t *testing.T, more int) {
	t.Helper()
	want := c.acknowledged.Load() + int64(more)
	testkit.Eventually(t, recovery, "posts are acknowledged", func() bool { return c.acknowledged.Load() >= want })
}

// lead is a stored lead.
type lead struct {
	id, body, payout string
}

// leads returns all stored leads by transactionId. The test fails if a lead is incomplete.
func (p *platform) leads(t *testing.T) map[string]lead {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rows, err := p.root(t).Query(ctx, `SELECT l.id, l.transaction_id, c.third_party_lead_id, e.amount_minor,
			(SELECT count(*) FROM consents x WHERE x.lead_id = l.id), (SELECT count(*) FROM ledger_entries x WHERE x.lead_id = l.id),
			(SELECT count(*) FROM lead_events x WHERE x.lead_id = l.id), (SELECT count(*) FROM lead_keys x WHERE x.lead_id = l.id)
		FROM leads l LEFT JOIN consents c ON c.lead_id = l.id LEFT JOIN ledger_entries e ON e.lead_id = l.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]lead{}
	for rows.Next() {
		var key uuid.UUID
		var tx string
		var body *string
		var amount *int64
		var consents, entries, events, keys int
		if err := rows.Scan(&key, &tx, &body, &amount, &consents, &entries, &events, &keys); err != nil {
			t.Fatal(err)
		}
		name := id.Format(id.Lead, key)
		if consents != 1 || entries != 1 || events != 1 || keys != 1 || body == nil || amount == nil {
			t.Fatalf("%s has %d consents, %d ledger entries, %d events and %d keys, want one of each", name, consents, entries, events, keys)
		}
		if _, twice := all[tx]; twice {
			t.Fatalf("%s is the second lead for its transaction", name)
		}
		all[tx] = lead{name, *body, string(money.AppendDecimal(nil, *amount))}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// check checks each transaction's history. The last entry in a history states whether the database
// contains a lead.
func (c *clients) check(t *testing.T) {
	t.Helper()
	all := c.p.leads(t)
	const maxReported = 5
	broken, now := 0, c.now()
	for tx, history := range c.histories {
		last := porcupine.Operation{Input: 0, Output: answer{outcome: missing}, Call: now, Return: now + 1}
		if l, ok := all[tx]; ok {
			last.Output = answer{found, l.id}
			if last.Input = 1; l.body == "body-2" {
				last.Input = 2
			}
			if payout, answered := c.payouts[l.id]; answered && payout != l.payout {
				t.Errorf("%s was answered with a payout of %s, but the ledger contains %s", l.id, payout, l.payout)
			}
		}
		delete(all, tx)
		if result := checkHistory(append(history, last)); result != porcupine.Ok {
			broken++
			if broken <= maxReported {
				t.Errorf("%s: %s: %+v, in the database %+v", tx, result, history, last)
			}
		}
	}
	if broken > maxReported {
		t.Errorf("got %d transactions with a wrong answer, want 0", broken)
	}
	for tx, l := range all {
		t.Errorf("lead %s is stored, but its transaction was never posted: %s", l.id, tx)
	}
	var orphans int
	if err := c.p.root(t).QueryRow(t.Context(), `SELECT (SELECT count(*) FROM consents) + (SELECT count(*) FROM ledger_entries) - 2 * (SELECT count(*) FROM leads)`).Scan(&orphans); err != nil || orphans != 0 {
		t.Errorf("got %d consents or ledger entries without a lead, want 0: %v", orphans, err)
	}
}
