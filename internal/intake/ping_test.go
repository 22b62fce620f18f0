package intake_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/snapshot"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// cell returns a cell of the rate card.
func (n *node) cell(industry, country, urgency string) pricingrules.Cell {
	card := n.Card.Get()
	i, _ := card.Taxonomy.BySlug(industry)
	return card.Table.Price(i, card.Markets.Index([2]byte([]byte(country))), pricingrules.ClassOf(urgency))
}

// setPrice sets a partner's pricing, as if it had been agreed an hour ago (decision 5).
func (n *node) setPrice(t testing.TB, p testkit.Partner, adjustment int, exclusions string, dailyCap any) {
	t.Helper()
	n.DB.Exec(t, `INSERT INTO partner_prices (partner_id, adjustment, exclusions, daily_lead_cap, agreed_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
		ON CONFLICT (partner_id) DO UPDATE SET adjustment = excluded.adjustment, exclusions = excluded.exclusions, daily_lead_cap = excluded.daily_lead_cap`,
		p.ID, adjustment, exclusions, dailyCap, n.Time.Now().Add(-time.Hour))
	n.Reload(t)
}

func (n *node) setStatus(t testing.TB, p testkit.Partner, to models.PartnerStatus) {
	t.Helper()
	if err := n.Partners.SetStatus(t.Context(), scope.System, p.ID, to); err != nil {
		t.Fatal(err)
	}
}

// notPriced checks that a ping is declined with the reason and a price of 0.
func (n *node) notPriced(t testing.TB, slug, body, reason string, currency money.Currency) {
	t.Helper()
	r := n.ping(t, slug, body)
	if r.Accepted || r.Reason != reason || r.TransactionID != nil || r.Quote.ID != uuid.Nil ||
		r.Quote.Price != (money.Amount{Currency: currency}) {
		t.Errorf("got accepted %t, reason %q, price %s, transactionId %q; want reason %q", r.Accepted, r.Reason, r.Quote.Price,
			r.TransactionID, reason)
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("ping to either base URL", func(t *testing.T) { pingToEitherBaseURL(t, n) })
	t.Run("ping rejected", func(t *testing.T) { pingRejected(t, n) })
	t.Run("unknown base URL", func(t *testing.T) { unknownBaseURL(t, n) })
	t.Run("own adjustment", func(t *testing.T) { ownAdjustment(t, n) })
	t.Run("own exclusions", func(t *testing.T) { ownExclusions(t, n) })
}

func pingToEitherBaseURL(t *testing.T, n *node) {
	for slug, partner := range map[string]uuid.UUID{
		shared:          uuid.Nil,
		n.Required.Slug: n.Required.ID,
		n.Off.Slug:      n.Off.ID,
	} {
		r := n.ping(t, slug, `{"industry":"plumber","postcode":" 75001 ","country":"fr","urgency":"Urgent"}`)
		if !r.Accepted || r.Reason != "" || r.Industry != "plumber" {
			t.Fatalf("at %q: %+v", slug, r)
		}
		opened, err := n.Quotes.Open(string(r.TransactionID), n.Time.Now())
		if err != nil || opened != r.Quote {
			t.Errorf("at %q: the transactionId contains %+v, the result %+v: %v", slug, opened, r.Quote, err)
		}
		q, want := r.Quote, n.cell("plumber", "FR", "urgent")
		if q.Partner != partner || q.Sandbox || q.Postcode != "75001" || q.Country != [2]byte{'F', 'R'} ||
			q.CardVersion != 1 {
			t.Errorf("at %q: got quote %+v", slug, q)
		}
		if q.Price != (money.Amount{Minor: want.Minor, Currency: money.EUR}) {
			t.Errorf("at %q: got price %s, want %s", slug, q.Price, want)
		}
		if !q.IssuedAt().Equal(n.Time.Now()) || !q.ExpiresAt().Equal(n.Time.Now().Add(15*time.Minute)) {
			t.Errorf("at %q: valid from %s to %s", slug, q.IssuedAt(), q.ExpiresAt())
		}
	}
}

func pingRejected(t *testing.T, n *node) {
	for _, slug := range []string{shared, n.Required.Slug} {
		for body, want := range map[string]rejection{"{": badJSON, "[]": badPing, `{"industry":"plumber"}`: badPing} {
			r, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: slug, Body: []byte(body)})
			want.check(t, err)
			if slug == n.Required.Slug && r.Quote.Partner != n.Required.ID {
				t.Errorf("the result has the wrong partner: %s", r.Quote.Partner)
			}
		}
	}
}

func unknownBaseURL(t *testing.T, n *node) {
	_, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: "no-such-partner", Body: []byte(leastPing)})
	unknownSlug.check(t, err)
	if !errors.Is(err, intake.ErrUnknownSlug) {
		t.Error("the error is not ErrUnknownSlug")
	}
	n.stores(t, nothing, func() {
		n.rejected(t, n.signed(n.Required, strings.ToUpper(n.Required.Slug), body(n.quote(t, shared))), unknownSlug)
	})
}

func ownAdjustment(t *testing.T, n *node) {
	base := n.cell("plumber", "GB", "").Minor
	for adjustment, times := range map[int]int64{10_000: 2, 90_000: 10} {
		n.setPrice(t, n.Required, adjustment, `[]`, nil)
		if got := n.ping(t, n.Required.Slug, leastPing).Quote.Price.Minor; got != times*base {
			t.Errorf("adjusting by %d/10,000 from %d: got %d", adjustment, base, got)
		}
		for _, slug := range []string{shared, n.Off.Slug} {
			if got := n.ping(t, slug, leastPing).Quote.Price.Minor; got != base {
				t.Errorf("at %q: got price %d with the adjustment of another partner", slug, got)
			}
		}
	}
	defer n.setPrice(t, n.Required, 0, `[]`, nil)
	tx := n.quote(t, n.Required.Slug)
	quoted, _ := n.Quotes.Open(tx, n.Time.Now())
	n.setPrice(t, n.Required, 500, `[]`, nil)
	if r := n.post(t, n.signed(n.Required, n.Required.Slug, body(tx))); r.Payout != quoted.Price {
		t.Errorf("got payout %s, want %s", r.Payout, quoted.Price)
	}
}

func ownExclusions(t *testing.T, n *node) {
	at := func(industry, country string) string {
		return `{"industry":"` + industry + `","postcode":"1","country":"` + country + `"}`
	}
	i, _ := n.Card.Get().Taxonomy.BySlug("plumber")
	category := n.Card.Get().Taxonomy.At(i).Category
	for exclusion, excluded := range map[string][]string{
		`[{"industry":"plumber"}]`:                                 {at("plumber", "GB"), at("plumber", "FR")},
		`[{"industry":"plumber","country":"FR"}]`:                  {at("plumber", "FR")},
		`[{"category":"` + category + `","country":"GB"}]`:         {at("plumber", "GB"), at("roofer", "GB")},
		`[{"country":"FR"},{"industry":"dentist"}]`:                {at("plumber", "FR"), at("roofer", "FR"), at("dentist", "GB")},
		`[{"industry":"dentist","country":"GB"},{"country":"XX"}]`: {at("dentist", "GB"), at("plumber", "XX")},
	} {
		n.setPrice(t, n.Required, 0, exclusion, nil)
		for _, ping := range excluded {
			currency := money.GBP
			if strings.Contains(ping, "FR") {
				currency = money.EUR
			}
			n.notPriced(t, n.Required.Slug, ping, string(models.OutcomeExcluded), currency)
			if !n.ping(t, shared, ping).Accepted || !n.ping(t, n.Off.Slug, ping).Accepted {
				t.Errorf("%s applies to other partners", exclusion)
			}
		}
		for _, ping := range []string{at("roofer", "US"), at("electrician", "AU")} {
			if r := n.ping(t, n.Required.Slug, ping); !r.Accepted {
				t.Errorf("%s excludes %s", exclusion, ping)
			}
		}
	}
}

// The rate card's exclusions apply to all partners and the shared base URL (decision 4).
func TestExcludedByTheRateCard(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	taxonomy, markets, card, err := pricingrules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	card.Rules = append(card.Rules, pricingrules.Rule{
		Industry: "plumber",
		Country:  "GB",
		Exclude:  pricingrules.ExcludeTrue,
	})
	table, err := pricingrules.Compile(card, taxonomy, markets)
	if err != nil {
		t.Fatal(err)
	}
	n.Card = snapshot.New("rate_card", func(context.Context) (*ratecard.CompiledVersion, error) {
		return &ratecard.CompiledVersion{Version: 2, Table: table, Taxonomy: taxonomy, Markets: markets}, nil
	})
	log, _ := testkit.NewLog()
	if err := snapshot.NewWatcher(n.DB.Pool, log, n.Card).Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.in = n.Intake(settings())
	n.setStatus(t, n.Off, models.PartnerSuspended)
	n.Reload(t)
	for _, slug := range []string{shared, n.Required.Slug, n.Off.Slug} {
		n.notPriced(t, slug, leastPing, string(models.OutcomeExcluded), money.GBP)
	}
	if r := n.ping(t, shared, `{"industry":"roofer","postcode":"1"}`); !r.Accepted || r.Quote.CardVersion != 2 {
		t.Errorf("other industry: got %+v", r)
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.setStatus(t, n.Required, models.PartnerSuspended)
	n.setStatus(t, n.Off, models.PartnerPending)
	n.DB.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE id = $1`, n.ReportOnly.Accounts[0].ID)
	empty := n.AddPartner(t, "without-accounts", models.SigningOff, []partners.NewAccount{}...)
	n.setPrice(t, n.Required, 0, `[{"industry":"plumber"}]`, nil)
	for _, p := range []testkit.Partner{n.Required, n.Off, n.ReportOnly, empty} {
		n.notPriced(t, p.Slug, leastPing, string(models.OutcomePaused), money.GBP)
	}
	n.setStatus(t, n.Off, models.PartnerApproved)
	n.Reload(t)
	if !n.ping(t, n.Off.Slug, leastPing).Accepted {
		t.Error("declined a ping of an approved partner")
	}
}

func TestDailyCap(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	own := n.Required.Slug
	n.setPrice(t, n.Required, 0, `[]`, 2)
	deliver := func(tx string, members ...string) {
		t.Helper()
		n.post(t, n.signed(n.Required, own, body(tx, members...)))
		n.Reload(t)
	}
	issued := n.quote(t, own)
	for range 3 {
		deliver(n.quote(t, own), partnerID(n.Required.Accounts[1].Identifier)) // sandbox leads do not count
	}
	deliver(n.quote(t, own))
	if !n.ping(t, own, leastPing).Accepted {
		t.Fatal("capped after one lead with a cap of 2")
	}
	deliver(n.quote(t, own))
	n.notPriced(t, own, leastPing, string(models.OutcomeCapped), money.GBP)
	if !n.ping(t, shared, leastPing).Accepted || !n.ping(t, n.Off.Slug, leastPing).Accepted {
		t.Error("the cap applies to other partners")
	}
	// A quoted price remains valid.
	n.stores(t, oneLead, func() { deliver(issued) })
	n.notPriced(t, own, leastPing, string(models.OutcomeCapped), money.GBP)

	midnight := n.Time.Now().Truncate(24 * time.Hour).Add(24 * time.Hour)
	n.Time.Set(midnight.Add(-time.Millisecond))
	n.Reload(t)
	n.notPriced(t, own, leastPing, string(models.OutcomeCapped), money.GBP)
	n.Time.Set(midnight)
	n.Reload(t)
	if !n.ping(t, own, leastPing).Accepted {
		t.Error("still capped on the next day")
	}
}

// ticking is a clock that advances by a step on each call.
type ticking struct {
	*clock.Manual
	step time.Duration
}

func (c ticking) Now() time.Time {
	c.Advance(c.step)
	return c.Manual.Now()
}

// The time taken by a ping is recorded in microseconds in the pings table and the traffic counters,
// whether the ping is priced or declined (decision 2).
func TestTimingIsRecorded(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.setPrice(t, n.Off, 0, `[{"industry":"plumber"}]`, nil)
	const step = 1003 * time.Microsecond
	n.Clock = ticking{n.Time, step}
	n.in = n.Intake(settings())
	answers := []intake.PingResult{n.ping(t, n.Required.Slug, leastPing), n.ping(t, n.Off.Slug, leastPing)}
	n.eventuallyFlushed(t, 2)
	n.Traffic.Flush(t.Context())
	recorded, counters := n.readPings(t), n.counters(t)
	for i, name := range []string{"priced", string(models.OutcomeExcluded)} {
		took := answers[i].Timing.Auction
		if cell := answers[i].Timing.Cell; cell != step || took <= cell || took%step != 0 {
			t.Errorf("%s: got auction %s with lookup %s", name, took, cell)
		}
		if recorded[i].Outcome != name || recorded[i].Took != took {
			t.Errorf("%s: took %s, recorded as %s %s", name, took, recorded[i].Outcome, recorded[i].Took)
		}
		want := make([]int64, len(models.LatencyBounds)+1)
		want[slices.IndexFunc(models.LatencyBounds[:], func(bound time.Duration) bool { return took <= bound })] = 1
		for k, c := range counters {
			if k.Outcome == name && !slices.Equal(c.latency, want) {
				t.Errorf("%s took %s, got counts %v", name, took, c.latency)
			}
		}
	}
	if len(counters) != 2 {
		t.Errorf("got counts %v", counters)
	}
}

// TestPingAllocations uses the minimum of many runs, because the recorder's buffer sometimes grows.
// [raceAllocations] is the number of allocations that the race detector adds.
func TestPingAllocations(t *testing.T) {
	n := newNode(t)
	in := n.Intake(intake.Settings{PingRate: 1 << 30, SharedPingRate: 1 << 30})
	const typicalPing = `{"industry":"plumber","postcode":"SW1A 1AA","country":"GB","urgency":"emergency","job_type":"repair","budget":"500-1000"}`
	for name, r := range map[string]intake.PingRequest{
		"partner's base URL": {ID: uuid.New(), Slug: n.Required.Slug, Body: []byte(typicalPing)},
		"shared base URL":    {ID: uuid.New(), Slug: shared, Body: []byte(typicalPing)},
	} {
		fewest := 100.0
		for range 200 {
			fewest = min(fewest, testing.AllocsPerRun(1, func() {
				if result, err := in.Ping(r); err != nil || !result.Accepted {
					t.Error(result.Reason, err)
				}
			}))
		}
		if fewest != 2+raceAllocations {
			t.Errorf("%s: got %v allocations per ping, want %d (the ping's strings and the transactionId)",
				name, fewest, 2+raceAllocations)
		}
	}
}

func BenchmarkPing(b *testing.B) {
	n := newNode(b)
	run(b, n.Recorder.Run)
	in := n.Intake(intake.Settings{PingRate: 1 << 30})
	r := intake.PingRequest{ID: uuid.New(), Slug: n.Required.Slug, Body: []byte(leastPing)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Ping(r); err != nil {
			b.Fatal(err)
		}
	}
}
