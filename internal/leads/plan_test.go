package leads_test

import (
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
)

// On a new platform, Postgres plans the statement while the tables are small, and keeps this plan. With a sequential scan in it, each post would be slower
// than the one before, until the next ANALYZE.
func TestPlansSurviveGrowth(t *testing.T) {
	t.Parallel()
	p := platform(t)
	first := testkit.Open(t, p.DB.AppURL)
	if _, _, err := leads.NewStore(first.Pool).Deliver(t.Context(), delivery(p, p.Required)); err != nil {
		t.Fatal(err)
	}
	first.Close() // closing a connection flushes its statistics
	p.DB.Exec(t,
		`VACUUM ANALYZE leads, lead_keys, consents, lead_events, partners, accounts, signing_secrets, wrapping_keys`)
	scans := func() int {
		return testkit.Value[int](t, p.DB,
			`SELECT sum(seq_scan)::int FROM pg_stat_user_tables WHERE relname ~ '^(leads|lead_keys)_' OR relname IN ('partners', 'accounts', 'signing_secrets', 'wrapping_keys')`)
	}
	inserted := func() int {
		return testkit.Value[int](t, p.DB, `SELECT sum(n_tup_ins)::int FROM pg_stat_user_tables WHERE relname ~ '^leads_'`)
	}
	testkit.Eventually(t, time.Minute, "statistics include the first lead", func() bool { return inserted() == 1 })
	before := scans()

	other := testkit.Open(t, p.DB.AppURL)
	fresh := leads.NewStore(other.Pool) // its connections have no plans yet
	for range 20 {
		if _, isNew, err := fresh.Deliver(t.Context(), delivery(p, p.Required)); err != nil || !isNew {
			t.Fatal(isNew, err)
		}
	}
	other.Close()
	testkit.Eventually(t, time.Minute, "statistics include the other leads", func() bool { return inserted() == 21 })
	if n := scans() - before; n > 0 {
		t.Errorf("20 posts made %d sequential scans, want 0", n)
	}
}
