package erasure_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/journal"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// Leads are erased with a journal in a bucket. If the bucket cannot be used or contains other
// entries, no personal data can be read, and the request fails quickly.
func TestJournalInBucket(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	b := testkit.NewBucket(t)
	network := testkit.NewNetwork(t, b.Address)
	b.Options.Endpoint = "http://" + network.Address()
	j, err := journal.Open(b.Options)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Node(j)
	erased, lead, denied := r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact), r.Deliver(t, leadkit.Contact)
	if receipt, err := s.Erasures.Erase(t.Context(), scope.System,
		erasure.NewErasure{Lead: erased, Reason: models.EraseForLegal}); err != nil || receipt.ErasedAt.IsZero() {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	const usable, latency = "<nil>", 2 * time.Minute
	reveal := func(want string) {
		t.Helper()
		start := time.Now()
		_, err := s.Reveals.Reveal(t.Context(), scope.System,
			reveal.NewReveal{Lead: lead, Field: models.ContactEmail, Reason: models.RevealForReturn})
		if leadkit.Rejection(err) != want {
			t.Errorf("got %s, want %s", leadkit.Rejection(err), want)
		}
		if took := time.Since(start); took > latency/2 {
			t.Errorf("the user waited %s", took)
		}
	}
	reveal(usable)

	network.Down()
	reveal("unavailable journal_unavailable")
	network.Up(t)
	remove := network.AddFault(t, "latency", fmt.Sprintf(`{"latency":%d}`, latency.Milliseconds()))
	reveal("unavailable journal_unavailable")
	remove()
	b.Allow(t)
	reveal("unavailable journal_unavailable")

	b.Allow(t, "s3:GetObject", "s3:ListBucket") // the journal can be read, but not written
	reveal(usable)
	if err := s.Erasures.CheckJournalWrite(t.Context()); leadkit.Rejection(err) != "unavailable journal_read_only" {
		t.Errorf("check without permission to write: got %s", leadkit.Rejection(err))
	}
	if _, err := s.Erasures.Erase(t.Context(), scope.System, erasure.NewErasure{Lead: denied, Reason: models.EraseForLegal}); leadkit.Rejection(err) != "unavailable erasure_pending" {
		t.Errorf("erase without permission to write: got %s", leadkit.Rejection(err))
	}
	b.Allow(t, "s3:GetObject", "s3:ListBucket", "s3:PutObject")
	if err := errors.Join(s.Erasures.CheckJournalWrite(t.Context()), s.Erasures.Finish(t.Context())); err != nil {
		t.Error(err)
	}
	if v, err := s.Erasures.Verify(t.Context()); err != nil || v.Entries != 2 {
		t.Errorf("verify: got %+v, %v", v, err)
	}
	reveal(usable)

	b.Put(t, "000000000003.json", []byte(`{}`))
	reveal("unavailable journal_differs")
	b.Remove(t, "000000000003.json")
	reveal(usable)
	b.Remove(t, "000000000002.json")
	reveal("unavailable journal_differs")
	b.Put(t, "000000000002.json", []byte(`{"platform":`))
	reveal("unavailable journal_differs")
}
