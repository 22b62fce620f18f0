package reporting_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/reporting"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestPreviousRange(t *testing.T) {
	t.Parallel()
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		from, until         time.Time
		step                time.Duration
		wantFrom, wantUntil time.Time
	}{
		"an hour":                      {at(9, 10, 1), at(9, 11, 0), time.Minute, at(9, 9, 1), at(9, 10, 0)},
		"two hours":                    {at(9, 10, 0), at(9, 12, 0), time.Hour, at(8, 10, 0), at(8, 12, 0)},
		"today, just after midnight":   {at(9, 0, 0), at(9, 0, 30), time.Hour, at(8, 0, 0), at(8, 0, 30)},
		"today until now":              {at(9, 0, 0), at(9, 7, 0), time.Hour, at(8, 0, 0), at(8, 7, 0)},
		"a day":                        {at(9, 0, 0), at(10, 0, 0), time.Hour, at(8, 0, 0), at(9, 0, 0)},
		"yesterday and today":          {at(8, 0, 0), at(9, 7, 0), time.Hour, at(6, 0, 0), at(7, 7, 0)},
		"a week that ends in the hour": {at(9, 6, 0), at(16, 5, 0), 6 * time.Hour, at(2, 6, 0), at(9, 5, 0)},
		"until a part of a minute":     {at(9, 0, 0), at(9, 7, 0).Add(50 * time.Second), time.Hour, at(8, 0, 0), at(8, 7, 0)},
	} {
		got := reporting.Range{From: c.from, Until: c.until, Step: c.step}.Previous()
		if got.From != c.wantFrom || got.Until != c.wantUntil || got.Step != c.step {
			t.Errorf("%s: got %s to %s", name, got.From, got.Until)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	d := testkit.NewDatabase(t)
	now := testkit.StartTime()
	mine, theirs, sandbox := uuid.New(), uuid.New(), uuid.New()
	count := func(at time.Time, partner, account uuid.UUID, endpoint, outcome string, n int) {
		t.Helper()
		d.Exec(t, `INSERT INTO traffic_minutes VALUES ($1, $2, $3, $4, $5, $6, $7, '{}')`, at.Truncate(time.Minute),
			partner, account, uuid.Nil, endpoint, outcome, n)
	}
	d.Exec(t,
		`INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at) VALUES ($1, 'mine', 'Mine', 'approved', 'off', false, now(), now())`,
		mine)
	d.Exec(t, `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
		VALUES ($1, $2, 'trial', 'Trial', true, true, 'active', 'inherit', now(), now())`, sandbox, mine)
	account := uuid.New()
	count(now, mine, uuid.Nil, "ping", "priced", 90)
	count(now.Add(-time.Hour), mine, uuid.Nil, "ping", "capped", 10)
	count(now.Add(-time.Hour), theirs, uuid.Nil, "ping", "payload", 7)
	count(now, mine, account, "post", "delivered", 5)
	count(now, mine, account, "post", "delivered_unsigned", 2)
	count(now, mine, account, "post", "replayed", 3)
	count(now, mine, account, "post", "signature", 9)
	count(now, mine, sandbox, "post", "delivered", 1000)
	count(now.Add(-4*time.Hour), mine, account, "post", "delivered", 1000) // before the range
	entry := func(partner uuid.UUID, at time.Time, currency string, minor int64) {
		t.Helper()
		lead := uuid.New()
		d.Exec(t, `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
			VALUES ($1, $2, $3, 'accrual', $4, $5, $6, $7)`, partner, account, lead, lead.String(), minor, currency, at)
	}
	entry(mine, now.Add(-time.Minute), "GBP", 4560)
	entry(mine, now.Add(-time.Minute), "GBP", 40)
	entry(mine, now.Add(-time.Minute), "EUR", 100)
	entry(theirs, now.Add(-time.Minute), "EUR", 1)
	entry(mine, now.Add(-4*time.Hour), "GBP", 1)

	minute := now.Truncate(time.Minute)
	before := reporting.Range{From: minute.Add(-4 * time.Hour), Until: minute.Add(-2 * time.Hour), Step: time.Hour}
	for end, want := range map[time.Duration]*reporting.Totals{
		0:                {Posts: 1000, Delivered: 1000},
		-2 * time.Minute: nil, // begins before the first count
	} {
		r := reporting.Range{From: before.From.Add(end), Until: before.Until, Step: time.Hour}
		got, err := reporting.NewReader(d.DB).Totals(t.Context(), scope.Partners(mine), r)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("totals from %s: %v (-want +got):\n%s", r.From, err, diff)
		}
	}

	r := reporting.LastSteps(now, time.Hour, 3)
	if len := r.Until.Sub(r.From); len <= 2*time.Hour || len > 3*time.Hour {
		t.Fatalf("got a range of %s, want 2h to 3h", len)
	}
	hour := now.Truncate(time.Hour)
	steps := func(pings int64, last reporting.Step) []reporting.Step {
		return []reporting.Step{{At: hour.Add(-2 * time.Hour)}, {At: hour.Add(-time.Hour), Pings: pings}, last}
	}
	last := reporting.Step{At: hour, Pings: 90, Posts: 19}
	for name, c := range map[string]struct {
		scope scope.Scope
		want  reporting.Figures
	}{
		"all partners": {scope.System, reporting.Figures{
			Totals:     reporting.Totals{Pings: 107, Priced: 90, Posts: 19, Replayed: 3, Delivered: 7},
			Steps:      steps(17, last),
			Rejections: []reporting.RejectionCount{{"post", "signature", 9}, {"ping", "payload", 7}},
			Payouts: []reporting.Payout{
				{money.Amount{Minor: 101, Currency: money.EUR}, 2},
				{money.Amount{Minor: 4600, Currency: money.GBP}, 2},
			},
		}},
		"one partner": {scope.Partners(mine), reporting.Figures{
			Totals:     reporting.Totals{Pings: 100, Priced: 90, Posts: 19, Replayed: 3, Delivered: 7},
			Steps:      steps(10, last),
			Rejections: []reporting.RejectionCount{{"post", "signature", 9}},
			Payouts: []reporting.Payout{
				{money.Amount{Minor: 100, Currency: money.EUR}, 1},
				{money.Amount{Minor: 4600, Currency: money.GBP}, 2},
			},
		}},
		"empty scope": {scope.Partners(), reporting.Figures{Steps: steps(0, reporting.Step{At: hour})}},
	} {
		got, err := reporting.NewReader(d.DB).Figures(t.Context(), c.scope, r)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
