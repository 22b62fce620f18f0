package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/jobs"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/ratecard"
	"github.com/pingpost/pingpost/models"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const (
	maxReplaySeconds = 2
	maxCompileMillis = 200
	compiledRules    = 50_000
	replayDays       = 30
	replaySellers    = 1000
	replayOwnPrices  = 50 // one partner in 50 has partner pricing
	replayDelivered  = 10 // one in 10 of the partners' priced pings was delivered
)

// pricing measures how long a node takes to price past pings with a draft, and to compile a rate card.
func (b *bench) pricing(ctx context.Context) (err error) {
	d, err := b.stage.newDatabase(ctx, "pricing")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	db, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	queue := jobs.NewQueue(db, clock.System{}, slog.New(slog.DiscardHandler))
	s, err := ratecard.NewService(db, queue, clock.System{})
	if err != nil {
		return err
	}
	if _, err := s.PublishShipped(ctx); err != nil {
		return err
	}
	b.progress("pricing: filling tables with %s pings from %d days", grouped(b.plan.ReplayPings), replayDays)
	if err := fillReplay(ctx, db, d, s, b.plan.ReplayPings); err != nil {
		return err
	}
	replays, err := b.replays(ctx, s, queue)
	if err != nil {
		return err
	}
	compiles, err := b.compiles(s)
	if err != nil {
		return err
	}
	b.report.pricing(b.plan.ReplayPings, replays, compiles)
	return nil
}

// fillReplay stores pings for every industry, country and urgency, most of them from a thousand
// partners. For one in ten of the partners' priced pings, it also stores a lead.
func fillReplay(ctx context.Context, db *postgres.DB, d *database, s *ratecard.Service, pings int64) error {
	var terms []int32
	for _, industry := range s.Taxonomy().Industries() {
		terms = append(terms, int32(industry.TermID))
	}
	var countries, currencies []string
	for i := range s.Markets().Len() {
		market := s.Markets().At(i)
		code := market.Code
		if code == pricingrules.OtherMarket {
			code = "JP"
		}
		countries, currencies = append(countries, code), append(currencies, market.Currency.String())
	}
	first := clock.System{}.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-replayDays)
	if _, err := db.Pool.Exec(ctx, `SELECT create_partitions('{pings}', 'day', $1, $2)`, first, first.AddDate(0, 0, replayDays+1)); err != nil {
		return postgres.Translate(err)
	}
	for _, fill := range []struct {
		sql  string
		args []any
	}{
		{`CREATE TABLE sellers AS SELECT i, gen_random_uuid() AS id FROM generate_series(1, $1::int) AS i`, []any{replaySellers}},
		{`INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at)
			SELECT id, 'seller-' || i, 'Seller', 'approved', 'default', false, now(), now() FROM sellers`, nil},
		{`INSERT INTO partner_prices (partner_id, adjustment, updated_at) SELECT id, 500, now() FROM sellers WHERE i % $1 = 0`, []any{replayOwnPrices}},
		{replayPingsSQL, []any{pings, first, float64(replayDays*24*60*60) / float64(pings), terms, countries, currencies}},
		{replayLeadsSQL, []any{replayDelivered}},
		{`VACUUM (ANALYZE)`, nil},
	} {
		if _, err := d.root.Exec(ctx, fill.sql, fill.args...); err != nil {
			return err
		}
	}
	return nil
}

// replayPingsSQL stores pings, and replayLeadsSQL stores leads for some of them. Consecutive pings
// differ in industry, country, urgency and partner, so that a replay cannot group many of them.
const (
	replayPingsSQL = `INSERT INTO pings (transaction, issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget,
			outcome, price_minor, currency, card_version, duration_us)
		SELECT gen_random_uuid(), $2::timestamptz + make_interval(secs => ping.i * $3::float8), seller.id, false,
			($4::int[])[1 + ping.i % cardinality($4::int[])], ($5::text[])[1 + ping.i % cardinality($5::text[])], 'SW1A 1AA',
			(ARRAY['', 'emergency', 'urgent', 'flexible', 'when it suits'])[1 + ping.i / 7 % 5], '', '',
			(ARRAY['priced', 'priced', 'priced', 'priced', 'priced', 'priced', 'priced', 'priced', 'excluded', 'capped'])[1 + ping.i / 11 % 10],
			500 + ping.i % 9500, ($6::text[])[1 + ping.i % cardinality($6::text[])], 1, 40
		FROM generate_series(0, $1::int - 1) AS ping (i) LEFT JOIN sellers AS seller ON seller.i = ping.i % 1500`
	replayLeadsSQL = `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox, price_minor, currency,
			industry, term_id, urgency, card_version, quoted_partner, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode,
			phone_flagged, ciphertext)
		SELECT (lpad(to_hex((extract(epoch FROM issued_at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
			gen_random_uuid(), 'tx', partner_id, partner_id, false, false, price_minor, currency, '', term_id, urgency, 1, partner_id, country, postcode,
			issued_at, issued_at, country, postcode, false, '\x00'
		FROM (SELECT *, row_number() OVER () AS n FROM pings WHERE outcome = 'priced' AND partner_id IS NOT NULL) AS sold WHERE n % $1::int = 0`
)

// replays measures how long it takes to price past pings with a draft that multiplies all prices by
// 1.1.
func (b *bench) replays(ctx context.Context, s *ratecard.Service, queue *jobs.Queue) (seconds []float64, err error) {
	s = s.By(audit.Operator)
	draft, err := s.CreateDraft(ctx, "a little more", 0)
	if err != nil {
		return nil, err
	}
	raise := pricingrules.Rule{Multiplier: pricingrules.MultiplierOne * 11 / 10}
	if err := s.PutRule(ctx, draft.ID, draft.RowVersion, 0, raise); err != nil {
		return nil, err
	}
	for i := range b.plan.ReplayRounds {
		if _, err := s.RequestReplay(ctx, draft, replayDays); err != nil {
			return nil, err
		}
		began := clock.System{}.Now()
		if err := queue.RunNow(ctx, audit.Service, models.JobReplay, draft.ID, uuid.Nil); err != nil {
			return nil, err
		}
		took := clock.System{}.Now().Sub(began)
		if err := b.checkReplay(ctx, s, draft); err != nil {
			return nil, err
		}
		b.progress("pricing: replay %d/%d: %v", i+1, b.plan.ReplayRounds, took)
		seconds = append(seconds, took.Seconds())
	}
	return seconds, nil
}

// checkReplay returns an error if the replay missed pings or found no leads.
func (b *bench) checkReplay(ctx context.Context, s *ratecard.Service, draft models.RateCard) error {
	r, _, err := s.LastReplay(ctx, draft.ID)
	if err != nil {
		return err
	}
	result, err := ratecard.ReadReplay(r.RateCardReplay)
	if err != nil {
		return err
	}
	var pings, leads int64
	for _, line := range result.Total {
		pings, leads = pings+line.Pings.Count, leads+line.Leads.Count
	}
	if pings != b.plan.ReplayPings || leads == 0 {
		return fmt.Errorf("the replay found %d of %d pings, and %d leads", pings, b.plan.ReplayPings, leads)
	}
	return nil
}

// compiles measures how long it takes to compile a rate card with very many rules.
func (b *bench) compiles(s *ratecard.Service) (millis []float64, err error) {
	card := manyRules(s.Taxonomy(), s.Markets(), compiledRules)
	for range b.plan.ReplayRounds {
		began := clock.System{}.Now()
		if _, err := pricingrules.Compile(card, s.Taxonomy(), s.Markets()); err != nil {
			return nil, err
		}
		took := clock.System{}.Now().Sub(began)
		millis = append(millis, float64(took.Microseconds())/1e3)
	}
	return millis, nil
}

// manyRules returns a rate card with n rules. The first rule for each combination of category or
// industry, market and urgency class sets a base price and a multiplier. Any further rules set a floor.
func manyRules(tax *pricingrules.Taxonomy, markets *pricingrules.Markets, n int) (card pricingrules.Card) {
	var scopes []pricingrules.Target
	for _, category := range tax.Categories() {
		scopes = append(scopes, pricingrules.Target{Category: category.Slug})
	}
	for _, industry := range tax.Industries() {
		scopes = append(scopes, pricingrules.Target{Industry: industry.Slug})
	}
	var targets []pricingrules.Target
	for _, t := range append(scopes, pricingrules.Target{}) {
		for market := -1; market < markets.Len(); market++ {
			if t.Country = ""; market >= 0 {
				t.Country = markets.At(market).Code
			}
			t.Urgency = ""
			targets = append(targets, t)
			for class := range ratecard.Classes() {
				t.Urgency = class
				targets = append(targets, t)
			}
		}
	}
	for i := range n {
		rule := pricingrules.Rule{
			Base:       pricingrules.Amounts{0, 1000, 1100, 1200, 1300, 1400},
			Multiplier: pricingrules.MultiplierOne + int64(i%5000),
		}
		if i >= len(targets) {
			rule = pricingrules.Rule{Floor: pricingrules.Amounts{0, 500, 600, 700, 800, 900}}
		}
		card.Rules = append(card.Rules, rule.For(targets[i%len(targets)]))
	}
	return card
}
