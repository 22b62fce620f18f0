package soak

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/internal/money"
	"github.com/pingpost/pingpost/internal/testkit"
)

// Nodes and Postgres are killed under load, and the network between them disturbed,
// again and again. Whatever a client was told holds: an acknowledged lead is there,
// once, with its consent and its payout; pings go on wherever a node runs; and
// everything is back without a hand.
func TestFaultsUnderLoad(t *testing.T) {
	t.Parallel()
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 1))
	p := startPlatform(t)
	c := p.clients(t, random)
	faults := p.faults(t, c, random)
	for i, f := range faults {
		c.goesOn(t, 20+random.IntN(400))
		f.happens()
		if t.Failed() {
			t.Fatalf("%s, after %d of %d", f.name, i+1, len(faults))
		}
	}
	c.goesOn(t, 200)
	c.end()
	c.judge(t)
	t.Logf("%d faults: %d posts acknowledged, %d retries answered alike, %d conflicts, %d posts without an answer or with 503; %d pings",
		len(faults), c.acknowledged.Load(), c.replays.Load(), c.conflicts.Load(), c.unanswered.Load(), c.pings.Load())
}

// goesOn waits until so many more posts have been acknowledged.
func (c *clients) goesOn(t *testing.T, more int) {
	t.Helper()
	want := c.acknowledged.Load() + int64(more)
	testkit.Eventually(t, back, "posts are acknowledged", func() bool { return c.acknowledged.Load() >= want })
}

// lead is what the database holds of one.
type lead struct {
	id, body, payout string
}

// leads reads all of them, and fails for one that is not whole.
func (p *platform) leads(t *testing.T) map[string]lead {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	rows, err := p.root(t).Query(ctx, `SELECT l.id, l.transaction_id, c.third_party_lead_id, e.amount_minor,
			(SELECT count(*) FROM consents x WHERE x.lead_id = l.id), (SELECT count(*) FROM ledger_entries x WHERE x.lead_id = l.id),
			(SELECT count(*) FROM lead_events x WHERE x.lead_id = l.id)
		FROM leads l LEFT JOIN consents c ON c.lead_id = l.id LEFT JOIN ledger_entries e ON e.lead_id = l.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]lead{}
	for rows.Next() {
		var of uuid.UUID
		var tx string
		var body *string
		var amount *int64
		var consents, entries, events int
		if err := rows.Scan(&of, &tx, &body, &amount, &consents, &entries, &events); err != nil {
			t.Fatal(err)
		}
		name := id.Format(id.Lead, of)
		if consents != 1 || entries != 1 || events != 1 || body == nil || amount == nil {
			t.Fatalf("%s is not whole: %d consents, %d ledger entries, %d events", name, consents, entries, events)
		}
		if _, twice := all[tx]; twice {
			t.Fatalf("two leads of one transaction: %s", name)
		}
		all[tx] = lead{name, *body, string(money.AppendDecimal(nil, *amount))}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// judge adds to each history what the database holds at last, and has it judged.
func (c *clients) judge(t *testing.T) {
	t.Helper()
	all := c.p.leads(t)
	const told = 5
	broken, now := 0, c.now()
	for tx, history := range c.histories {
		last := porcupine.Operation{Input: 0, Output: answer{outcome: missing}, Call: now, Return: now + 1}
		if l, ok := all[tx]; ok {
			last.Output = answer{found, l.id}
			if last.Input = 1; l.body == "body-2" {
				last.Input = 2
			}
			if payout, answered := c.payouts[l.id]; answered && payout != l.payout {
				t.Errorf("%s was answered with a payout of %s, and %s is booked", l.id, payout, l.payout)
			}
		}
		delete(all, tx)
		if verdict := judge(append(history, last)); verdict != porcupine.Ok {
			broken++
			if broken <= told {
				t.Errorf("%s: %s: %+v, at last %+v", tx, verdict, history, last)
			}
		}
	}
	if broken > told {
		t.Errorf("got %d transactions with a wrong answer, want 0", broken)
	}
	for tx, l := range all {
		t.Errorf("lead %s is stored for a transaction that was not posted: %s", l.id, tx)
	}
	var orphans int
	if err := c.p.root(t).QueryRow(t.Context(), `SELECT (SELECT count(*) FROM consents) + (SELECT count(*) FROM ledger_entries) - 2 * (SELECT count(*) FROM leads)`).Scan(&orphans); err != nil || orphans != 0 {
		t.Errorf("%d consents or ledger entries without a lead, %v", orphans, err)
	}
}
