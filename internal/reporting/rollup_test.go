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

	"github.com/pingpost/pingpost/internal/clock"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/internal/reporting"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

// ledgerRollup is a ledger with partners, and the roll-up of it.
type ledgerRollup struct {
	*testkit.Database
	clock *clock.Manual
	log   *testkit.Log
	roll  *reporting.Rollup
}

func newLedgerRollup(t *testing.T) *ledgerRollup {
	t.Helper()
	b := &ledgerRollup{Database: testkit.NewDatabase(t), clock: clock.NewManual(testkit.StartTime())}
	b.Exec(t, `ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_lead_fkey`) // leads are not the test's subject
	b.roll = b.node(b.DB)
	return b
}

// node is the roll-up of another node.
func (b *ledgerRollup) node(db *postgres.DB) *reporting.Rollup {
	log, lines := testkit.NewLog()
	b.log = lines
	return reporting.NewRollup(db, b.clock, log)
}

func (b *ledgerRollup) partner(t *testing.T, slug string) uuid.UUID {
	t.Helper()
	partner := uuid.New()
	b.Exec(t,
		`INSERT INTO partners (id, slug, name, status, signing_mode, shared_address, created_at, updated_at) VALUES ($1, $2, $2, 'approved', 'off', false, now(), now())`,
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

// days are all of partner_days, a line each.
func (b *ledgerRollup) days(t *testing.T) string {
	t.Helper()
	return testkit.Value[string](t, b.Database, `SELECT coalesce(string_agg(concat_ws(' ', day, slug, currency, leads, payout_minor), E'\n' ORDER BY day, slug, currency), '')
		FROM partner_days d JOIN partners p ON p.id = d.partner_id`)
}

// shown are all of partner_figures but the house's, a line each.
func (b *ledgerRollup) shown(t *testing.T) string {
	t.Helper()
	return testkit.Value[string](t, b.Database, `SELECT coalesce(string_agg(concat_ws(' ', slug, leads, payouts, last_traffic_at), E'\n' ORDER BY slug), '')
		FROM partner_figures f JOIN partners p ON p.id = f.partner_id WHERE slug <> 'house'`)
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

// An old ledger is added up from 40 days ago; of that the last 30 days are shown.
func TestRollupAddsUp(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	now := testkit.StartTime()
	mine, theirs := b.partner(t, "mine"), b.partner(t, "theirs")
	b.partner(t, "new")
	today := now.Truncate(24 * time.Hour)
	b.accrue(t, mine, today, 1000, 200)
	b.accrue(t, mine, today.Add(-time.Microsecond), 30) // yesterday
	b.enter(t, mine, "accrual", 5, "EUR", today)
	b.enter(t, mine, "return", -1000, "GBP", today)
	b.accrue(t, mine, now.Add(-time.Second), 7) // may not be alone
	b.accrue(t, theirs, today.AddDate(0, 0, -29), 1)
	b.accrue(t, theirs, today.AddDate(0, 0, -29).Add(-time.Microsecond), 2) // not shown
	b.accrue(t, theirs, today.AddDate(0, 0, -39), 3)
	b.accrue(t, theirs, today.AddDate(0, 0, -39).Add(-time.Microsecond), 4) // not kept
	b.Exec(t, `INSERT INTO traffic_minutes SELECT minute, $1, $1, $1, 'ping', 'priced', 1, '{}' FROM unnest($2::timestamptz[]) AS minute`,
		theirs, []time.Time{today, today.Add(time.Hour), today.Add(-time.Hour)})

	b.pass(t)
	before := []string{"2025-11-24 theirs GBP 1 3", "2025-12-03 theirs GBP 1 2", "2025-12-04 theirs GBP 1 1",
		"2026-01-01 mine GBP 1 30", "2026-01-02 mine EUR 1 5"}
	want(t, "the days", b.days(t), append(before, "2026-01-02 mine GBP 2 1200")...)
	others := []string{"new 0 []", `theirs 1 [{"minor": 1, "currency": "GBP"}] 2026-01-02 01:00:00+00`}
	want(t, "what is shown", b.shown(t),
		append([]string{`mine 4 [{"minor": 5, "currency": "EUR"}, {"minor": 1230, "currency": "GBP"}]`}, others...)...)
	if got := b.until(t); !got.Equal(now.Add(-time.Minute)) {
		t.Errorf("added up until %s, want a minute before %s", got, now)
	}

	b.clock.Advance(time.Minute)
	b.Exec(t, `DELETE FROM traffic_minutes`) // retention: when it last came is still known
	b.pass(t)
	want(t, "a minute later", b.days(t), append(before, "2026-01-02 mine GBP 3 1207")...)
	want(t, "what is shown a minute later", b.shown(t),
		append([]string{`mine 5 [{"minor": 5, "currency": "EUR"}, {"minor": 1237, "currency": "GBP"}]`}, others...)...)

	b.clock.Advance(24 * time.Hour)
	b.pass(t)
	want(t, "a day later", b.days(t), append(before[1:], "2026-01-02 mine GBP 3 1207")...)
	if got := b.shown(t); strings.Contains(got, `theirs 1`) {
		t.Errorf("what is 30 days old is still shown: %s", got)
	}
}

// What is committed later than a minute after its time is found when its day has
// been over for a quarter of an hour.
func TestRollupFindsWhatCameLate(t *testing.T) {
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
	want(t, "before the day is added up again", b.days(t), "2026-01-02 mine GBP 1 100", "2026-01-03 mine GBP 1 3")
	b.clock.Advance(time.Microsecond)
	b.pass(t)
	want(t, "then", b.days(t), "2026-01-02 mine GBP 2 120", "2026-01-03 mine GBP 1 3")
	want(t, "what is shown", b.shown(t), `mine 3 [{"minor": 123, "currency": "GBP"}]`)
}

// A roll-up that stood still for longer than days are kept begins anew.
func TestRollupCatchesUp(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine := b.partner(t, "mine")
	b.accrue(t, mine, testkit.StartTime().Add(-time.Hour), 1)
	b.pass(t)
	for _, days := range []int{1, 50, 60, 61} {
		b.accrue(t, mine, testkit.StartTime().AddDate(0, 0, days), int64(days))
	}
	b.clock.Set(testkit.StartTime().AddDate(0, 0, 61).Add(time.Hour))
	b.pass(t)
	want(t, "the days", b.days(t), "2026-02-21 mine GBP 1 50", "2026-03-03 mine GBP 1 60", "2026-03-04 mine GBP 1 61")
	want(t, "what is shown", b.shown(t), `mine 3 [{"minor": 171, "currency": "GBP"}]`)
}

// Nodes pass at once while entries come in and the time goes on: nothing is counted
// twice, and nothing left out.
func TestRollupsAtOnce(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	mine := b.partner(t, "mine")
	b.clock.Set(testkit.StartTime().Truncate(24 * time.Hour).Add(-2 * time.Minute)) // midnight comes while they are at it
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
	want(t, "the days", b.days(t), "2026-01-01 mine GBP 4 5", "2026-01-02 mine GBP 36 225")
	want(t, "what is shown", b.shown(t), `mine 40 [{"minor": 230, "currency": "GBP"}]`)
}

func TestRollupLeavesItToTheNodeAtWork(t *testing.T) {
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
		t.Error("a pass did not wait for its turn")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.pass(t)
	if got := b.until(t); !got.Equal(testkit.StartTime().Add(-time.Minute)) {
		t.Errorf("added up until %s", got)
	}
}

// When nothing has come, only how far it is known that nothing has is written.
func TestAnIdleRollupWritesNothing(t *testing.T) {
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
	var had []string
	for _, table := range tables {
		had = append(had, versions(table))
	}
	b.pass(t)
	for i, table := range tables {
		if got := versions(table); got != had[i] {
			t.Errorf("with the clock standing, %s was written: %s, was %s", table, got, had[i])
		}
	}
	b.clock.Advance(20 * time.Second)
	b.pass(t)
	for i, table := range tables[:2] {
		if got := versions(table); got != had[i] {
			t.Errorf("%s was written: %s, was %s", table, got, had[i])
		}
	}
	b.accrue(t, testkit.Value[uuid.UUID](t, b.Database, `SELECT id FROM partners WHERE slug = 'p1'`), b.clock.Now(), 1)
	b.clock.Advance(2 * time.Minute)
	b.pass(t)
	kept := 0
	for _, version := range strings.Fields(versions("partner_figures")) {
		if slices.Contains(strings.Fields(had[1]), version) {
			kept++
		}
	}
	if want := len(strings.Fields(had[1])) - 1; kept != want {
		t.Errorf("%d rows of partner_figures were left alone, want all but one of %d", kept, want+1)
	}
}

// Sandbox leads pay nobody and count in no figure (decision 25).
func TestRollupKnowsNoSandbox(t *testing.T) {
	t.Parallel()
	p := testkit.NewPlatform(t, testkit.NewDatabase(t))
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
		t.Fatalf("%d sandbox leads, want one", n)
	}
	p.Time.Advance(time.Hour)
	log, _ := testkit.NewLog()
	if err := reporting.NewRollup(p.DB.DB, p.Time, log).Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := testkit.Value[string](t, p.DB,
		`SELECT string_agg(leads || ' ' || payouts, '') FROM partner_figures WHERE partner_id = $1`, p.Required.ID)
	want(t, "the figures", got, fmt.Sprintf(`1 [{"minor": %d, "currency": "GBP"}]`, paid))
}

// The first pass comes at once; what fails is told, and tried again.
func TestRollupRuns(t *testing.T) {
	t.Parallel()
	b := newLedgerRollup(t)
	b.Exec(t, `REVOKE SELECT ON ledger_entries FROM pingpost_app`)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.roll.Run(ctx) })
	testkit.Eventually(t, 10*time.Second, "the failure is told", func() bool {
		return b.log.Count(`"level":"ERROR"`)+b.log.Count(`"level":"WARN"`) == 1
	})
	stop()
	running.Wait()
	if leaked := b.log.String(); strings.Contains(leaked, "SELECT") {
		t.Errorf("the log tells SQL: %s", leaked)
	}
}
