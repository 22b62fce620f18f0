package erasure_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/models"
)

// checkDisclosures checks that the texts of all consents are stored, and no others except standard texts.
func (r rig) checkDisclosures(t *testing.T) {
	t.Helper()
	for what, sql := range map[string]string{
		"consents without their text": `SELECT count(*) FROM consents c WHERE NOT EXISTS (SELECT FROM disclosures d WHERE d.digest = c.disclosure_digest) AND disclosure_digest IS NOT NULL`,
		"texts that no lead uses":     `SELECT count(*) FROM disclosures d WHERE NOT standard AND NOT EXISTS (SELECT FROM consents c WHERE c.disclosure_digest = d.digest)`,
		"uses that are not listed": `SELECT count(*) FROM consents c JOIN disclosures d ON d.digest = c.disclosure_digest
			WHERE NOT standard AND NOT EXISTS (SELECT FROM disclosure_uses u WHERE (u.lead_id, u.digest) = (c.lead_id, c.disclosure_digest))`,
		"uses of no lead": `SELECT count(*) FROM disclosure_uses u WHERE NOT EXISTS (SELECT FROM consents c WHERE (u.lead_id, u.digest) = (c.lead_id, c.disclosure_digest))`,
	} {
		if n := testkit.Value[int](t, r.DB, sql); n != 0 {
			t.Errorf("got %d %s", n, what)
		}
	}
}

// Posts use texts while erasures are deleting them.
func TestDisclosuresBesideErasures(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	const rounds, posts = 8, 12
	for round := range rounds {
		text := func(i int) string { return fmt.Sprint("text ", i%3, " of round ", round/2) }
		var old, sent []uuid.UUID
		for i := range posts {
			old = append(old, r.agreed(t, i, text(i)))
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range old {
			send := r.NewPost(t, text(i), fmt.Sprintf(`"contact":{"email":"later%d@example.com"}`, i))
			wg.Go(func() {
				lead, err := send()
				if err != nil {
					t.Errorf("post: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, lead.LeadID)
			})
			wg.Go(func() {
				if err := r.Leads.MarkStandardDisclosures(context.Background(), r.Time.Now()); err != nil {
					t.Errorf("mark: %v", err)
				}
			})
		}
		r.eraseAtOnce(t, old)
		wg.Wait()
		r.checkDisclosures(t)
		if round%2 == 0 {
			continue
		}
		r.eraseAtOnce(t, sent)
		r.checkDisclosures(t)
	}
}

// agreed delivers a lead whose consumer agreed to a text.
func (r rig) agreed(t *testing.T, person int, text string) uuid.UUID {
	t.Helper()
	lead, err := r.NewPost(t, text, fmt.Sprintf(`"contact":{"email":"person%d@example.com"}`, person))()
	if err != nil {
		t.Fatal(err)
	}
	return lead.LeadID
}

// eraseAtOnce erases leads at the same time.
func (r rig) eraseAtOnce(t *testing.T, all []uuid.UUID) {
	t.Helper()
	var wg sync.WaitGroup
	for _, lead := range all {
		node := r.Node(r.Journal)
		wg.Go(func() {
			if _, err := node.Erasures.Erase(context.Background(), scope.System,
				erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal}); err != nil {
				t.Errorf("erase: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestLastLeadsOfDisclosureAreErasedAtOnce(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	for range 10 {
		var all []uuid.UUID
		for i := range 4 {
			all = append(all, r.agreed(t, i, "Ann Example agrees"))
		}
		r.eraseAtOnce(t, all)
		if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM disclosures`); n != 0 {
			t.Fatalf("got %d texts, want 0", n)
		}
	}
}

// waitFor pauses the first function after a change, starts the second function, and lets the first one continue when
// the second one is waiting for it.
func (r rig) waitFor(t *testing.T, change string, first, second func()) {
	t.Helper()
	resume := r.PauseAfter(t, change)
	var wg sync.WaitGroup
	wg.Go(first)
	r.AwaitWaiting(t, 1)
	wg.Go(second)
	r.AwaitWaiting(t, 2)
	resume()
	wg.Wait()
}

// A lead is erased while a post uses the same text but is not committed yet, or a post uses a text that is being
// deleted with the last lead that used it.
func TestErasureBesidePostWithSameDisclosure(t *testing.T) {
	t.Parallel()
	for name, paused := range map[string]string{
		"the post is first":    `INSERT ON lead_events`,
		"the erasure is first": `DELETE ON disclosures`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig{leadkit.New(t)}
			lead, send := r.agreed(t, 1, "I agree"), r.NewPost(t, "I agree", `"contact":{"email":"person2@example.com"}`)
			post := func() {
				if _, err := send(); err != nil {
					t.Errorf("post: %v", err)
				}
			}
			erase := func() { r.eraseAtOnce(t, []uuid.UUID{lead}) }
			if name == "the post is first" {
				r.waitFor(t, paused, post, erase)
			} else {
				r.waitFor(t, paused, erase, post)
			}
			r.checkDisclosures(t)
			if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM disclosures`); n != 1 {
				t.Errorf("got %d texts, want 1", n)
			}
		})
	}
}

// The last two leads that use a text are deleted at the same time: one is erased, and the other is a
// sandbox lead.
func TestLastSandboxLeadOfDisclosure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead, sandbox := r.agreed(t, 1, "I agree"), r.agreed(t, 2, "I agree")
	root := testkit.Connect(t, r.DB.RootURL)
	for _, sql := range []string{`SET session_replication_role = replica`, `UPDATE leads SET sandbox = true WHERE id = $1`, `UPDATE consents SET sandbox = true WHERE lead_id = $1`} {
		args := []any{sandbox}[:strings.Count(sql, "$1")]
		if _, err := root.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	r.waitFor(t, `DELETE ON disclosures`, func() { r.eraseAtOnce(t, []uuid.UUID{lead}) }, func() {
		if n, err := r.Leads.DeleteSandbox(context.Background(), r.Time.Now().Add(time.Hour)); n != 1 || err != nil {
			t.Errorf("deleted %d sandbox leads: %v", n, err)
		}
	})
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM disclosures`); n != 0 {
		t.Errorf("got %d texts, want 0", n)
	}
}

func TestStandardDisclosureStays(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	var all []uuid.UUID
	for i := range 20 {
		all = append(all, r.agreed(t, i, "I agree"))
	}
	leadkit.Must(t, r.Leads.MarkStandardDisclosures(t.Context(), r.Time.Now()))
	r.eraseAtOnce(t, all)
	r.checkDisclosures(t)
	if n := testkit.Value[int](t, r.DB, `SELECT count(*) FROM disclosures WHERE text = 'I agree' AND standard`); n != 1 {
		t.Errorf("got %d standard texts, want 1", n)
	}
}

// Leads are posted and erased, and texts become standard, in random order.
func TestDisclosuresInAnyOrder(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	random := rand.New(rand.NewPCG(1, 2))
	var there []uuid.UUID
	for step := range 200 {
		switch {
		case len(there) > 0 && random.IntN(3) == 0:
			i := random.IntN(len(there))
			if _, err := r.Erase(t, there[i]); err != nil {
				t.Fatal(err)
			}
			there = append(there[:i], there[i+1:]...)
		case random.IntN(10) == 0:
			leadkit.Must(t, r.Leads.MarkStandardDisclosures(t.Context(), r.Time.Now()))
		default:
			there = append(there, r.agreed(t, step, fmt.Sprint("text ", min(random.IntN(12), random.IntN(12)))))
		}
		if r.checkDisclosures(t); t.Failed() {
			t.Fatalf("after step %d", step)
		}
	}
}
