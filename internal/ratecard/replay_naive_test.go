package ratecard_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

// recordedRow is a recorded ping, or a lead with its quote.
type recordedRow struct {
	lead, sandbox, named bool // named: the lead's quote was made for its partner
	at                   time.Time
	partner              uuid.UUID // uuid.Nil for a ping on the shared base URL
	term                 int
	country, urgency     string
	outcome              string
	minor                int64
	currency             string
}

const (
	insertPing = `INSERT INTO pings (issued_at, partner_id, sandbox, term_id, country, postcode, urgency, job_type, budget, outcome, price_minor, currency, card_version, duration_us)
		VALUES ($1, $2, $3, $4, $5, 'SW1A 1AA', $6, '', '', $7, $8, $9, 1, 100)`
	insertLead = `INSERT INTO leads (id, attempt_id, transaction_id, partner_id, account_id, hmac_verified, sandbox, price_minor, currency, industry, term_id, urgency,
			card_version, quoted_partner, quoted_country, quoted_postcode, quoted_at, received_at, country, postcode, phone_flagged, ciphertext)
		VALUES ($1, gen_random_uuid(), 'tx_', $2, gen_random_uuid(), false, $3, $4, $5, 'plumber', $6, $7, 1, $8, $9, 'SW1A 1AA', $10, $10, 'US', 'SW1A 1AA', false, '\x00')`
)

// record inserts rows into the database.
func (w *rateCards) record(t *testing.T, rows []recordedRow) {
	t.Helper()
	conn := testkit.Connect(t, w.RootURL)
	first, days := w.clock.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -6), 10
	batch := &pgx.Batch{}
	batch.Queue(`SELECT create_partitions('{pings}', 'day', $1, $2)`, first, first.AddDate(0, 0, days))
	for _, row := range rows {
		if row.lead {
			var named *uuid.UUID
			if row.named {
				named = &row.partner
			}
			batch.Queue(insertLead, id.New(row.at), row.partner, row.sandbox, row.minor, row.currency, row.term,
				row.urgency, named, row.country, row.at)
			continue
		}
		var partner *uuid.UUID
		if row.partner != uuid.Nil {
			partner = &row.partner
		}
		batch.Queue(insertPing, row.at, partner, row.sandbox, row.term, row.country, row.urgency, row.outcome,
			row.minor, row.currency)
	}
	if err := conn.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
}

// partner creates a partner. If exclusions is not empty, the partner has partner pricing.
func (w *rateCards) partner(t *testing.T, slug string, adjustment int, exclusions string) uuid.UUID {
	t.Helper()
	partner := uuid.New()
	w.Exec(t,
		`INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at) VALUES ($1, $2, $2, 'approved', 'required', true, now(), now())`,
		partner, slug)
	if exclusions != "" {
		w.Exec(t,
			`INSERT INTO partner_prices (partner_id, adjustment, exclusions, updated_at) VALUES ($1, $2, $3::jsonb, now())`,
			partner, adjustment, exclusions)
	}
	return partner
}

// naive adds up rows one by one, without a database.
type naive struct {
	table       *pricingrules.Table
	own         map[uuid.UUID]pricingrules.PartnerPricing
	from, until time.Time
	sums        [4]map[[2]string]*ratecard.ReplayLine // total, by category, by country, by partner
}

func (n *naive) all(rows []recordedRow) {
	for i := range n.sums {
		n.sums[i] = map[[2]string]*ratecard.ReplayLine{}
	}
	for _, row := range rows {
		industry, known := n.table.Taxonomy().ByTermID(row.term)
		if row.sandbox || row.at.Before(n.from) || !row.at.Before(n.until) {
			continue
		}
		market := n.table.Markets().Index([2]byte([]byte(row.country)))
		// An industry that no longer exists has no category and no price.
		keys := []string{"", noKey, n.table.Markets().At(market).Code, noKey}
		if known {
			keys[1] = n.table.Taxonomy().At(industry).Category
		}
		if row.partner != uuid.Nil {
			keys[3] = row.partner.String()
		}
		for i, key := range keys {
			if key == noKey {
				continue
			}
			at := [2]string{key, row.currency}
			if n.sums[i][at] == nil {
				n.sums[i][at] = &ratecard.ReplayLine{Key: key, Currency: row.currency}
			}
			figures := &n.sums[i][at].Pings
			if row.lead {
				figures = &n.sums[i][at].Leads
			}
			n.one(figures, row, industry, market, known)
		}
	}
}

const noKey = "none"

func (n *naive) one(f *ratecard.ReplayTotals, row recordedRow, industry, market int, known bool) {
	f.Count++
	if row.lead || row.outcome == "priced" {
		f.Then++
		f.ThenMinor += row.minor
	}
	if !known || (!row.lead && row.outcome != "priced" && row.outcome != "excluded") {
		return // other outcomes, such as capped, do not depend on the rate card
	}
	var own pricingrules.PartnerPricing
	if !row.lead || row.named {
		own = n.own[row.partner]
	}
	if own.Excludes(n.table.Taxonomy().At(industry), row.country) {
		return
	}
	if minor := n.table.PriceFor(industry, market, pricingrules.ClassOf(row.urgency), own.Adjustment).Minor; minor > 0 {
		f.Now++
		f.NowMinor += minor
	}
}

// compareLines compares part of a replay's result with the naive sum.
func compareLines(t *testing.T, what string, got []ratecard.ReplayLine, want map[[2]string]*ratecard.ReplayLine) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d lines, want %d", what, len(got), len(want))
	}
	for _, line := range got {
		if is := want[[2]string{line.Key, line.Currency}]; is == nil || *is != line {
			t.Errorf("%s: got line %+v, want %+v", what, line, is)
		}
	}
}

// A replay must have the same result as adding up the rows one by one.
func TestReplayMatchesNaiveSum(t *testing.T) {
	t.Parallel()
	rules := []pricingrules.Rule{
		{Category: "legal-services", Base: all(3333)},
		{Industry: "plumber", Country: "GB", Base: all(4560)},
		{Urgency: "urgent", Multiplier: 12_500},
		{Urgency: "emergency", Multiplier: 16_001},
		{Urgency: "immediate", Multiplier: 14_000},
		{Urgency: "flexible", Multiplier: 8_501},
		{Country: "other", Multiplier: 7_777},
		{Industry: "roofer", Exclude: pricingrules.ExcludeTrue},
		{Industry: "roofer", Country: "FR", Urgency: "flexible", Exclude: pricingrules.ExcludeFalse},
	}
	w := newRateCards(t, everywhere(1000))
	card := w.draft(t)
	if _, err := w.Replace(t.Context(), card.ID, card.RowVersion, "prices", everywhere(1999, rules...)); err != nil {
		t.Fatal(err)
	}
	table, problems := pricingrules.Examine(everywhere(1999, rules...), w.Taxonomy(), w.Markets())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	partners := []uuid.UUID{
		uuid.Nil, w.partner(t, "plain", 0, ""), w.partner(t, "capped-only", 0, `[]`), w.partner(t, "dearer", 1_525,
			`[{"industry":"plumber","country":"PL"}]`),
		w.partner(t, "choosy", 0, `[{"category":"legal-services"},{"country":"FR"}]`), w.partner(t, "cheaper", -9_000, `[]`),
	}
	own := map[uuid.UUID]pricingrules.PartnerPricing{
		partners[3]: {Adjustment: 1_525, Exclusions: []pricingrules.PartnerExclusion{{Industry: "plumber", Country: "PL"}}},
		partners[4]: {Exclusions: []pricingrules.PartnerExclusion{{Category: "legal-services"}, {Country: "FR"}}},
		partners[5]: {Adjustment: -9_000},
	}
	today := w.clock.Now().Truncate(24 * time.Hour)
	rows := randomRows(rand.New(rand.NewPCG(20260102, 1)), w, today, partners)
	w.record(t, rows)
	for _, days := range []int{1, 3, 5} {
		r, err := w.RequestReplay(t.Context(), w.now(t, card.ID), days)
		must(t, err)
		must(t, w.runReplay(t, card.ID))
		result := w.result(t, card.ID, r.ID)
		want := naive{table: table, own: own, from: today.AddDate(0, 0, 1-days), until: today.AddDate(0, 0, 1)}
		want.all(rows)
		compareLines(t, "total", result.Total, want.sums[0])
		compareLines(t, "by category", result.Categories, want.sums[1])
		compareLines(t, "by country", result.Countries, want.sums[2])
		compareLines(t, "by partner", result.Partners, want.sums[3])
		if len(result.Total) < 4 || len(result.Partners) < 15 || len(result.Countries) < 5 || result.MorePartners != 0 {
			t.Errorf("%d days: got too few lines from the random rows: %+v", days, result)
		}
	}
}

// randomRows returns pings and leads from a seven-day period that ends tomorrow.
func randomRows(r *rand.Rand, w *rateCards, today time.Time, partners []uuid.UUID) (rows []recordedRow) {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	terms := []int{9} // an industry that no longer exists
	for _, slug := range []string{"plumber", "roofer", "locksmith", "taxi", "adoption-lawyer", "accountant"} {
		at, _ := w.Taxonomy().BySlug(slug)
		terms = append(terms, w.Taxonomy().At(at).TermID)
	}
	for range 3_000 {
		row := recordedRow{
			lead:    r.IntN(3) == 0,
			sandbox: r.IntN(10) == 0,
			partner: partners[r.IntN(len(partners))],
			term:    terms[r.IntN(len(terms))],
			country: pick("GB", "FR", "DE", "US", "CA", "PL", "CH", "ZZ"),
			urgency: pick("", "Urgent", "emergency", "IMMEDIATE", "flexible", "whenever", "standard"),
			outcome: pick("priced", "priced", "priced", "excluded", "capped", "paused"),
			at:      today.AddDate(0, 0, r.IntN(7)-5).Add(time.Duration(r.Int64N(int64(24*time.Hour/time.Millisecond))) * time.Millisecond),
		}
		if r.IntN(10) == 0 {
			row.at = row.at.Truncate(24 * time.Hour) // midnight belongs to the new day
		}
		market := w.Markets().Index([2]byte([]byte(row.country)))
		row.currency = w.Markets().At(market).Currency.String()
		if row.lead {
			row.partner, row.named = partners[1+r.IntN(len(partners)-1)], r.IntN(2) == 0
			row.urgency = pricingrules.ClassOf(row.urgency).String() // as in quotes
		}
		if row.lead || row.outcome == "priced" {
			row.minor = 1 + r.Int64N(9_000)
		}
		rows = append(rows, row)
	}
	return slices.Clip(rows)
}
