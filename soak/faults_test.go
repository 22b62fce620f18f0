package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pingpost/pingpost/internal/testkit"
)

// fault is something that goes wrong, and is over when happens returns.
type fault struct {
	name    string
	happens func()
}

// faults are as many of each as the flags say, in a random order.
func (p *platform) faults(t *testing.T, c *clients, random *rand.Rand) (all []fault) {
	for i := range *nodeKills {
		n := p.nodes[i%len(p.nodes)]
		all = append(all, fault{n.name + " is killed", func() {
			n.kill(t)
			c.goesOn(t, 20+random.IntN(100)) // by the other node
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
			fault{"answers of Postgres break off", func() { p.disturb(t, c, "limit_data", `{"bytes":3000}`) }},
			fault{"no connection to Postgres comes free", func() { p.exhaust(t, c) }},
		)
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// fail waits until so many more posts have got no answer, or 503.
func (c *clients) fail(t *testing.T, more int64) {
	t.Helper()
	want := c.unanswered.Load() + more
	testkit.Eventually(t, back, "posts are rejected", func() bool { return c.unanswered.Load() >= want })
}

func (p *platform) cutNetwork(t *testing.T, c *clients) {
	p.network.Down()
	c.fail(t, 20)
	p.network.Up(t)
}

// disturb spoils what Postgres answers, until enough has been tried.
func (p *platform) disturb(t *testing.T, c *clients, kind, attributes string) {
	mend := p.network.AddFault(t, kind, attributes)
	want := c.acknowledged.Load() + c.unanswered.Load() + 20
	testkit.Eventually(t, back, "posts are tried with "+kind,
		func() bool { return c.acknowledged.Load()+c.unanswered.Load() >= want })
	mend()
}

// exhaust keeps every connection of the nodes busy: what they ask for waits for a lock.
func (p *platform) exhaust(t *testing.T, c *clients) {
	conn, err := pgx.Connect(t.Context(), p.postgres.SuperuserURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	// A post may hold one of them and wait for another: of two that wait for each other
	// Postgres ends one, and that may be this.
	testkit.Eventually(t, back, "the tables are locked", func() bool {
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
	c.fail(t, 20)
}
