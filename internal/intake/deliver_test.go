package intake_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

const senders = 64

type answer struct {
	intake.PostResult
	err error
}

// concurrently sends posts from many goroutines that start together.
func (n *node) concurrently(t testing.TB, posts []intake.PostRequest) []answer {
	t.Helper()
	answers := make([]answer, len(posts))
	next := make(chan int)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			<-start
			for i := range next {
				answers[i].PostResult, answers[i].err = n.in.Post(t.Context(), posts[i])
			}
		})
	}
	close(start)
	for i := range posts {
		next <- i
	}
	close(next)
	wg.Wait()
	return answers
}

func TestConcurrentPosts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("identical posts", func(t *testing.T) { identicalPosts(t, n) })
	t.Run("distinct and duplicate posts", func(t *testing.T) { distinctAndDuplicatePosts(t, n) })
	t.Run("competing partners", func(t *testing.T) { competingPartners(t, n) })
}

// A transaction has one lead and one payout, no matter how many posts arrive at once
// (decision 3).
func identicalPosts(t *testing.T, n *node) {
	r := n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug)))
	posts := make([]intake.PostRequest, 200)
	for i := range posts {
		posts[i] = r
	}
	var answers []answer
	n.stores(t, oneLead, func() { answers = n.concurrently(t, posts) })

	firsts := 0
	for i, a := range answers {
		if a.err != nil {
			t.Fatalf("post %d: %v", i, a.err)
		}
		if !a.Replayed {
			firsts++
		}
		if !sameAnswer(a.PostResult, answers[0].PostResult) || !a.HMACVerified {
			t.Errorf("post %d got a different result", i)
		}
	}
	if firsts != 1 {
		t.Errorf("got %d first deliveries, want 1", firsts)
	}
	if lead := see[uuid.UUID](t, n, `SELECT id FROM leads WHERE id = $1`, answers[0].Quote.ID); lead != answers[0].LeadID {
		t.Errorf("got lead %s, stored %s", answers[0].LeadID, lead)
	}
}

// Many transactions are posted at once, each several times and some with two different bodies.
// Each transaction gets exactly one lead, and posts with the other body get a 409.
func distinctAndDuplicatePosts(t *testing.T, n *node) {
	const transactions, copies = 40, 5
	var posts []intake.PostRequest
	for i := range transactions {
		slug := []string{shared, n.Required.Slug}[i%2]
		tx := n.quote(t, slug)
		for c := range copies {
			b := body(tx)
			if i%4 == 0 && c%2 == 0 {
				b = body(tx, `"notes":"rival"`)
			}
			posts = append(posts, n.signed(n.Required, slug, b))
		}
	}
	rand.Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
	var answers []answer
	n.stores(t, stored{transactions, transactions, transactions, transactions},
		func() { answers = n.concurrently(t, posts) })

	leads := map[string]uuid.UUID{} // by body
	firsts := map[uuid.UUID]int{}
	for i, a := range answers {
		if a.err != nil {
			continue
		}
		if known, ok := leads[string(posts[i].Body)]; ok && known != a.LeadID {
			t.Errorf("a body got two leads, %s and %s", known, a.LeadID)
		}
		leads[string(posts[i].Body)] = a.LeadID
		if !a.Replayed {
			firsts[a.LeadID]++
		}
	}
	if len(leads) != transactions || len(firsts) != transactions {
		t.Errorf("got %d bodies with a lead and %d leads, want %d", len(leads), len(firsts), transactions)
	}
	known := map[string]bool{}
	for lead, times := range firsts {
		known[id.Format(id.Lead, lead)] = true
		if times != 1 {
			t.Errorf("lead %s: got %d first deliveries, want 1", lead, times)
		}
	}
	for i, a := range answers {
		if a.err == nil {
			continue
		}
		if f := delivered.check(t, a.err); !known[f.LeadID] || leads[string(posts[i].Body)] != uuid.Nil {
			t.Errorf("a competing post got lead %q", f.LeadID)
		}
	}
}

// If two partners compete for a transaction from the shared base URL, only one of them delivers the
// lead, and the other learns nothing about it.
func competingPartners(t *testing.T, n *node) {
	const transactions = 20
	var posts []intake.PostRequest
	for i := range transactions {
		b := body(n.quote(t, shared), fmt.Sprintf(`"notes":"%d"`, i))
		posts = append(posts, n.signed(n.Required, n.Required.Slug, b), n.signed(n.Off, n.Off.Slug, b))
	}
	var answers []answer
	n.stores(t, stored{transactions, transactions, transactions, transactions},
		func() { answers = n.concurrently(t, posts) })
	for i := 0; i < len(answers); i += 2 {
		won, lost := answers[i], answers[i+1]
		if won.err != nil {
			won, lost = lost, won
		}
		if won.err != nil || won.Replayed {
			t.Fatalf("neither partner got the lead: %v", won.err)
		}
		delivered.check(t, lost.err)
		withoutLead(t, apperr.As(lost.err))
	}
}

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

// While the database is unavailable, pings are priced and posts get a 503 (decision 21).
func TestDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	d, proxy := testkit.NewDatabaseBehind(t)
	n := nodeOn(t, d)
	done := body(n.quote(t, shared))
	first := n.post(t, n.signed(n.Required, n.Required.Slug, done))
	old := n.quote(t, shared)
	n.Time.Advance(quote.Validity)
	fresh := body(n.quote(t, shared))

	proxy.Down()
	n.stores(t, nothing, func() {
		if r := n.ping(t, n.Required.Slug, leastPing); !r.Accepted {
			t.Error("no price while the database is unavailable")
		}
		n.unavailable(t, n.Required, fresh, notSaved)
		n.unavailable(t, n.Required, done, notSaved)
		n.withWrapper(nil).unavailable(t, n.Required, done, noKeyWrapper)
		n.Time.Advance(1e6)
		// Checks that need no database still return their errors, but without the lead.
		f := n.rejected(t, n.signed(n.Required, n.Required.Slug, done), expired)
		withoutLead(t, f)
		if f.RetryAfter.Seconds() != 2 {
			t.Errorf("failed lookup: got Retry-After %s, want 2s", f.RetryAfter)
		}
		n.rejected(t, n.signed(n.Required, n.Required.Slug, body(old)), expired)
	})
	proxy.Up()
	n.stores(t, oneLead, func() { n.post(t, n.signed(n.Required, n.Required.Slug, fresh)) })
	if f := n.rejected(t, n.signed(n.Required, n.Required.Slug, done),
		expired); f.LeadID != id.Format(id.Lead, first.LeadID) {
		t.Errorf("got lead %q", f.LeadID)
	}
}

// withWrapper returns the same node with a different key wrapper, or without one if w is nil.
func (n *node) withWrapper(w envelope.KeyWrapper) *node {
	parts := *n.Platform
	parts.Wrappers = envelope.NewWrappers(w)
	return &node{&parts, parts.Intake(settings()), n.sees}
}

// Without a data key, or with a wrapping key that is not registered, posts get a 503 and nothing is
// stored. Pings are priced, and leads that were delivered earlier are found (decisions 21, 23, 55).
func TestVaultUnavailable(t *testing.T) {
	t.Parallel()
	whole := newNode(t)
	vault := testkit.NewVault(t)
	vault.Seal(t)
	unregistered, err := envelope.NewLocal(bytes.Repeat([]byte{7}, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		wrapper envelope.KeyWrapper
		want    rejection
	}{
		"no key wrapper is set": {nil, noKeyWrapper},
		"Vault is sealed":       {vault.Wrapper(t, devvault.Serve), notSaved},
		"key is not registered": {unregistered, notSaved},
	} {
		t.Run(name, func(t *testing.T) {
			done := body(whole.quote(t, shared))
			first := whole.post(t, whole.signed(whole.Required, whole.Required.Slug, done))

			n := whole.withWrapper(c.wrapper)
			fresh := body(n.quote(t, shared)) // pings still work
			n.stores(t, nothing, func() {
				n.unavailable(t, n.Required, fresh, c.want)
				n.again(t, first, n.signed(n.Required, n.Required.Slug, done), true)
				f := n.rejected(t,
					n.signed(n.Required, n.Required.Slug, body(first.TransactionID, `"notes":"another"`)), delivered)
				if f.LeadID != id.Format(id.Lead, first.LeadID) {
					t.Errorf("got lead %q", f.LeadID)
				}
				withoutLead(t, n.rejected(t, n.signed(n.Off, n.Off.Slug, done), delivered))
				// Signatures and payloads are still checked.
				n.rejected(t, n.signed(n.Off, n.Required.Slug, fresh), badSignature)
				n.rejected(t, n.signed(n.Off, n.Off.Slug, []byte("{}")), badPost)
			})
			// The transaction can still be used.
			whole.stores(t, oneLead, func() { whole.post(t, whole.signed(whole.Required, whole.Required.Slug, fresh)) })
		})
	}
}
