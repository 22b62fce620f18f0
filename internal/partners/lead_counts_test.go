package partners_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

const (
	midnight = 24 * time.Hour

	addEntry = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		VALUES ($1, $1, gen_random_uuid(), $2, gen_random_uuid()::text, CASE $2 WHEN 'accrual' THEN 1 ELSE -1 END, 'GBP', $3)`
	addAccruals = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		SELECT $1, $1, gen_random_uuid(), 'accrual', n::text, 1, 'GBP', $2 FROM generate_series(1, $3) AS n`
)

// nodes contains two nodes that count the same partners' leads. Leads exist only as ledger entries.
// Each partner has a cap of leadCap.
type nodes struct {
	*capsNode
	all      []*capsNode
	partners []models.Partner
}

const leadCap = 20

func openNodes(t *testing.T, foldAt int) *nodes {
	t.Helper()
	db := testkit.NewDatabase(t)
	n := &nodes{capsNode: openCaps(t, db)}
	for _, slug := range []string{"harbour-leads", "meadow-media", "tinker-forms"} {
		n.partners = append(n.partners, n.capped(t, slug, leadCap))
	}
	for range 2 {
		other := *db
		other.DB = testkit.Open(t, db.AppURL)
		node := openNode(t, &other, n.clock)
		node.caps.FoldAt(foldAt)
		if err := node.watcher.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.all = append(n.all, node)
	}
	return n
}

// count runs a count on a node and returns each partner's number of leads. It checks that exactly
// the partners with leadCap leads have reached their caps.
func (n *nodes) count(t *testing.T, node *capsNode) (got []int) {
	t.Helper()
	if err := node.caps.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range n.partners {
		leads := node.leads(t, p)
		if reached := node.caps.Reached(node.directory.Get().ByID(p.ID)); reached != (leads >= leadCap) {
			t.Errorf("with %d leads and a cap of %d: reached is %t", leads, leadCap, reached)
		}
		got = append(got, leads)
	}
	return got
}

func (c *capsNode) leads(t *testing.T, p models.Partner) int {
	t.Helper()
	leads, err := c.LeadsToday(t.Context(), p)
	if err != nil {
		t.Error(err)
	}
	return int(leads)
}

// fold counts until all committed entries are in daily_lead_counts.
func (n *nodes) fold(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, time.Minute, "all entries are counted", func() bool {
		n.count(t, n.all[0])
		return n.uncounted(t) == 0
	})
}

func (n *nodes) uncounted(t *testing.T) int {
	t.Helper()
	return testkit.Value[int](t, n.db,
		`SELECT count(*) FROM ledger_entries WHERE id > (SELECT counted_to FROM daily_lead_counts_state)`)
}

// inLedger counts each partner's leads for the day in the ledger.
func (n *nodes) inLedger(t *testing.T, root *pgx.Conn) (want []int) {
	t.Helper()
	from := n.clock.Now().Truncate(midnight)
	for _, p := range n.partners {
		var leads int
		if err := root.QueryRow(t.Context(), `SELECT count(*) FROM ledger_entries WHERE kind = 'accrual' AND partner_id = $1 AND occurred_at >= $2 AND occurred_at < $3`,
			p.ID, from, from.Add(midnight)).Scan(&leads); err != nil {
			t.Fatal(err)
		}
		want = append(want, leads)
	}
	return want
}

func equal(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// Transactions commit and abort in random order while two nodes count and fold across midnight. Each
// count must match the ledger at that time.
func TestLeadCountsAreExact(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	root := testkit.Connect(t, n.db.RootURL)
	type writer struct {
		conn *pgx.Conn
		tx   pgx.Tx
	}
	writers := make([]*writer, 6)
	for i := range writers {
		writers[i] = &writer{conn: testkit.Connect(t, n.db.AppURL)}
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	n.clock.Set(n.clock.Now().Truncate(midnight).Add(midnight - 5*time.Minute))
	var err error
	for range 500 {
		w := writers[random.IntN(len(writers))]
		switch do := random.IntN(10); {
		case w.tx == nil:
			w.tx, err = w.conn.Begin(t.Context())
		case do < 5:
			kind := []string{"accrual", "accrual", "accrual", "payment"}[random.IntN(4)]
			at := n.clock.Now().Add(-time.Duration(random.IntN(60)) * time.Second)
			_, err = w.tx.Exec(t.Context(), addEntry, n.partners[random.IntN(len(n.partners))].ID, kind, at)
		case do < 8:
			err, w.tx = w.tx.Commit(t.Context()), nil
		default:
			err, w.tx = w.tx.Rollback(t.Context()), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			if got, want := n.count(t, n.all[random.IntN(len(n.all))]), n.inLedger(t, root); !equal(got, want) {
				t.Fatalf("counted %d, but the ledger contains %d", got, want)
			}
		}
		n.clock.Advance(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
	for _, w := range writers {
		if w.tx != nil {
			if err := w.tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.fold(t)
	if got, want := n.count(t, n.all[1]), n.inLedger(t, root); !equal(got, want) {
		t.Errorf("after folding all entries, counted %d, but the ledger contains %d", got, want)
	}
}

// Writers and two nodes run concurrently. A count must include all leads that were committed before
// it began. It must not include leads whose commit began after it ended.
func TestLeadCountsDuringPosts(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	var committed, begun atomic.Int64
	var writing, counting sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 4 {
		conn := testkit.Connect(t, n.db.AppURL)
		random := rand.New(rand.NewPCG(rand.Uint64(), uint64(i)))
		writing.Go(func() {
			for range 150 {
				tx, err := conn.Begin(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				entries := 1 + random.IntN(3)
				for range entries {
					_, err = tx.Exec(ctx, addEntry, n.partners[random.IntN(len(n.partners))].ID, "accrual", n.clock.Now())
				}
				if err == nil && random.IntN(5) == 0 {
					err = tx.Rollback(ctx)
				} else if err == nil {
					begun.Add(int64(entries))
					err = tx.Commit(ctx)
					committed.Add(int64(entries))
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for _, node := range n.all {
		counting.Go(func() {
			for ctx.Err() == nil {
				least := committed.Load()
				if err := node.caps.Count(t.Context()); err != nil {
					t.Error(err)
					return
				}
				got := int64(0)
				for _, p := range n.partners {
					got += int64(node.leads(t, p))
				}
				if most := begun.Load(); got < least || got > most {
					t.Errorf("counted %d leads, want %d to %d", got, least, most)
				}
			}
		})
	}
	writing.Wait()
	stop()
	counting.Wait()
	n.fold(t)
	if got, want := n.count(t, n.all[1]), n.inLedger(t, testkit.Connect(t, n.db.RootURL)); !equal(got, want) {
		t.Errorf("counted %d, but the ledger contains %d", got, want)
	}
}

// An entry is counted even if it is committed long after entries with later ids.
func TestLeadCountsIncludeLateCommits(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	late, err := testkit.Connect(t, n.db.AppURL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Exec(t.Context(), addEntry, n.partners[0].ID, "accrual", n.clock.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		n.db.Exec(t, addEntry, n.partners[0].ID, "accrual", n.clock.Now())
		if got := n.count(t, n.all[i%2])[0]; got != i+1 {
			t.Fatalf("counted %d leads, want %d", got, i+1)
		}
	}
	n.clock.Advance(10 * time.Minute)
	if n.uncounted(t) == 0 {
		t.Error("entries were folded while a transaction with an earlier entry was open")
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, node := range n.all {
		if got := n.count(t, node)[0]; got != 4 {
			t.Errorf("counted %d leads, want 4", got)
		}
	}
	n.fold(t)
	if got := n.count(t, n.all[1])[0]; got != 4 {
		t.Errorf("after folding all entries, counted %d leads, want 4", got)
	}
}

// A cap that is set during the day also counts leads that were delivered earlier that day,
// including those that are already in daily_lead_counts.
func TestCapSetDuringTheDayCountsEarlierLeads(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	p, node := n.partner(t, "valley-quotes"), n.all[0]
	n.db.Exec(t, addAccruals, p.ID, n.clock.Now(), 3)
	n.fold(t)
	n.db.Exec(t, addAccruals, p.ID, n.clock.Now(), 1)
	for most, want := range map[int]bool{4: true, 5: false} {
		n.db.Exec(t, `INSERT INTO partner_prices (partner_id, daily_lead_cap, updated_at) VALUES ($1, $2, now())
			ON CONFLICT (partner_id) DO UPDATE SET daily_lead_cap = excluded.daily_lead_cap`, p.ID, most)
		if got := node.reached(t, p); got != want {
			t.Errorf("with 4 leads and a cap of %d: reached is %t, want %t", most, got, want)
		}
	}
	if got := n.leads(t, p); got != 4 {
		t.Errorf("LeadsToday() = %d, want 4", got)
	}
}

// If there are more entries than a node can read at once, the node has no count until it catches
// up.
func TestLeadCountsCatchUp(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1000)
	const entries = 2*partners.RollUpLimit + 10
	p, node := n.partners[0], n.all[0]
	n.db.Exec(t, addAccruals, p.ID, n.clock.Now(), entries)
	if err := node.caps.Count(t.Context()); err == nil {
		t.Error("a count of more than RollUpLimit entries succeeded")
	}
	n.clock.Advance(7 * time.Second)
	if got := node.caps.Age(); got != 7*time.Second || node.caps.Reached(node.directory.Get().ByID(p.ID)) {
		t.Errorf("Age() = %s, want 7s without a count", got)
	}
	for range 2 {
		if got := n.count(t, node)[0]; got != entries {
			t.Errorf("counted %d leads, want %d", got, entries)
		}
	}
	if got := n.uncounted(t); got >= 1000 {
		t.Errorf("each count still reads %d entries, want fewer than 1000", got)
	}
	if got := node.caps.Age(); got != 0 {
		t.Errorf("Age() = %s, want 0s", got)
	}
}

// Idle nodes write nothing, and counts are deleted after seven days.
func TestLeadCountsRetention(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	days := func() int { return testkit.Value[int](t, n.db, `SELECT count(*) FROM daily_lead_counts`) }
	states := func() string {
		return testkit.Value[string](t, n.db,
			`SELECT xmin || ' ' || (SELECT coalesce(max(xmin::text), '') FROM daily_lead_counts) FROM daily_lead_counts_state`)
	}
	for range 3 {
		n.db.Exec(t, addAccruals, n.partners[0].ID, n.clock.Now(), 1)
		n.fold(t)
		n.clock.Advance(midnight)
	}
	before := states()
	for range 3 {
		n.count(t, n.all[0])
	}
	if after := states(); days() != 3 || after != before {
		t.Errorf("got %d days, want 3; idle nodes changed rows: %t", days(), after != before)
	}
	n.clock.Advance(6 * midnight)
	n.db.Exec(t, addAccruals, n.partners[0].ID, n.clock.Now(), 1)
	n.fold(t)
	if days() != 2 {
		t.Errorf("got %d days, want the 2 within the last 7 days", days())
	}
}

// Postgres can cache plans while the tables are small. Even these plans must not scan whole tables.
func TestLeadCountsScanNoTable(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	n.fold(t)
	n.db.Exec(t, `VACUUM ANALYZE`)
	scans := func() int {
		return testkit.Value[int](t, n.db, `SELECT sum(seq_scan)::int FROM pg_stat_user_tables
			WHERE relname LIKE 'ledger_entries%' OR relname IN ('daily_lead_counts', 'daily_lead_counts_state', 'partner_prices')`)
	}
	inserted := func() int {
		return testkit.Value[int](t, n.db, `SELECT n_tup_ins::int FROM pg_stat_user_tables WHERE relname = 'daily_lead_counts'`)
	}
	quiet := func() {
		t.Helper()
		testkit.Eventually(t, time.Minute, "all connections are closed, so that their statistics are complete", func() bool {
			return testkit.Value[int](t, n.db,
				`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'pingpost_app'`) == 0
		})
	}
	for _, db := range []*testkit.Database{n.db, n.all[0].db, n.all[1].db} {
		db.Close()
	}
	quiet()
	before := scans()
	other := testkit.Open(t, n.db.AppURL)
	caps := partners.NewCaps(other, n.clock, nil)
	caps.FoldAt(1)
	for range 20 {
		n.db.Exec(t, addAccruals, n.partners[0].ID, n.clock.Now(), 1)
		for range 3 {
			if err := caps.Count(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	other.Close()
	quiet()
	if inserted() == 0 {
		t.Error("nothing was added to daily_lead_counts")
	}
	if got := scans() - before; got > 0 {
		t.Errorf("60 counts made %d sequential scans, want 0", got)
	}
}

// Counts use only the partitions of recent months. They do not even lock the others.
func TestLeadCountsLeaveOldPartitionsAlone(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	p, node := n.partners[0], n.all[0]
	n.db.Exec(t, addAccruals, p.ID, n.clock.Now().AddDate(0, 0, -10), 1)
	n.clock.Advance(10 * midnight)
	n.db.LockLedgerPartitions(t, testkit.StartTime().AddDate(0, 0, -10))
	for i := range 10 { // more executions than Postgres plans for their arguments by default
		if _, err := n.db.Pool.Exec(t.Context(), addAccruals, p.ID, n.clock.Now(), 2); err != nil {
			t.Fatal(err)
		}
		if got, want := n.count(t, node)[0], 2*(i+1); got != want {
			t.Fatalf("counted %d leads, want %d", got, want)
		}
	}
	if folded := testkit.Value[int](t, n.db, `SELECT sum(leads)::int FROM daily_lead_counts`); folded == 0 {
		t.Error("nothing was added to daily_lead_counts")
	}
}

// After a pause that is longer than the retention period, counting continues with the new entries.
func TestLeadCountsAfterPause(t *testing.T) {
	t.Parallel()
	n := openNodes(t, 1)
	n.db.Exec(t, addAccruals, n.partners[0].ID, n.clock.Now(), 3)
	n.fold(t)
	counted := testkit.Value[int](t, n.db, `SELECT counted_to FROM daily_lead_counts_state`)
	n.db.Exec(t, addAccruals, n.partners[0].ID, n.clock.Now(), 3)
	n.clock.Advance(10 * midnight)
	for range 3 {
		if got := n.count(t, n.all[0])[0]; got != 0 {
			t.Errorf("counted %d leads, want none today", got)
		}
	}
	if got := testkit.Value[int](t, n.db, `SELECT counted_to FROM daily_lead_counts_state`); got < counted {
		t.Errorf("counted_to went back from %d to %d", counted, got)
	}
	n.db.Exec(t, addAccruals, n.partners[0].ID, n.clock.Now(), 2)
	n.fold(t)
	if got := n.count(t, n.all[1])[0]; got != 2 {
		t.Errorf("counted %d leads, want 2", got)
	}
}
