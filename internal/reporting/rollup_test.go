package reporting_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/models"
)

// ledgerRollup is a database and a rollup of its ledger.
type ledgerRollup struct {
	*testkit.Database
	clock *clock.Manual
	log   *testkit.Log
	roll  *reporting.Rollup
}

func newLedgerRollup(t *testing.T) *ledgerRollup {
	t.Helper()
	b := &ledgerRollup{Database: testkit.NewDatabase(t), clock: clock.NewManual(testkit.StartTime())}
	b.roll = b.node(b.DB)
	return b
}

// node returns a rollup for another node.
func (b *ledgerRollup) node(db *postgres.DB) *reporting.Rollup {
	log, lines := testkit.NewLog()
	b.log = lines
	return reporting.NewRollup(db, b.clock, log)
}

func (b *ledgerRollup) partner(t *testing.T, slug string) uuid.UUID {
	t.Helper()
	partner := uuid.New()
	b.Exec(t,
		`INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at) VALUES ($1, $2, $2, 'approved', 'off', false, now(), now())`,
		partner, slug)
	return partner
}

const entered = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
	VALUES ($1, $1, gen_random_uuid(), $2, gen_random_uuid()::text, $3, $4, $5)`

func (b *ledgerRollup) enter(t *testing.T, partner uuid.UUID, kind string, minor int64, currency string, at time.Time) {
	t.Helper()
	if _, err := b.Pool.Exec(t.Context(), entered, partner, kind, minor, currency, at); err != nil {
		t.Fatal(err)
	}
}

func (b *ledgerRollup) accrue(t *testing.T, partner uuid.UUID, at time.Time, minors ...int64) {
	t.Helper()
	for _, minor := range minors {
		b.enter(t, partner, "accrual", minor, "GBP", at)
	}
}

func (b *ledgerRollup) pass(t *testing.T) {
	t.Helper()
	if err := b.roll.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// days returns partner_days, one row per line.
func (b *ledgerRollup) days(t *testing.T) string {
	t.Helper()
	return testkit.Value[string](t, b.Database, `SELECT coalesce(string_agg(concat_ws(' ', day, slug, currency, leads, payout_minor), E'\n' ORDER BY day, slug, currency), '')
		FROM partner_days d JOIN partners p ON p.id = d.partner_id`)
}

// figures returns partner_figures without the platform partner, one row per line.
func (b *ledgerRollup) figures(t *testing.T) string {
	t.Helper()
	return testkit.Value[string](t, b.Database, `SELECT coalesce(string_agg(concat_ws(' ', slug, leads, payouts, last_traffic_at), E'\n' ORDER BY slug), '')
		FROM partner_figures f JOIN partners p ON p.id = f.partner_id WHERE slug <> 'platform'`)
}

func (b *ledgerRollup) until(t *testing.T) time.Time {
	t.Helper()
	return testkit.Value[time.Time](t, b.Database, `SELECT added_until FROM partner_figures_state`)
}

func want(t *testing.T, what, got string, lines ...string) {
	t.Helper()
	if expected := strings.Join(lines, "\n"); got != expected {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, expected)
	}
}

// The first pass sums the last 40 days. The figures contain only the last 30.
func TestRollup(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	now := testkit.StartTime()
	b.CreateLedgerPartitions(t, now.AddDate(0, 0, -40))
	mine, theirs := b.partner(t, "mine"), b.partner(t, "theirs")
	b.partner(t, "new")
	today := now.Truncate(24 * time.Hour)
	b.accrue(t, mine, today, 1000, 200)
	b.accrue(t, mine, today.Add(-time.Microsecond), 30) // yesterday
	b.enter(t, mine, "accrual", 5, "EUR", today)
	b.enter(t, mine, "return", -1000, "GBP", today)
	b.accrue(t, mine, now.Add(-time.Second), 7) // less than a minute old, not added yet
	b.accrue(t, theirs, today.AddDate(0, 0, -29), 1)
	b.accrue(t, theirs, today.AddDate(0, 0, -29).Add(-time.Microsecond), 2) // not in the figures
	b.accrue(t, theirs, today.AddDate(0, 0, -39), 3)
	b.accrue(t, theirs, today.AddDate(0, 0, -39).Add(-time.Microsecond), 4) // not in partner_days
	b.Exec(t, `INSERT INTO traffic_minutes SELECT minute, $1, $1, $1, 'ping', 'priced', 1, '{}' FROM unnest($2::timestamptz[]) AS minute`,
		theirs, []time.Time{today, today.Add(time.Hour), today.Add(-time.Hour)})

	b.pass(t)
	before := []string{"2025-11-24 theirs GBP 1 3", "2025-12-03 theirs GBP 1 2", "2025-12-04 theirs GBP 1 1",
		"2026-01-01 mine GBP 1 30", "2026-01-02 mine EUR 1 5"}
	want(t, "days", b.days(t), append(before, "2026-01-02 mine GBP 2 1200")...)
	others := []string{"new 0 []", `theirs 1 [{"minor": 1, "currency": "GBP"}] 2026-01-02 01:00:00+00`}
	want(t, "figures", b.figures(t),
		append([]string{`mine 4 [{"minor": 1230, "currency": "GBP"}, {"minor": 5, "currency": "EUR"}]`}, others...)...)
	if got := b.until(t); !got.Equal(now.Add(-time.Minute)) {
		t.Errorf("added_until is %s, want %s", got, now.Add(-time.Minute))
	}

	b.clock.Advance(time.Minute)
	b.Exec(t, `DELETE FROM traffic_minutes`) // last_traffic_at must stay the same
	b.pass(t)
	want(t, "days a minute later", b.days(t), append(before, "2026-01-02 mine GBP 3 1207")...)
	want(t, "figures a minute later", b.figures(t),
		append([]string{`mine 5 [{"minor": 1237, "currency": "GBP"}, {"minor": 5, "currency": "EUR"}]`}, others...)...)

	b.clock.Advance(24 * time.Hour)
	b.pass(t)
	want(t, "days a day later", b.days(t), append(before[1:], "2026-01-02 mine GBP 3 1207")...)
	if got := b.figures(t); strings.Contains(got, `theirs 1`) {
		t.Errorf("the figures still contain a lead from 30 days ago: %s", got)
	}
}

// The figures count rejected posts of the last 24 hours and of the 7 days before them, without pings and sandbox
// accounts. They move on with the clock, and include counts that are written late.
func TestRollupCountsRejectedPosts(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	now := testkit.StartTime()
	mine, sandbox := b.partner(t, "mine"), uuid.New()
	b.Exec(t, `INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
		VALUES ($1, $2, 'trial', 'Trial', true, true, 'active', 'inherit', now(), now())`, sandbox, mine)
	count := func(at time.Time, account uuid.UUID, endpoint, outcome string, n int) {
		t.Helper()
		b.Exec(t, `INSERT INTO traffic_minutes VALUES ($1, $2, $3, $4, $5, $6, $7, '{}')`, at.Truncate(time.Minute), mine, account,
			uuid.Nil, endpoint, outcome, n)
	}
	rates := func(what, wanted string) {
		t.Helper()
		b.pass(t)
		want(t, what, testkit.Value[string](t, b.Database,
			`SELECT concat_ws(' ', posts, rejected_posts, rejected_before) FROM partner_figures WHERE partner_id = $1`, mine), wanted)
	}
	hour := now.Truncate(time.Hour)
	count(now, uuid.Nil, "post", "signature", 30)
	count(now, uuid.Nil, "post", "delivered", 5)
	count(now, uuid.Nil, "post", "replayed_unsigned", 1)
	count(now, uuid.Nil, "ping", "payload", 1000)
	count(now, sandbox, "post", "payload", 1000)
	count(hour.Add(-23*time.Hour), uuid.Nil, "post", "expired", 2)
	count(hour.Add(-24*time.Hour), uuid.Nil, "post", "expired", 4)
	count(hour.Add(-8*24*time.Hour+time.Hour), uuid.Nil, "post", "expired", 8)
	count(hour.Add(-8*24*time.Hour), uuid.Nil, "post", "expired", 1000)
	rates("first pass", "38 32 12")
	b.clock.Advance(2 * time.Minute)
	count(now.Add(-time.Minute), uuid.Nil, "post", "signature", 3) // in a minute that an earlier pass has counted
	rates("two minutes later", "41 35 12")
	b.clock.Advance(time.Hour)
	rates("an hour later", "39 33 6")
	b.clock.Advance(24 * time.Hour)
	rates("a day later", "0 0 39")
	b.clock.Advance(8 * 24 * time.Hour)
	rates("much later", "0 0 0")
	if n := testkit.Value[int](t, b.Database, `SELECT count(*) FROM post_hours`); n != 0 {
		t.Errorf("post_hours has %d old rows", n)
	}
}

// An entry that is committed more than a minute after its occurred_at is added 15 minutes after the
// end of the day.
func TestRollupAddsLateEntries(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine := b.partner(t, "mine")
	b.accrue(t, mine, testkit.StartTime().Add(-time.Hour), 100)
	b.pass(t)
	b.accrue(t, mine, testkit.StartTime().Add(-time.Hour), 20)
	midnight := testkit.StartTime().Truncate(24*time.Hour).AddDate(0, 0, 1)
	b.accrue(t, mine, midnight, 3)
	b.clock.Set(midnight.Add(15*time.Minute - time.Microsecond))
	b.pass(t)
	want(t, "before the day is summed again", b.days(t), "2026-01-02 mine GBP 1 100", "2026-01-03 mine GBP 1 3")
	b.clock.Advance(time.Microsecond)
	b.pass(t)
	want(t, "after the day is summed again", b.days(t), "2026-01-02 mine GBP 2 120", "2026-01-03 mine GBP 1 3")
	want(t, "figures", b.figures(t), `mine 3 [{"minor": 123, "currency": "GBP"}]`)
}

// After a pause that is longer than the retention period, the rollup starts with the first day of the
// period.
func TestRollupCatchesUp(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine := b.partner(t, "mine")
	b.accrue(t, mine, testkit.StartTime().Add(-time.Hour), 1)
	b.pass(t)
	b.CreateLedgerPartitions(t, testkit.StartTime().AddDate(0, 0, 61))
	for _, days := range []int{1, 50, 60, 61} {
		b.accrue(t, mine, testkit.StartTime().AddDate(0, 0, days), int64(days))
	}
	b.clock.Set(testkit.StartTime().AddDate(0, 0, 61).Add(time.Hour))
	b.pass(t)
	want(t, "days", b.days(t), "2026-02-21 mine GBP 1 50", "2026-03-03 mine GBP 1 60", "2026-03-04 mine GBP 1 61")
	want(t, "figures", b.figures(t), `mine 3 [{"minor": 171, "currency": "GBP"}]`)
}

// Rollups run concurrently on several nodes while entries are added and time advances. Each entry is
// counted exactly once.
func TestConcurrentRollups(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine := b.partner(t, "mine")
	b.clock.Set(testkit.StartTime().Truncate(24 * time.Hour).Add(-2 * time.Minute)) // so that the rounds cross midnight
	nodes := []*reporting.Rollup{b.roll, b.node(testkit.Open(t, b.AppURL)), b.node(testkit.Open(t, b.AppURL))}
	for round := range 20 {
		b.accrue(t, mine, b.clock.Now(), int64(round+1), 1)
		b.clock.Advance(61 * time.Second)
		var all sync.WaitGroup
		errs := make([]error, 2*len(nodes))
		for i := range errs {
			all.Go(func() { errs[i] = nodes[i%len(nodes)].Update(t.Context()) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	want(t, "days", b.days(t), "2026-01-01 mine GBP 4 5", "2026-01-02 mine GBP 36 225")
	want(t, "figures", b.figures(t), `mine 40 [{"minor": 230, "currency": "GBP"}]`)
}

func TestRollupSkipsWhileAnotherNodeRuns(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	other := testkit.Connect(t, b.AppURL)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtext('partner figures'))`); err != nil {
		t.Fatal(err)
	}
	b.pass(t)
	if n := testkit.Value[int](t, b.Database, `SELECT count(*) FROM partner_figures_state`); n != 0 {
		t.Error("a pass wrote to the database while another node had the lock")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.pass(t)
	if got := b.until(t); !got.Equal(testkit.StartTime().Add(-time.Minute)) {
		t.Errorf("added_until is %s, want %s", got, testkit.StartTime().Add(-time.Minute))
	}
}

// Without new entries, a pass writes only partner_figures_state, and only if time has advanced.
func TestIdleRollupWritesOnlyItsProgress(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	for i := range 3 {
		b.accrue(t, b.partner(t, fmt.Sprint("p", i)), testkit.StartTime().Add(-time.Hour), 1)
	}
	b.pass(t)
	versions := func(table string) string {
		return testkit.Value[string](t, b.Database,
			`SELECT coalesce(string_agg(concat_ws('/', ctid, xmin, xmax), ' ' ORDER BY ctid), '') FROM `+table)
	}
	tables := []string{"partner_days", "partner_figures", "partner_figures_state"}
	var before []string
	for _, table := range tables {
		before = append(before, versions(table))
	}
	b.pass(t)
	for i, table := range tables {
		if got := versions(table); got != before[i] {
			t.Errorf("%s was written although no time had passed: got %s, want %s", table, got, before[i])
		}
	}
	b.clock.Advance(20 * time.Second)
	b.pass(t)
	for i, table := range tables[:2] {
		if got := versions(table); got != before[i] {
			t.Errorf("%s was written: got %s, want %s", table, got, before[i])
		}
	}
	b.accrue(t, testkit.Value[uuid.UUID](t, b.Database, `SELECT id FROM partners WHERE slug = 'p1'`), b.clock.Now(), 1)
	b.clock.Advance(2 * time.Minute)
	b.pass(t)
	unchanged := 0
	for _, version := range strings.Fields(versions("partner_figures")) {
		if slices.Contains(strings.Fields(before[1]), version) {
			unchanged++
		}
	}
	if want := len(strings.Fields(before[1])) - 1; unchanged != want {
		t.Errorf("%d rows of partner_figures are unchanged, want %d", unchanged, want)
	}
}

// The figures exclude sandbox leads, which earn nothing (decision 25).
func TestRollupExcludesSandboxLeads(t *testing.T) {
	t.Parallel()
	p := testkit.NewPlatform(t)
	node := p.Intake(intake.Settings{DefaultMode: models.SigningRequired})
	var paid int64
	for _, account := range p.Required.Accounts {
		address := fmt.Sprintf(`"partnerId":%q`, account.Identifier)
		ping, err := node.Ping(intake.PingRequest{
			ID:   uuid.New(),
			Slug: p.Required.Slug,
			Body: fmt.Appendf(nil, `{"industry":"plumber","postcode":"SW1A 1AA",%s}`, address),
		})
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Appendf(nil, `{"transactionId":%q,%s,"email":"a@example.com","consent":{"acknowledged":true}}`,
			ping.TransactionID, address)
		post, err := node.Post(t.Context(), intake.PostRequest{
			ID:      uuid.New(),
			Slug:    p.Required.Slug,
			Headers: p.Required.Sign(p.Time.Now(), body),
			Body:    body,
		})
		if err != nil {
			t.Fatal(err)
		}
		if !account.Sandbox {
			paid += post.Payout.Minor
		}
	}
	if n := testkit.Value[int](t, p.DB, `SELECT count(*) FROM leads WHERE sandbox`); n != 1 {
		t.Fatalf("got %d sandbox leads, want 1", n)
	}
	p.Time.Advance(time.Hour)
	log, _ := testkit.NewLog()
	if err := reporting.NewRollup(p.DB.DB, p.Time, log).Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := testkit.Value[string](t, p.DB,
		`SELECT string_agg(leads || ' ' || payouts, '') FROM partner_figures WHERE partner_id = $1`, p.Required.ID)
	want(t, "figures", got, fmt.Sprintf(`1 [{"minor": %d, "currency": "GBP"}]`, paid))
}

// Run makes its first pass immediately. The log of a failed pass contains no SQL.
func TestRollupRunLogsFailures(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	b.Exec(t, `REVOKE SELECT ON ledger_entries FROM pingpost_app`)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.roll.Run(ctx) })
	testkit.Eventually(t, time.Minute, "the failure is logged", func() bool {
		return b.log.Count(`"level":"ERROR"`)+b.log.Count(`"level":"WARN"`) == 1
	})
	stop()
	running.Wait()
	if leaked := b.log.String(); strings.Contains(leaked, "SELECT") {
		t.Errorf("the log contains SQL: %s", leaked)
	}
}
