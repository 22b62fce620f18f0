package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const fullMonths = 24

func growthScenario() *scenario {
	return &scenario{
		name: "growth", title: "Growth", rounds: 7, length: 2 * time.Second, prepare: prepareGrowth,
		text: `One service has a database with 10,000 partners, 1,000,000 leads in 24 monthly partitions and 10,000,000
			recorded pings, vacuumed and analysed. Half of the leads belong to one partner. ¬go run ./bench fill¬ fills a
			database in the same way. Another service has an empty database. The list of leads is read with each filter, for
			all partners, for the busiest partner and for a partner without leads. All partitions are searched for an email
			address, a phone number and a request that have no leads. The figures are for the slowest filter and search in
			each round.`,
		figures: []*figure{
			ratio("pings, full tables / empty tables", "pings, full", "pings, empty", turn.rate).atLeast(0.95),
			ratio("posts, full tables / empty tables", "posts, full", "posts, empty", turn.rate).atLeast(0.95),
			absolute("list of leads in the console, slowest filter", "lists", turn.millis, "ms").atMost(50),
			absolute("search for a person or request, slowest search", "searches", turn.millis, "ms").atMost(50),
		},
	}
}

func prepareGrowth(ctx context.Context, l *lab) ([]contender, error) {
	full, err := l.newProduct(ctx, "product_full", productJob{})
	if err != nil {
		return nil, err
	}
	plan := fillPlan{
		partners: l.sized(10_000), leads: l.sized(1_000_000), pings: l.sized(10_000_000), months: fullMonths,
		until: full.started, // so that filled pings are not counted as answered
	}
	if err := full.fill(ctx, l, plan); err != nil {
		return nil, err
	}
	empty, err := l.newProduct(ctx, "product_empty", productJob{})
	if err != nil {
		return nil, err
	}
	reader := leads.NewReader(full.db, full.keys, clock.System{})
	lists, err := full.lists(ctx, reader)
	if err != nil {
		return nil, err
	}
	return []contender{
		full.sendsPings("pings, full", loadJob{}), empty.sendsPings("pings, empty", loadJob{}),
		full.sendsPosts("posts, full", loadJob{}), empty.sendsPosts("posts, empty", loadJob{}),
		slowest("lists", lists),
		slowest("searches", []func(context.Context) error{
			func(ctx context.Context) error {
				_, err := reader.FindEmail(ctx, scope.System, "no@example.com")
				return err
			},
			func(ctx context.Context) error {
				_, err := reader.FindPhone(ctx, scope.System, "+442079460000", "")
				return err
			},
			func(ctx context.Context) error {
				_, err := reader.FindRequest(ctx, scope.System, id.New(now().AddDate(0, 0, -1)))
				if e := apperr.As(err); e != nil && e.Code == apperr.NotFound {
					return nil
				}
				return err
			},
		}),
	}, nil
}

// slowest returns a contender that runs all functions. Its time is that of the slowest.
func slowest(name string, all []func(context.Context) error) contender {
	return contender{name: name, run: func(ctx context.Context, _ time.Duration) (t turn, err error) {
		for _, f := range all {
			began := now()
			if err := f(ctx); err != nil {
				return t, err
			}
			t.elapsed = max(t.elapsed, now().Sub(began))
		}
		return t, nil
	}}
}

// lists returns functions that read one page of the console's list of leads, each with a different filter.
func (p *product) lists(ctx context.Context, reader *leads.Reader) (all []func(context.Context) error, err error) {
	var busiest uuid.UUID // half of the filled leads belong to it
	err = p.root.QueryRow(ctx, `SELECT id FROM partners WHERE slug = 'bench-000000'`).Scan(&busiest)
	if err != nil {
		return nil, err
	}
	first := now().AddDate(0, -fullMonths, 0)
	filters := []leads.Query{
		{}, {Account: uuid.Max}, {Industry: "none"}, {Country: "ZZ"}, {To: first.AddDate(0, 0, 1)},
		{From: first, To: first.AddDate(1, 0, 0)},
	}
	for _, state := range []string{leads.StateDelivered, leads.StateReturned, leads.StateErased, leads.StateSandbox} {
		filters = append(filters, leads.Query{State: state}, leads.Query{State: state, Industry: "none"})
	}
	for _, partner := range []uuid.UUID{uuid.Nil, busiest, uuid.Max} { // the last one has no leads
		for _, q := range filters {
			q.Partner, q.Size = partner, 50
			all = append(all, func(ctx context.Context) error { _, err := reader.List(ctx, scope.System, q); return err })
		}
	}
	return all, nil
}

func capScenario() *scenario {
	return &scenario{
		name: "caps", title: "Daily caps", rounds: 7, prepare: prepareCaps,
		text: `The ledger contains 3,000,000 leads that 1,000 partners, each with a cap, delivered in one day. A round
			simulates 20 seconds in which leads arrive at that day's rate and a node counts them twice per second. The figure
			is the time that the node spends on counting in one second. It does not include the time for storing the leads.`,
		figures: []*figure{
			absolute("counting, per second and node, at 3,000,000 leads per day", "count", turn.millis, "ms").atMost(5),
		},
	}
}

// capsEntriesSQL adds $3 ledger entries that are evenly spaced in time. Consecutive entries are for different
// partners.
const capsEntriesSQL = `WITH capped AS MATERIALIZED (SELECT array_agg(partner_id) AS ids FROM partner_prices)
	INSERT INTO ledger_entries
		(partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	SELECT ids[1 + i % cardinality(ids)], ids[1], gen_random_uuid(), 'accrual', i::text, 4560, 'GBP',
		$1::timestamptz + i * ($2::timestamptz - $1) / $3::int
	FROM capped, generate_series(0, $3::int - 1) AS i`

func prepareCaps(ctx context.Context, l *lab) ([]contender, error) {
	const seconds, countsPerSecond = 20, 2
	d, err := l.newDatabase(ctx, "caps")
	if err != nil {
		return nil, err
	}
	if err := d.fill(ctx, l, fillPlan{partners: 1000, until: now()}); err != nil {
		return nil, err
	}
	if err := d.exec(ctx, `INSERT INTO partner_prices (partner_id, daily_lead_cap, updated_at)
		SELECT id, 1000000, now() FROM partners WHERE slug LIKE 'bench-%'`); err != nil {
		return nil, err
	}
	leadsPerDay, day := l.sized(3_000_000), now().Truncate(24*time.Hour)
	manual := clock.NewManual(day.Add(23 * time.Hour))
	if _, err := d.root.Exec(ctx, capsEntriesSQL, day, manual.Now(), leadsPerDay); err != nil {
		return nil, err
	}
	if err := d.exec(ctx, "VACUUM (ANALYZE)"); err != nil {
		return nil, err
	}
	caps := partners.NewCaps(d.db, manual, nil)
	if ok, err := await(ctx, time.Minute, func() (bool, error) { return caps.Count(ctx) == nil, nil }); !ok {
		return nil, errors.Join(errors.New("the node cannot count the leads"), err)
	}
	return []contender{{name: "count", run: func(ctx context.Context, _ time.Duration) (t turn, err error) {
		for range seconds * countsPerSecond {
			from := manual.Now()
			manual.Advance(time.Second / countsPerSecond)
			added := max(1, leadsPerDay/(24*60*60*countsPerSecond))
			if _, err := d.root.Exec(ctx, capsEntriesSQL, from, manual.Now(), added); err != nil {
				return t, err
			}
			began := now()
			if err := caps.Count(ctx); err != nil {
				return t, err
			}
			t.elapsed += now().Sub(began) / seconds
		}
		return t, nil
	}}}, nil
}

func pricingScenario() *scenario {
	return &scenario{
		name: "pricing", title: "Pricing", rounds: 5, prepare: preparePricing,
		text: `A draft that changes every price is replayed day by day, until its result is stored. The pings are for
			every industry and market. Two thirds are from a thousand partners, and some became leads. One partner in fifty
			has partner pricing. The replay must find every ping.`,
		figures: []*figure{
			absolute("replay of 1,000,000 pings from 30 days", "replay", turn.seconds, "s").atMost(2),
		},
	}
}

func preparePricing(ctx context.Context, l *lab) ([]contender, error) {
	d, err := l.newDatabase(ctx, "pricing")
	if err != nil {
		return nil, err
	}
	queue := d.queue()
	s, err := ratecard.NewService(d.db, queue, clock.System{})
	if err != nil {
		return nil, err
	}
	if _, err := s.PublishShipped(ctx); err != nil {
		return nil, err
	}
	pings, tomorrow := l.sized(1_000_000), now().Truncate(24*time.Hour).AddDate(0, 0, 1)
	plan := fillPlan{partners: 1000, leads: l.sized(100_000), pings: pings, months: 1, until: tomorrow}
	if err := d.fill(ctx, l, plan); err != nil {
		return nil, err
	}
	if err := d.exec(ctx, `INSERT INTO partner_prices (partner_id, adjustment, updated_at)
		SELECT id, 500, now() FROM partners WHERE slug LIKE 'bench-%' AND right(slug, 6)::int % 50 = 0`); err != nil {
		return nil, err
	}
	s = s.By(audit.Operator)
	draft, err := s.CreateDraft(ctx, "10% more", 0)
	if err != nil {
		return nil, err
	}
	raise := pricingrules.Rule{Multiplier: pricingrules.MultiplierOne * 11 / 10}
	if err := s.PutRule(ctx, draft.ID, draft.RowVersion, 0, raise); err != nil {
		return nil, err
	}
	replay := contender{name: "replay", run: func(ctx context.Context, _ time.Duration) (t turn, err error) {
		if _, err := s.RequestReplay(ctx, draft, 30); err != nil {
			return t, err
		}
		began := now()
		if err := queue.RunNow(ctx, audit.Service, models.JobReplay, draft.ID, uuid.Nil); err != nil {
			return t, err
		}
		t.elapsed = now().Sub(began)
		latest, _, err := s.LastReplay(ctx, draft.ID)
		if err != nil {
			return t, err
		}
		result, err := ratecard.ReadReplay(latest.RateCardReplay)
		if err != nil {
			return t, err
		}
		var found, leads int64
		for _, line := range result.Total {
			found, leads = found+line.Pings.Count, leads+line.Leads.Count
		}
		if found != int64(pings) || leads == 0 {
			err = fmt.Errorf("the replay found %d of %d pings, and %d leads", found, pings, leads)
		}
		return t, err
	}}
	return []contender{replay}, nil
}
