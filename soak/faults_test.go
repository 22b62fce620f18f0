package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// fault is a failure that a test can cause. The function cause returns when the failure is over.
type fault struct {
	name  string
	cause func()
}

// faults returns faults in random order. Flags determine how many.
func (p *platform) faults(t *testing.T, c *clients, random *rand.Rand) (all []fault) {
	for i := range *nodeKills {
		n := p.nodes[i%len(p.nodes)]
		all = append(all, fault{n.name + " is killed", func() {
			n.kill(t)
			c.awaitAcknowledged(t, 20+random.IntN(100)) // the other node acknowledges them
			n.start(t)
		}})
	}
	for i := range *postgresKills {
		if i%2 == 0 {
			all = append(all, fault{"Postgres is killed", func() { p.killPostgres(t) }})
		} else {
			all = append(all, fault{"a process of Postgres is killed", func() { p.killBackend(t) }})
		}
	}
	for range *disturbances {
		all = append(all,
			fault{"the network to Postgres is cut", func() { p.cutNetwork(t, c) }},
			fault{"Postgres is slow", func() { p.disturb(t, c, "latency", `{"latency":300,"jitter":200}`) }},
			fault{"connections to Postgres are reset", func() { p.disturb(t, c, "reset_peer", `{"timeout":30}`) }},
			fault{"answers from Postgres are cut off", func() { p.disturb(t, c, "limit_data", `{"bytes":3000}`) }},
			fault{"all connections to Postgres are busy", func() { p.exhaust(t, c) }},
			fault{"partitions are added and removed", func() { p.changePartitions(t, c) }},
		)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// changePartitions adds the partitions of a later month, and detaches and drops them, as an operator who
// archives old partitions does.
func (p *platform) changePartitions(t *testing.T, c *clients) {
	t.Helper()
	root := p.root(t)
	for _, sql := range []string{
		`SELECT create_partitions('{leads, lead_keys, consents, lead_events, ledger_entries, payout_run_entries}', 'month', '2100-01-01', '2100-01-01')`,
		`ALTER TABLE leads DETACH PARTITION leads_21000101 CONCURRENTLY`, `DROP TABLE leads_21000101`,
		`ALTER TABLE lead_keys DETACH PARTITION lead_keys_21000101 CONCURRENTLY`, `DROP TABLE lead_keys_21000101`,
		`ALTER TABLE consents DETACH PARTITION consents_21000101 CONCURRENTLY`, `DROP TABLE consents_21000101`,
		`ALTER TABLE lead_events DETACH PARTITION lead_events_21000101 CONCURRENTLY`, `DROP TABLE lead_events_21000101`,
		`ALTER TABLE ledger_entries DETACH PARTITION ledger_entries_21000101 CONCURRENTLY`, `DROP TABLE ledger_entries_21000101`,
		`ALTER TABLE payout_run_entries DETACH PARTITION payout_run_entries_21000101 CONCURRENTLY`, `DROP TABLE payout_run_entries_21000101`,
	} {
		if _, err := root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitAcknowledged(t, 20)
}

// awaitFailed waits until the given number of further posts has failed with a 503 or without a response.
func (c *clients) awaitFailed(t *testing.T, more int64) {
	t.Helper()
	want := c.unanswered.Load() + more
	testkit.Eventually(t, recovery, "posts fail", func() bool { return c.unanswered.Load() >= want })
}

func (p *platform) cutNetwork(t *testing.T, c *clients) {
	p.network.Down()
	c.awaitFailed(t, 20)
	p.network.Up(t)
}

// disturb disturbs Postgres's responses until the clients have sent some posts.
func (p *platform) disturb(t *testing.T, c *clients, kind, attributes string) {
	remove := p.network.AddFault(t, kind, attributes)
	want := c.acknowledged.Load() + c.unanswered.Load() + 20
	testkit.Eventually(t, recovery, "posts are sent with "+kind,
		func() bool { return c.acknowledged.Load()+c.unanswered.Load() >= want })
	remove()
}

// exhaust locks tables until all of the nodes' database connections are waiting for the locks and posts
// fail.
func (p *platform) exhaust(t *testing.T, c *clients) {
	conn, err := pgx.Connect(t.Context(), p.superuserURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	// This statement can deadlock with a post, and Postgres may then cancel either of them.
	testkit.Eventually(t, recovery, "the tables are locked", func() bool {
		var deadlock *pgconn.PgError
		_, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE partners, leads, rate_cards IN ACCESS EXCLUSIVE MODE")
		if errors.As(err, &deadlock) && deadlock.Code == "40P01" {
			if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	})
	c.awaitFailed(t, 20)
}
