package leads_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/testkit"
)

// The tables of a young platform are small when Postgres first looks at them, and
// it keeps the plans that it makes then, those of the foreign keys' checks too. Were
// one of them to read a whole table, each post would be slower than the one before,
// until the next ANALYZE.
func TestPlansSurviveGrowth(t *testing.T) {
	t.Parallel()
	p := platform(t)
	if _, _, err := p.Leads.Deliver(t.Context(), delivery(p, p.Required)); err != nil {
		t.Fatal(err)
	}
	p.DB.Exec(t, `VACUUM ANALYZE`)
	scans := func() int {
		return testkit.Value[int](t, p.DB,
			`SELECT sum(seq_scan)::int FROM pg_stat_user_tables WHERE relname IN ('leads', 'partners', 'accounts', 'signing_secrets')`)
	}
	inserted := func() int {
		return testkit.Value[int](t, p.DB, `SELECT n_tup_ins::int FROM pg_stat_user_tables WHERE relname = 'leads'`)
	}
	testkit.Eventually(t, 10*time.Second, "the first lead is counted", func() bool { return inserted() == 1 })
	before := scans()

	other := testkit.Open(t, p.DB.AppURL)
	fresh := leads.NewStore(other.Pool) // whose connections have made no plan yet
	for range 20 {
		if _, isNew, err := fresh.Deliver(t.Context(), delivery(p, p.Required)); err != nil || !isNew {
			t.Fatal(isNew, err)
		}
	}
	other.Close() // a connection tells its figures at its end
	testkit.Eventually(t, 10*time.Second, "the other leads are counted", func() bool { return inserted() == 21 })
	if n := scans() - before; n > 0 {
		t.Errorf("20 posts read a whole table %d times", n)
	}
}
