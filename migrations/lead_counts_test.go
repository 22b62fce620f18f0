package migrations_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/testkit"
)

// Counting for daily caps starts with yesterday's first entry. If there are no entries since
// yesterday, it starts with the next new entry.
func TestStep19LeadCountsStartWithYesterday(t *testing.T) {
	t.Parallel()
	const entryAt = `INSERT INTO ledger_entries (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at)
		VALUES ($1, $1, $1, 'return', gen_random_uuid()::text, -1, 'GBP', now() - $2::int * interval '1 day')`
	for name, c := range map[string]struct {
		daysAgo []int // one entry each, in order of id
		want    int64
	}{
		"an empty ledger":        {nil, 0},
		"an old ledger":          {[]int{9, 5, 3}, 3},
		"with recent entries":    {[]int{9, 3, 1, 0, 0}, 2},
		"with a backdated entry": {[]int{9, 1, 5, 0}, 1},
		"only recent entries":    {[]int{1, 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := testkit.NewEmptyDatabase(t)
			owner, conn := openOwner(t, d), testkit.Connect(t, d.OwnerURL)
			upTo(t, owner, 18)
			exec(t, conn, `ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_lead_fkey`)
			for _, days := range c.daysAgo {
				exec(t, conn, entryAt, uuid.New(), days)
			}
			upTo(t, owner, 19)
			if got := value[int64](t, conn, `SELECT counted_to FROM daily_lead_counts_state`); got != c.want {
				t.Errorf("counting starts after entry %d, want %d", got, c.want)
			}
		})
	}
}
