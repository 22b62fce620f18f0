package intake_test

import (
	"context"
	"testing"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// Disconnecting does not cancel a commit in progress. The lead is stored, and a retry gets the
// first post's result (decision 21).
func TestDisconnectDoesNotCancelTheCommit(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	r := n.signed(n.Required, n.Required.Slug, body(n.quote(t, shared)))
	n.stores(t, oneLead, func() {
		first := n.disconnectDuring(t, func(ctx context.Context) (a answer) {
			a.PostResult, a.err = n.in.Post(ctx, r)
			return a
		})
		if first.err != nil {
			t.Fatalf("got error %v", first.err)
		}
		n.again(t, first.PostResult, r, true)
	})
}

// disconnectDuring cancels the context of a post while the database processes it.
func (n *node) disconnectDuring(t *testing.T, post func(context.Context) answer) answer {
	t.Helper()
	holder := testkit.Connect(t, n.DB.RootURL)
	exec := func(sql string) {
		t.Helper()
		if _, err := holder.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN; LOCK TABLE consents")
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	ended := make(chan answer, 1)
	go func() { ended <- post(ctx) }()
	testkit.Eventually(t, within, "the post waits for the lock", func() bool {
		return see[int64](t, n,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	})
	hangUp()
	exec("COMMIT")
	return <-ended
}
